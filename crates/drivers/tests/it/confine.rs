//! Confined children: real processes on this kernel. Each attempt is also made by a child that is
//! not confined, where it must go well, so that no attempt fails for another reason.
//!
//! On a kernel that cannot confine, the same tests hold that no child is started.

use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;
use weaver_drivers::confine::{
    AllowedPaths, ConfineError, Confinement, EnforcedConfinement, EnforcementMode, FileAccess,
    Launcher, NetworkAccess, Protection, ResourceLimits,
};
use weaver_drivers::mcp::{
    ChildConfinement, Connection, Endpoint, McpError, McpErrorKind, StdioConfig, UpstreamConfig,
};

use crate::support::{complete, config, connect, connect_with};

pub(crate) fn launcher() -> Launcher {
    Launcher::new(env!("CARGO_BIN_EXE_weaver-launch"))
}

/// A folder with the host's state, a place to work, and something else.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(TempDir::new().unwrap());
        for (name, text) in [
            ("state/ledger.db", "secret"),
            ("state/inbox/answer", "secret"),
            ("work/in.txt", "in"),
            ("work/out/old.txt", "old"),
            ("outside/other.txt", "other"),
        ] {
            fs::create_dir_all(place.path(name).parent().unwrap()).unwrap();
            fs::write(place.path(name), text).unwrap();
        }
        for name in ["work/tool", "outside/tool"] {
            fs::copy("/bin/true", place.path(name)).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn confinement(&self) -> Confinement {
        Confinement {
            files: FileAccess::only().read(self.path("work")).write(self.path("work/out")),
            network: NetworkAccess::None,
            isolated: true,
            ..Confinement::denying([self.path("state")])
        }
    }

    fn denying(&self) -> Confinement {
        Confinement::denying([self.path("state")])
    }
}

pub(crate) fn confined(confinement: Confinement) -> UpstreamConfig {
    let mut config = config("plain");
    if let Endpoint::Stdio(StdioConfig { confinement: child_confinement, .. }) =
        &mut config.endpoint
    {
        *child_confinement =
            Some(ChildConfinement { launcher: launcher(), confinement, setting: None });
    }
    config
}

/// A connection to a child that is confined as asked. On a kernel that cannot do it, holds that no
/// child was started, and gives nothing.
async fn connected(confinement: Confinement) -> Option<Connection> {
    match connect_with(confined(confinement.clone())).await {
        Ok(connection) => {
            let enforced = connection.enforced().expect("a launcher started it");
            println!("{enforced}");
            assert!(enforced.is_complete() && enforced.landlock > 0, "{enforced}");
            assert!(
                confinement.required_protections().is_subset(&enforced.protections),
                "{enforced}"
            );
            Some(connection)
        }
        Err(McpError { kind: McpErrorKind::Confinement { error }, .. }) => {
            println!("this system cannot confine, and nothing was started: {error}");
            assert_eq!(error.code(), "confine.lacking");
            assert_eq!(launcher().probe(&confinement).unwrap_err().code(), "confine.lacking");
            None
        }
        Err(other) => panic!("{other}"),
    }
}

pub(crate) async fn said(connection: &Connection, asked: Value) -> String {
    let reply = complete(connection, "attempt", asked).await;
    reply.value()["said"].as_str().unwrap().to_owned()
}

/// What must go well, and what must not.
async fn assert_confined(connection: &Connection, allowed: &[Value], refused: &[Value]) {
    for asked in allowed {
        assert_eq!(said(connection, asked.clone()).await, "done", "{asked}");
    }
    assert_refused(connection, refused).await;
}

/// What must not go well, and does where nothing is confined.
pub(crate) async fn assert_refused(connection: &Connection, refused: &[Value]) {
    let free = connect("plain").await;
    for asked in refused {
        let outcome = said(connection, asked.clone()).await;
        println!("{asked}: {outcome}");
        assert_ne!(outcome, "done", "{asked}");
        assert_eq!(said(&free, asked.clone()).await, "done", "{asked} without confinement");
    }
}

#[tokio::test]
async fn a_confined_server_reaches_nothing_beside_what_is_named() {
    let place = Place::new();
    let Some(connection) = connected(place.confinement()).await else { return };
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp = tcp.local_addr().unwrap().to_string();
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let name = format!("weaver-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _listening = UnixListener::bind_addr(&address).unwrap();
    let parent = std::process::id();
    let to = |name: &str| place.path(name);
    let root = format!("/proc/{parent}/root{}", to("state/ledger.db").display());
    std::os::unix::fs::symlink(to("state"), to("work/link")).unwrap();
    assert_confined(
        &connection,
        &[
            json!({"do": "read", "at": to("work/in.txt")}),
            json!({"do": "list", "at": to("work")}),
            json!({"do": "write", "at": to("work/out/new.txt")}),
            json!({"do": "read", "at": "/proc/self/status"}),
            json!({"do": "execute", "at": "/bin/true"}),
        ],
        &[
            json!({"do": "read", "at": to("state/ledger.db")}),
            json!({"do": "list", "at": to("state")}),
            json!({"do": "read", "at": to("work/link/ledger.db")}),
            json!({"do": "write", "at": to("state/inbox/forged")}),
            json!({"do": "cut", "at": to("state/ledger.db")}),
            json!({"do": "link", "at": to("state/ledger.db"), "to": to("work/out/ledger.db")}),
            json!({"do": "read", "at": to("outside/other.txt")}),
            json!({"do": "list", "at": "/"}),
            json!({"do": "write", "at": to("outside/new.txt")}),
            json!({"do": "write", "at": to("work/new.txt")}),
            json!({"do": "move", "at": to("work/out/old.txt"), "to": to("outside/old.txt")}),
            json!({"do": "execute", "at": to("work/tool")}),
            json!({"do": "execute", "at": to("outside/tool")}),
            json!({"do": "connect", "at": tcp}),
            json!({"do": "bind", "at": "127.0.0.1:0"}),
            json!({"do": "datagram", "at": udp.local_addr().unwrap().to_string()}),
            json!({"do": "abstract", "at": name}),
            json!({"do": "signal", "at": parent}),
            json!({"do": "read", "at": format!("/proc/{parent}/environ")}),
            json!({"do": "read", "at": root}),
        ],
    )
    .await;
}

#[tokio::test]
async fn without_a_word_everything_but_the_state_is_as_before() {
    let place = Place::new();
    std::os::unix::fs::symlink(place.path("state"), place.path("outside/link")).unwrap();
    let Some(connection) = connected(place.denying()).await else { return };
    // Made after the start, beside the state: nobody said that it is no part of it.
    fs::write(place.path("later.db"), "secret").unwrap();
    let to = |name: &str| place.path(name);
    let parent = std::process::id();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    assert_confined(
        &connection,
        &[
            json!({"do": "read", "at": "/etc/passwd"}),
            json!({"do": "read", "at": to("outside/other.txt")}),
            json!({"do": "make", "at": to("outside/made.txt")}),
            json!({"do": "remove", "at": to("outside/made.txt")}),
            json!({"do": "list", "at": to("outside")}),
            json!({"do": "execute", "at": to("work/tool")}),
            json!({"do": "connect", "at": tcp.local_addr().unwrap().to_string()}),
        ],
        &[
            json!({"do": "read", "at": to("state/ledger.db")}),
            json!({"do": "read", "at": to("state/inbox/answer")}),
            json!({"do": "read", "at": to("outside/link/ledger.db")}),
            json!({"do": "list", "at": to("state")}),
            json!({"do": "write", "at": to("state/ledger.db")}),
            json!({"do": "write", "at": to("state/inbox/forged")}),
            json!({"do": "cut", "at": to("state/ledger.db")}),
            json!({"do": "read", "at": to("later.db")}),
            json!({"do": "make", "at": to("state-2")}),
            json!({"do": "signal", "at": parent}),
            json!({"do": "read", "at": format!("/proc/{parent}/environ")}),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_server_stays_within_its_resources() {
    let place = Place::new();
    let limits = ResourceLimits {
        address_space: Some(4 << 30),
        open_files: Some(64),
        cpu_seconds: Some(600),
        ..ResourceLimits::default()
    };
    let asked = Confinement { limits, ..place.denying() };
    let Some(connection) = connected(asked).await else { return };
    assert_confined(
        &connection,
        &[json!({"do": "memory", "at": 1 << 20}), json!({"do": "open", "at": 20})],
        &[json!({"do": "memory", "at": 8_u64 << 30}), json!({"do": "open", "at": 100})],
    )
    .await;
}

#[tokio::test]
async fn nothing_that_was_open_is_left_to_the_child() {
    let place = Place::new();
    let secret = fs::File::open(place.path("state/ledger.db")).unwrap();
    // Left open over the start of a program, as a careless host would.
    rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::empty()).unwrap();
    let free = connect("plain").await;
    let open = said(&free, json!({"do": "descriptors"})).await;
    assert!(open.contains("ledger.db"), "the test shows nothing: {open}");
    let Some(connection) = connected(place.denying()).await else { return };
    let open = said(&connection, json!({"do": "descriptors"})).await;
    assert!(!open.contains("ledger.db"), "{open}");
}

fn run(confinement: &Confinement, argv: &[&str], as_nobody: bool) -> Output {
    let mut command = launcher().command(argv, confinement).unwrap();
    if as_nobody {
        command.uid(65534).gid(65534);
    }
    command.current_dir("/").output().unwrap()
}

/// The first line of standard error.
fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().to_owned()
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

fn can_confine() -> bool {
    launcher().probe(&Confinement::denying(["/nowhere/at/all"])).is_ok()
}

#[test]
fn processor_time_and_size_of_files_end_the_child() {
    if !can_confine() {
        return;
    }
    let place = Place::new();
    let limits =
        ResourceLimits { cpu_seconds: Some(1), file_size: Some(1000), ..ResourceLimits::default() };
    let asked = Confinement { limits, ..place.denying() };
    let big = format!("head -c 5000 /dev/zero > {}/big", place.path("outside").display());
    let output = run(&asked, &["/bin/sh", "-c", &big], false);
    assert!(!output.status.success(), "{output:?}");
    assert_eq!(fs::metadata(place.path("outside/big")).unwrap().len(), 1000);
    let output = run(&asked, &["/bin/sh", "-c", "while :; do :; done"], false);
    assert!(output.status.code().is_none(), "it was killed: {output:?}");
}

/// Root's processes are not counted: that is told, and a demand for it fails.
#[test]
fn processes_are_limited_where_the_kernel_limits_them() {
    if !can_confine() {
        return;
    }
    let limits = ResourceLimits { processes: Some(3), ..ResourceLimits::default() };
    let strict = Confinement { limits, ..Confinement::denying(["/nowhere/at/all"]) };
    if is_root() {
        let error = launcher().probe(&strict).unwrap_err();
        assert!(error.to_string().contains("processes of root"), "{error}");
        let lax = Confinement { enforcement_mode: EnforcementMode::BestEffort, ..strict.clone() };
        let enforced = launcher().probe(&lax).unwrap();
        assert_eq!(enforced.lacking.iter().next(), Some(&Protection::Processes), "{enforced}");
    }
    let script = "for i in 1 2 3 4 5 6; do sleep 3 & done; wait";
    let output = run(&strict, &["/bin/sh", "-c", script], is_root());
    assert!(told(&output).contains("\"processes\""), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).to_lowercase().contains("fork"), "{output:?}");
}

/// Ordinary users get their network taken away in a user namespace of their own.
#[test]
fn an_ordinary_user_can_be_confined_too() {
    if !can_confine() {
        return;
    }
    let asked =
        Confinement { network: NetworkAccess::None, ..Confinement::denying(["/nowhere/at/all"]) };
    let output = run(&asked, &["/bin/sh", "-c", "id -u; cat /proc/self/net/dev"], is_root());
    let told = told(&output);
    if told.contains("confine.lacking") {
        println!("no user namespaces here, and nothing was started: {told}");
        assert!(output.stdout.is_empty());
        return;
    }
    assert!(told.contains("\"network\""), "{told}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!is_root() || text.starts_with("65534"), "{text}");
    assert!(!text.contains("eth") && text.matches(':').count() <= 1, "{text}");
}

/// Root keeps what it needs for files, and loses what leads around the rules.
#[test]
fn root_loses_what_leads_around_the_rules() {
    if !can_confine() || !is_root() {
        return;
    }
    let asked = Confinement::denying(["/nowhere/at/all"]);
    let script = "grep -E 'Cap(Eff|Bnd|Prm)|NoNewPrivs' /proc/self/status";
    let output = run(&asked, &["/bin/sh", "-c", script], false);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (admin, trace, raw) = (1_u64 << 21, 1 << 19, 1 << 17);
    for line in text.lines().filter(|line| line.starts_with("Cap")) {
        let held = u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap();
        assert_eq!(held & (admin | trace | raw), 0, "{text}");
    }
    assert!(text.contains("NoNewPrivs:\t1"), "{text}");
}

/// Landlock stacks 16 layers at most: launchers inside of launchers come to a kernel that can no
/// more, as one without Landlock never could.
#[test]
fn where_the_kernel_can_no_more_the_child_is_not_started() {
    if !can_confine() {
        return;
    }
    let place = Place::new();
    let mark = place.path("outside/mark");
    let nothing = Confinement::denying(Vec::<PathBuf>::new());
    for (enforcement_mode, started) in
        [(EnforcementMode::Strict, false), (EnforcementMode::BestEffort, true)]
    {
        let asked = Confinement { enforcement_mode, isolated: true, ..nothing.clone() };
        let one = launcher().command(&["x"], &asked).unwrap();
        let one: Vec<String> = std::iter::once(one.get_program())
            .chain(one.get_args().take(1))
            .map(|word| word.to_str().unwrap().to_owned())
            .collect();
        let mut argv: Vec<String> = one.iter().cycle().take(17 * one.len()).cloned().collect();
        argv.extend(["/bin/touch".to_owned(), mark.to_str().unwrap().to_owned()]);
        let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
        let output = run(&asked, &argv, false);
        let last = String::from_utf8_lossy(&output.stderr).lines().last().unwrap().to_owned();
        assert_eq!(mark.exists(), started, "{output:?}");
        assert_eq!(last.contains("confine.lacking"), !started, "{last}");
        let lacking = "\"lacking\":[\"abstract_sockets\",\"signals\"]";
        assert_eq!(last.contains(lacking), started, "{last}");
    }
}

/// Who is confined cannot list the folders above the state, and so cannot leave it out again: a
/// demand fails, and without one that is told.
#[test]
fn a_state_that_cannot_be_left_out_is_told() {
    if !can_confine() {
        return;
    }
    let place = Place::new();
    let outer = place.denying();
    for (enforcement_mode, code) in
        [(EnforcementMode::Strict, Some(125)), (EnforcementMode::BestEffort, Some(0))]
    {
        let inner =
            launcher().command(&["/bin/true"], &Confinement { enforcement_mode, ..outer.clone() });
        let inner = inner.unwrap();
        let words = std::iter::once(inner.get_program()).chain(inner.get_args());
        let argv: Vec<&str> = words.map(|word| word.to_str().unwrap()).collect();
        let output = run(&outer, &argv, false);
        assert_eq!(output.status.code(), code, "{output:?}");
        let last = String::from_utf8_lossy(&output.stderr).lines().last().unwrap().to_owned();
        let lacking = last.contains("\"lacking\":[\"files\",\"truncate\"]");
        assert_eq!((lacking, last.contains("confine.path")), (code == Some(0), code != Some(0)));
    }
}

#[test]
fn a_confinement_that_cannot_be_meant_is_refused() {
    let place = Place::new();
    let refused = |confinement: Confinement| launcher().probe(&confinement).unwrap_err();
    let inside = Confinement {
        files: FileAccess::only().read(place.path("state/inbox")),
        enforcement_mode: EnforcementMode::BestEffort,
        ..place.denying()
    };
    assert_eq!(refused(inside).code(), "confine.denied_path");
    let absent = Confinement {
        files: FileAccess::only().write(place.path("nowhere")),
        enforcement_mode: EnforcementMode::BestEffort,
        ..place.denying()
    };
    assert_eq!(refused(absent).code(), "confine.path");
    let silent = Launcher::new("/bin/true").probe(&place.denying()).unwrap_err();
    assert_eq!(silent.code(), "confine.silent");
    let output = run(&place.denying(), &["/nowhere/no-program"], false);
    assert!(told(&output).contains("confine.program"), "{output:?}");
    assert!(matches!(
        launcher().command::<&str>(&[], &place.denying()),
        Err(ConfineError::Form { .. })
    ));
}

/// Above the state only what is there is allowed; named folders around it leave it out too.
#[tokio::test]
async fn a_named_folder_around_the_state_leaves_it_out() {
    let place = Place::new();
    let only = FileAccess::Only(AllowedPaths::default()).write(place.0.path());
    let Some(connection) = connected(Confinement { files: only, ..place.denying() }).await else {
        return;
    };
    assert_confined(
        &connection,
        &[json!({"do": "make", "at": place.path("outside/x")})],
        &[json!({"do": "read", "at": place.path("state/ledger.db")})],
    )
    .await;
}

#[test]
fn what_is_enforced_is_said_in_one_line() {
    let enforced = EnforcedConfinement {
        landlock: 7,
        protections: [Protection::Files, Protection::Signals].into(),
        lacking: [Protection::Network].into(),
    };
    assert_eq!(enforced.to_string(), "landlock 7; enforced: files, signals; lacking: network");
    assert_eq!(enforced.to_json()["lacking"], json!(["network"]));
}
