//! Secrets, which a provider supplies for each request and whose `Debug` output is redacted.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use weaver_types::BoxFuture;
use zeroize::Zeroizing;

/// The shortest secret, in bytes. A shorter one would match too much when results are masked.
pub const MIN_SECRET_BYTES: usize = 8;
/// The longest secret, in bytes.
const MAX_SECRET_BYTES: usize = 16 * 1024;
/// Time limit of a command that prints a secret.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);

/// A secret. Its memory is erased on drop and its `Debug` output is redacted.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Makes a secret of a text, without one trailing line break.
    ///
    /// # Errors
    /// [`SecretError::Short`], and [`SecretError::Form`] for text that no header can hold.
    pub fn new(text: Zeroizing<String>) -> Result<Self, SecretError> {
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.len() < MIN_SECRET_BYTES {
            return Err(SecretError::Short);
        }
        if line.len() > MAX_SECRET_BYTES || !line.bytes().all(|b| matches!(b, b' '..=b'~')) {
            return Err(SecretError::Form);
        }
        Ok(Self(Zeroizing::new(line.to_owned())))
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// The text, still erased on drop, for callers that open a key with it.
    #[must_use]
    pub fn into_text(self) -> Zeroizing<String> {
        self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(redacted)")
    }
}

/// Why there is no secret. No message contains any of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// The variable is not set.
    #[error("the variable {name} is not set; set it before starting")]
    Unset {
        /// Its name.
        name: String,
    },
    /// The file cannot be read.
    #[error("the secret's file cannot be read: {problem}")]
    File {
        /// What went wrong.
        problem: String,
    },
    /// Users other than the owner can read the file.
    #[error("others than its owner can read the secret's file; run `chmod 600` on it")]
    Open,
    /// The command failed.
    #[error("the secret's command failed: {problem}")]
    Command {
        /// What went wrong.
        problem: String,
    },
    /// The secret is too short.
    #[error("the secret has fewer than {MIN_SECRET_BYTES} characters; use a longer one")]
    Short,
    /// The secret cannot be a header value.
    #[error("the secret is not a line of printable ascii; check where it comes from")]
    Form,
    /// A provider of the embedding program failed.
    #[error("the secret's provider failed: {problem}")]
    Provider {
        /// What went wrong; never any of the secret.
        problem: String,
    },
}

impl SecretError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unset { .. } => "secret.unset",
            Self::File { .. } => "secret.file",
            Self::Open => "secret.open",
            Self::Command { .. } => "secret.command",
            Self::Short => "secret.short",
            Self::Form => "secret.form",
            Self::Provider { .. } => "secret.provider",
        }
    }
}

/// Provides a secret. It is called for each request, so that a replaced secret is used at once.
pub trait SecretProvider: Send + Sync {
    /// The current secret.
    fn secret(&self) -> BoxFuture<'_, Result<Secret, SecretError>>;

    /// The same for text of several lines, such as a private key in PEM.
    fn text(&self) -> BoxFuture<'_, Result<Zeroizing<String>, SecretError>> {
        Box::pin(async { self.secret().await.map(Secret::into_text) })
    }
}

/// A variable of the environment.
#[derive(Debug, Clone)]
pub struct EnvSecret(
    /// Its name.
    pub String,
);

impl SecretProvider for EnvSecret {
    fn secret(&self) -> BoxFuture<'_, Result<Secret, SecretError>> {
        Box::pin(std::future::ready(self.value().and_then(Secret::new)))
    }

    fn text(&self) -> BoxFuture<'_, Result<Zeroizing<String>, SecretError>> {
        Box::pin(std::future::ready(self.value().and_then(check_length)))
    }
}

impl EnvSecret {
    fn value(&self) -> Result<Zeroizing<String>, SecretError> {
        let legal = !self.0.is_empty() && !self.0.contains(['=', '\0']);
        let found = legal.then(|| std::env::var(&self.0).ok()).flatten().map(Zeroizing::new);
        found.ok_or_else(|| SecretError::Unset { name: self.0.clone() })
    }
}

/// Checks the length of a text that may have several lines.
fn check_length(text: Zeroizing<String>) -> Result<Zeroizing<String>, SecretError> {
    match text.len() {
        0..MIN_SECRET_BYTES => Err(SecretError::Short),
        MIN_SECRET_BYTES..=MAX_SECRET_BYTES => Ok(text),
        _ => Err(SecretError::Form),
    }
}

/// A file that only its owner may read.
#[derive(Debug, Clone)]
pub struct FileSecret(
    /// Its path.
    pub PathBuf,
);

impl SecretProvider for FileSecret {
    fn secret(&self) -> BoxFuture<'_, Result<Secret, SecretError>> {
        Box::pin(std::future::ready(
            read_secret_file(&self.0, FileReaders::OwnerOnly).and_then(Secret::new),
        ))
    }

    fn text(&self) -> BoxFuture<'_, Result<Zeroizing<String>, SecretError>> {
        Box::pin(std::future::ready(
            read_secret_file(&self.0, FileReaders::OwnerOnly).and_then(check_length),
        ))
    }
}

/// A file that a platform writes and renews, such as a workload token. The platform controls who
/// can read it.
#[derive(Debug, Clone)]
pub struct ProjectedSecret(
    /// Its path.
    pub PathBuf,
);

impl SecretProvider for ProjectedSecret {
    fn secret(&self) -> BoxFuture<'_, Result<Secret, SecretError>> {
        Box::pin(std::future::ready(
            read_secret_file(&self.0, FileReaders::Any).and_then(Secret::new),
        ))
    }
}

/// Who may be able to read a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileReaders {
    OwnerOnly,
    Any,
}

fn read_secret_file(path: &Path, readers: FileReaders) -> Result<Zeroizing<String>, SecretError> {
    use std::io::Read as _;

    let failed =
        |problem: std::io::Error| SecretError::File { problem: problem.kind().to_string() };
    // Opening a pipe would block.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(SecretError::File { problem: "it is not a plain file".to_owned() });
    }
    let file = std::fs::File::open(path).map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        // Checked on the opened file, not on its name, so that it cannot be replaced in between.
        let open = file.metadata().map_err(failed)?.mode() & 0o077 != 0;
        if readers == FileReaders::OwnerOnly && open {
            return Err(SecretError::Open);
        }
    }
    // The folder's access rights decide there.
    #[cfg(not(unix))]
    let _ = readers;
    let mut text = Zeroizing::new(String::with_capacity(MAX_SECRET_BYTES + 3));
    let room = u64::try_from(MAX_SECRET_BYTES + 3).unwrap_or(u64::MAX);
    file.take(room).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

/// The output of a program that is started without a shell. It inherits the environment and has ten
/// seconds.
#[derive(Debug, Clone)]
pub struct CommandSecret(
    /// The program and its arguments.
    pub Vec<String>,
);

impl SecretProvider for CommandSecret {
    fn secret(&self) -> BoxFuture<'_, Result<Secret, SecretError>> {
        Box::pin(async move { self.run_with_timeout().await.and_then(Secret::new) })
    }

    fn text(&self) -> BoxFuture<'_, Result<Zeroizing<String>, SecretError>> {
        Box::pin(async move { self.run_with_timeout().await.and_then(check_length) })
    }
}

impl CommandSecret {
    async fn run_with_timeout(&self) -> Result<Zeroizing<String>, SecretError> {
        let timed_out = || SecretError::Command { problem: "it took too long".to_owned() };
        tokio::time::timeout(COMMAND_TIMEOUT, run(&self.0)).await.map_err(|_| timed_out())?
    }
}

async fn run(argv: &[String]) -> Result<Zeroizing<String>, SecretError> {
    let failed = |problem: String| SecretError::Command { problem };
    let io = |error: std::io::Error| failed(error.kind().to_string());
    let Some((program, arguments)) = argv.split_first() else {
        return Err(failed("it has no name".to_owned()));
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(io)?;
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_SECRET_BYTES + 3));
    if let Some(output) = child.stdout.take() {
        let room = u64::try_from(MAX_SECRET_BYTES + 3).unwrap_or(u64::MAX);
        output.take(room).read_to_end(&mut bytes).await.map_err(io)?;
    }
    let status = child.wait().await.map_err(io)?;
    if !status.success() {
        return Err(failed(status.to_string()));
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| SecretError::Form)?;
    Ok(Zeroizing::new(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(provider: &dyn SecretProvider) -> &'static str {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        match runtime.block_on(provider.secret()) {
            Ok(secret) => {
                assert_eq!(secret.expose(), "hunter2-hunter2");
                assert_eq!(format!("{secret:?}"), "Secret(redacted)");
                "fine"
            }
            Err(error) => {
                assert!(!error.to_string().contains("hunter2"), "{error}");
                error.code()
            }
        }
    }

    #[test]
    fn a_variable_that_is_not_set_is_named() {
        for name in ["WEAVER_NO_SUCH_VARIABLE", "", "a=b"] {
            assert_eq!(code(&EnvSecret(name.to_owned())), "secret.unset");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let provider = FileSecret(path.clone());
        assert_eq!(code(&provider), "secret.file");
        for (text, mode, wanted) in [
            ("hunter2-hunter2\n", 0o600, "fine"),
            ("hunter2-hunter2\r\n", 0o400, "fine"),
            ("hunter2-hunter2", 0o640, "secret.open"),
            ("hunter2-hunter2", 0o604, "secret.open"),
            ("hunter2", 0o600, "secret.short"),
            ("hunter2-\nhunter2", 0o600, "secret.form"),
            ("hunter2-hünter2", 0o600, "secret.form"),
        ] {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(code(&provider), wanted, "{text:?} {mode:o}");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        assert_eq!(code(&FileSecret(folder.path().to_owned())), "secret.file");
        // What a platform projects is read by whom the platform says.
        std::fs::write(&path, "hunter2-hunter2\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(code(&ProjectedSecret(path)), "fine");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_key_has_several_lines_and_a_bound() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.pem");
        std::fs::write(&path, "one\ntwo\nthree\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(FileSecret(path.clone()).text().await, Err(SecretError::Open));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let text = FileSecret(path.clone()).text().await.unwrap();
        assert_eq!(*text, "one\ntwo\nthree\n");
        let shell = |script: &str| CommandSecret(["sh", "-c", script].map(str::to_owned).to_vec());
        assert_eq!(*shell("printf 'one\\ntwo\\nthree\\n'").text().await.unwrap(), *text);
        std::fs::write(&path, "x".repeat(20_000)).unwrap();
        assert_eq!(FileSecret(path).text().await, Err(SecretError::Form));
    }

    #[cfg(unix)]
    #[test]
    fn a_command_is_bounded_and_must_succeed() {
        let shell = |script: &str| CommandSecret(["sh", "-c", script].map(str::to_owned).to_vec());
        assert_eq!(code(&shell("echo hunter2-hunter2")), "fine");
        assert_eq!(code(&shell("echo hunter2-hunter2; exit 3")), "secret.command");
        assert_eq!(code(&shell("while :; do echo hunter2-hunter2; done")), "secret.command");
        assert_eq!(code(&CommandSecret(vec!["/nowhere/none".into()])), "secret.command");
        assert_eq!(code(&CommandSecret(Vec::new())), "secret.command");
    }
}
