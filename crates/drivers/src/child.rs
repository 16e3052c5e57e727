//! Starting and ending child processes.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::process::Stdio;
use std::sync::{Mutex, OnceLock, PoisonError};

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

use crate::child_config::{ChildConfinement, Redactor, StdioConfig};
use crate::confine::{
    ConfineError, EnforcedConfinement, Launcher, MAX_REPORT_BYTES, read_report, refusal_in_stderr,
};
use crate::escape::escape;

/// Environment variables that a child inherits, apart from [`PROXIES`]. All others come from its
/// configuration. Without the files of certificates, a server cannot reach anything, and `npx` and
/// `uvx` cannot install one, in a network whose own authority signs what passes.
const INHERITED: [&str; 27] = [
    "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ",
    "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "PROGRAMFILES",
    "APPDATA", "LOCALAPPDATA", "USERPROFILE", "USERNAME", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
];
/// Variables that name a proxy. A child inherits one that contains no password.
const PROXIES: [&str; 8] = [
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy",
    "no_proxy",
];

/// A console without a window.
#[cfg(windows)]
const CREATE_NO_WINDOW: u32 = 0x0800_0000;

/// Why a child could not be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SpawnError {
    /// It cannot be confined.
    #[error(transparent)]
    Confinement(#[from] ConfineError),
    /// The operating system could not start the program or the launcher.
    #[error("{0}")]
    System(io::ErrorKind),
    /// The child's standard streams are not available.
    #[error("its pipes are missing")]
    NoPipes,
}

/// Sets the child's environment: the few inherited variables and those of its configuration.
fn set_environment(command: &mut std::process::Command, configured: &BTreeMap<String, String>) {
    command.env_clear();
    for (name, value) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| is_inherited(name, value.as_encoded_bytes())) {
            command.env(name, value);
        }
    }
    command.envs(configured);
}

/// Whether a child inherits this variable.
fn is_inherited(name: &str, value: &[u8]) -> bool {
    // Windows does not distinguish the case of names.
    let is_name = |known: &&str| match cfg!(windows) {
        true => known.eq_ignore_ascii_case(name),
        false => *known == name,
    };
    // A shell function exported under one of these names is not passed on.
    let is_function = value.starts_with(b"()");
    let is_proxy = || PROXIES.iter().any(is_name) && !value.contains(&b'@');
    !is_function && (INHERITED.iter().any(is_name) || is_proxy())
}

/// Starts the program, without a shell, in a process group of its own.
pub(crate) fn start(config: &StdioConfig) -> Result<Child, SpawnError> {
    let mut command = match &config.confinement {
        Some(ChildConfinement { launcher, confinement, .. }) => {
            let argv: Vec<&String> = std::iter::once(&config.command).chain(&config.args).collect();
            launcher.command(&argv, confinement)?
        }
        None => {
            let mut command = std::process::Command::new(&config.command);
            command.args(&config.args);
            command
        }
    };
    set_environment(&mut command, &config.env);
    if let Some(folder) = &config.cwd {
        command.current_dir(folder);
    }
    spawn(command).map_err(|error| SpawnError::System(error.kind()))
}

/// Starts a command with pipes, in a process group of its own.
fn spawn(command: std::process::Command) -> io::Result<Child> {
    let mut command = Command::from(command);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    // A daemon has no console, so each child would open a window with one.
    #[cfg(windows)]
    command.creation_flags(CREATE_NO_WINDOW);
    #[cfg(target_os = "linux")]
    {
        crate::adopted::start(|| command.spawn(), Child::id)
    }
    #[cfg(not(target_os = "linux"))]
    {
        command.spawn()
    }
}

/// Reads the launcher's report, the first line of the child's standard error.
pub(crate) async fn read_launcher_report(
    source: &mut (impl AsyncBufRead + Unpin),
    launcher: &Launcher,
) -> Result<EnforcedConfinement, ConfineError> {
    let mut line = Vec::new();
    // If reading fails, what was read so far is parsed, and is rejected as incomplete.
    let _ = source.take(MAX_REPORT_BYTES).read_until(b'\n', &mut line).await;
    read_report(&line, launcher.program())
}

/// Ends the child's process group, or its job on Windows, when dropped, so that grandchildren do not stay behind.
pub(crate) struct ProcessGroupGuard {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
    /// Ends its processes when dropped; `None` if the system refused it, for instance because the
    /// child has ended.
    #[cfg(windows)]
    _job: Option<weaver_windows::ProcessJob>,
}

impl ProcessGroupGuard {
    pub(crate) fn of(child: &Child) -> Self {
        #[cfg(unix)]
        {
            let id = child.id().and_then(|id| i32::try_from(id).ok());
            Self { leader: id.and_then(rustix::process::Pid::from_raw) }
        }
        // What the child has started before it is in the job stays outside of it.
        #[cfg(windows)]
        {
            let job = weaver_windows::ProcessJob::new().ok();
            Self { _job: job.filter(|job| child.id().is_some_and(|id| job.add(id).is_ok())) }
        }
        #[cfg(not(any(unix, windows)))]
        {
            let _ = child;
            Self {}
        }
    }
}

impl Drop for ProcessGroupGuard {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(leader) = self.leader.take() {
            // Fails if the whole group has already exited, which is the goal.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
            #[cfg(target_os = "linux")]
            crate::adopted::forget(leader.as_raw_nonzero().get().unsigned_abs());
        }
    }
}

/// The end of a child's standard error.
#[derive(Debug, Default)]
pub(crate) struct StderrTail {
    last_bytes: Mutex<VecDeque<u8>>,
    /// Names and values of the child's configured variables, which may be secret.
    variables: Vec<(String, String)>,
    redactor: Option<Redactor>,
    confinement: Option<ChildConfinement>,
    /// The confinement that is enforced, once the launcher has reported it.
    enforced: OnceLock<EnforcedConfinement>,
}

impl StderrTail {
    const MAX_BYTES: usize = 4 * 1024;
    /// How much of it messages show, in lines and bytes.
    const SHOWN_LINES: usize = 6;
    const SHOWN_BYTES: usize = 600;
    /// Shorter values are words such as `true`, not secrets.
    const MIN_SECRET_BYTES: usize = 6;

    /// The tail for a child of this configuration.
    pub(crate) fn new(config: &StdioConfig, redactor: Option<Redactor>) -> Self {
        let confinement = config.confinement.clone();
        Self { redactor, confinement, ..Self::with_variables(&config.env) }
    }

    /// The tail for a child with these configured variables.
    pub(crate) fn with_variables(env: &BTreeMap<String, String>) -> Self {
        let secrets = env.iter().filter(|(_, value)| value.len() >= Self::MIN_SECRET_BYTES);
        let mut variables: Vec<_> =
            secrets.map(|(name, value)| (name.clone(), value.clone())).collect();
        // Longest first, because a value may contain another.
        variables.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        Self { variables, ..Self::default() }
    }

    /// Records the confinement that the launcher reported.
    pub(crate) fn set_enforced(&self, enforced: &EnforcedConfinement) {
        // There is only one report.
        let _ = self.enforced.set(enforced.clone());
    }

    /// Reads to the end, keeping the last 4 KiB.
    pub(crate) async fn read_to_end(&self, mut source: impl AsyncRead + Unpin) {
        let mut chunk = [0_u8; 1024];
        while let Ok(count @ 1..) = source.read(&mut chunk).await {
            self.push(chunk.get(..count).unwrap_or_default());
        }
    }

    fn push(&self, added: &[u8]) {
        let mut buffer = self.last_bytes.lock().unwrap_or_else(PoisonError::into_inner);
        buffer.extend(added);
        let surplus = buffer.len().saturating_sub(Self::MAX_BYTES);
        buffer.drain(..surplus);
    }

    /// The kept text, escaped, with the variables' values replaced.
    pub(crate) fn text(&self) -> String {
        escape(self.without_variables().trim_end())
    }

    /// The last lines. They are redacted before they are shortened, because a truncated secret
    /// would not be recognised.
    pub(crate) fn last_lines(&self) -> String {
        let mut text = self.without_variables();
        if let Some(redactor) = &self.redactor {
            text = redactor.mask(&text);
        }
        let lines: Vec<&str> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = lines.iter().skip(lines.len().saturating_sub(Self::SHOWN_LINES));
        let shown = last.map(|line| escape(line)).collect::<Vec<_>>().join(" | ");
        let cut = shown.len().saturating_sub(Self::SHOWN_BYTES);
        let start = (cut..shown.len()).find(|at| shown.is_char_boundary(*at)).unwrap_or(0);
        let shown = shown.get(start..).unwrap_or_default().to_owned();
        match self.explanation(&shown) {
            Some(explanation) => format!("{shown} ({explanation})"),
            None => shown,
        }
    }

    /// If the child reports a denied file, explains whether confinement was the cause.
    fn explanation(&self, shown: &str) -> Option<String> {
        let explained = self
            .confinement
            .as_ref()?
            .explain_refusal(self.enforced.get()?, &refusal_in_stderr(shown)?)?;
        Some(escape(&explained))
    }

    fn without_variables(&self) -> String {
        let buffer = self.last_bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut last_bytes: Vec<u8> = buffer.iter().copied().collect();
        drop(buffer);
        if last_bytes.len() == Self::MAX_BYTES {
            // A truncated beginning may be the end of a secret, which no pattern recognises.
            let max_cut = Self::MAX_BYTES / 4;
            let line = last_bytes.iter().take(max_cut).position(|byte| *byte == b'\n');
            last_bytes.drain(..line.unwrap_or(max_cut));
        }
        let mut text = String::from_utf8_lossy(&last_bytes).into_owned();
        for (name, value) in &self.variables {
            text = text.replace(value, &format!("[{name}]"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_are_repeated_and_no_variable_of_the_child() {
        let mut config = StdioConfig::default();
        config.env.insert("TOKEN".to_owned(), "hunter2-hunter2".to_owned());
        config.env.insert("LOG".to_owned(), "warn".to_owned());
        let tail =
            StderrTail::new(&config, Some(Redactor::new(|text| text.replace("joe@", "***@"))));
        for line in
            ["first", "a", "b", "c\u{1b}", "warn: joe@example.org", "key hunter2-hunter2", "end"]
        {
            tail.push(format!("{line}\n\n").as_bytes());
        }
        assert_eq!(
            tail.last_lines(),
            "a | b | c\\u{1b} | warn: ***@example.org | key [TOKEN] | end"
        );
        tail.push("é".repeat(1000).as_bytes());
        let shown = tail.last_lines();
        assert!(shown.len() <= 600 && shown.ends_with("éé"), "{shown}");
    }

    #[test]
    fn a_child_inherits_where_certificates_and_proxies_are_and_no_password() {
        for (name, value, inherited) in [
            ("PATH", "/bin", true),
            ("SSL_CERT_FILE", "/etc/ssl/corp.pem", true),
            ("NODE_EXTRA_CA_CERTS", "/etc/ssl/corp.pem", true),
            ("HTTPS_PROXY", "http://proxy.corp.example:3128", true),
            ("no_proxy", "localhost,.corp.example", true),
            ("HTTPS_PROXY", "http://ann:word@proxy.corp.example:3128", false),
            ("AWS_SECRET_ACCESS_KEY", "word", false),
            ("LD_PRELOAD", "/tmp/x.so", false),
            ("PATH", "() { :; }", false),
            ("no_proxy", "() { :; }", false),
        ] {
            assert_eq!(is_inherited(name, value.as_bytes()), inherited, "{name}={value}");
        }
    }

    #[test]
    fn the_tail_is_bounded_and_escaped() {
        let tail = StderrTail::default();
        for _ in 0..100 {
            tail.push(&[b'x'; 1000]);
        }
        tail.push(b"\x1b[31mlast\xff\n");
        let text = tail.text();
        assert!(text.len() < 5000 && text.contains("\\u{1b}[31mlast"), "{text}");
    }

    #[test]
    fn no_part_of_a_line_and_no_variable_stands_at_the_begin_of_a_tail() {
        let env = [("TOKEN".to_owned(), "hunter2-hunter2".to_owned())].into();
        let tail = StderrTail::with_variables(&env);
        tail.push(b"password=correct-horse-battery\n");
        // All but the first part of it is still there.
        tail.push("x".repeat(StderrTail::MAX_BYTES - 24).as_bytes());
        tail.push(b"\nkey hunter2-hunter2\n");
        let text = tail.text();
        assert!(
            text.starts_with("\\n") || text.starts_with('\n') || text.starts_with('x'),
            "{text:?}"
        );
        assert!(!text.contains("battery") && !text.contains("hunter2"), "{text}");
        assert!(text.contains("key [TOKEN]"), "{text}");
    }
}
