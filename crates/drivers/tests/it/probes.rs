//! System calls by which a server could reach the process that started it, or its state: each is
//! made by a confined child and refused, or has no effect. Run as whoever runs the tests and, where
//! that is root, as somebody without any right and under `user` too. Needs a `python3`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use weaver_drivers::confine::{Confinement, EnforcementMode, Protection, SiblingAccess};

use crate::confine::launcher;
use crate::fixture::VARIABLE;

const PROBE: &str = include_str!("../data/probe.py");
/// Made by calls that are refused to nobody, and change nothing: the host stays as it was.
const HARMLESS: [&str; 1] = ["setpgid"];

/// A folder with state and with room for a server, of one user.
struct Place {
    folder: TempDir,
    user: u32,
}

impl Place {
    fn of(user: u32) -> Self {
        let place = Self { folder: TempDir::new().unwrap(), user };
        for name in ["state", "work"] {
            fs::create_dir(place.path(name)).unwrap();
        }
        fs::write(place.path("state/ledger.db"), "secret").unwrap();
        fs::set_permissions(place.path("state/ledger.db"), fs::Permissions::from_mode(0o600))
            .unwrap();
        fs::set_permissions(place.path(""), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(place.path("probe.py"), PROBE).unwrap();
        for name in ["", "state", "state/ledger.db", "work"] {
            chown(place.path(name), Some(user), Some(user)).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.folder.path().to_owned() } else { self.folder.path().join(name) }
    }

    fn confinement(&self) -> Confinement {
        Confinement {
            sibling_access: SiblingAccess::Open,
            enforcement_mode: EnforcementMode::BestEffort,
            ..Confinement::denying([self.path("state")])
        }
    }

    fn as_user(&self, mut command: Command) -> Command {
        if rustix::process::getuid().is_root() && self.user != 0 {
            command.uid(self.user).gid(self.user);
        }
        command.current_dir("/");
        command
    }

    /// What came of each call of the probe, and the launcher's line.
    fn probe(
        &self,
        confinement: Option<&Confinement>,
        arguments: &[&str],
    ) -> (BTreeMap<String, String>, String) {
        let script = self.path("probe.py").display().to_string();
        let argv: Vec<&str> =
            ["python3", &script].into_iter().chain(arguments.iter().copied()).collect();
        let mut command = self.as_user(match confinement {
            Some(confinement) => launcher().command(&argv, confinement).unwrap(),
            None => {
                let mut command = Command::new("python3");
                command.args(&argv[1..]);
                command
            }
        });
        command.process_group(0).env("PYTHONDONTWRITEBYTECODE", "1");
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        let read = |line: &str| serde_json::from_str::<(String, String)>(line).unwrap();
        assert!(output.status.success(), "{told}");
        (lines.lines().map(read).collect(), told)
    }

    /// What the calls could have changed of the state.
    fn state(&self) -> (u32, u32, i64, u64, Vec<u8>) {
        let about = fs::metadata(self.path("state/ledger.db")).unwrap();
        let text = fs::read(self.path("state/ledger.db")).unwrap();
        (about.mode(), about.uid(), about.mtime(), about.ino(), text)
    }
}

/// A process that keeps itself from its children as a gateway does.
struct Host(Child);

impl Host {
    fn of(place: &Place) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["fixture::fixture_main", "--exact", "--nocapture"]).env(VARIABLE, "host");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = place.as_user(command).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let ready = out.lines().map_while(Result::ok).any(|line| line.ends_with("host is ready"));
        assert!(ready, "the host starts");
        Self(child)
    }

    /// What the calls could have changed of the process.
    fn condition(&self) -> Vec<String> {
        let read = |name: &str| {
            fs::read_to_string(format!("/proc/{}/{name}", self.0.id())).unwrap_or_default()
        };
        let stat: Vec<String> = read("stat").split_whitespace().map(str::to_owned).collect();
        // The group, nice, and the scheduler.
        let of_stat = [4, 18, 39, 40].map(|at| stat.get(at).cloned().unwrap_or_default());
        [read("limits"), read("oom_score_adj"), read("coredump_filter")]
            .into_iter()
            .chain(of_stat)
            .collect()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn has_python() -> bool {
    let found = Command::new("python3").arg("--version").output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        println!("no python3 here: nothing was tried");
    }
    found
}

fn users() -> Vec<u32> {
    let own = rustix::process::getuid().as_raw();
    if own == 0 { vec![0, 65534] } else { vec![own] }
}

/// Makes every call, prints the table, and holds that none of them had an effect.
fn assert_kept_off(place: &Place, confinement: &Confinement) {
    let host = Host::of(place);
    let (state, condition) = (place.state(), host.condition());
    let (pid, ledger) = (host.0.id().to_string(), place.path("state/ledger.db"));
    let (found, told) =
        place.probe(Some(confinement), &["host", &pid, &folder(&ledger), "confined"]);
    println!("as {} {told}", place.user);
    assert!(found.len() >= 70, "{}", found.len());
    for (call, outcome) in &found {
        println!("  {call}: {outcome}");
    }
    let done: Vec<&String> = found
        .iter()
        .filter(|(call, outcome)| *outcome == "done" && !HARMLESS.contains(&call.as_str()))
        .map(|(call, _)| call)
        .collect();
    for call in ["setpriority of the user", "ioprio_set of the user"] {
        assert_eq!(found[call], "EPERM", "{call}: not by its values");
    }
    assert!(done.is_empty(), "as {}: {done:?} were not refused", place.user);
    assert_eq!(place.state(), state, "the state is as it was");
    assert_eq!(host.condition(), condition, "the host is as it was");
}

#[test]
fn no_call_of_a_server_reaches_the_host_or_its_state() {
    if !has_python() {
        return;
    }
    for user in users() {
        let place = Place::of(user);
        assert_kept_off(&place, &place.confinement());
    }
}

/// The test would show nothing if these calls failed anyway.
#[test]
fn without_a_confinement_the_same_calls_have_an_effect() {
    if !has_python() {
        return;
    }
    // Never as root, for then they would change this machine.
    for user in users().into_iter().filter(|user| *user != 0) {
        let place = Place::of(user);
        let host = Host::of(&place);
        let (pid, ledger) = (host.0.id().to_string(), place.path("state/ledger.db"));
        let (found, _) = place.probe(None, &["host", &pid, &folder(&ledger), "free"]);
        for call in [
            "prlimit", "setpriority", "ioprio_set", "sched_setaffinity", "sched_setscheduler",
            "sched_setattr", "kill", "chmod", "fchmodat", "chown", "utimensat",
        ] {
            assert_eq!(found[call], "done", "{call} as {user}");
        }
        let moved = fs::metadata(place.path("state/ledger.db.moved")).unwrap();
        assert_eq!(moved.mode() & 0o777, 0o777);
    }
}

/// Where no mount covers the state, since a link stands among it.
#[test]
fn where_landlock_is_alone_no_call_changes_the_state_either() {
    if !has_python() {
        return;
    }
    for user in users() {
        let place = Place::of(user);
        symlink(place.path("state"), place.path("link")).unwrap();
        let mut asked = place.confinement();
        asked.denied.insert(place.path("link"));
        let (_, told) = place.probe(Some(&asked), &["own", &folder(&place.path("work"))]);
        assert!(!told.contains("\"mounts\"") && told.contains("\"metadata\""), "{told}");
        assert_kept_off(&place, &asked);
    }
}

#[test]
fn what_programs_do_to_themselves_stays_allowed() {
    if !has_python() {
        return;
    }
    for user in users() {
        let place = Place::of(user);
        let (found, told) =
            place.probe(Some(&place.confinement()), &["own", &folder(&place.path("work"))]);
        assert!(found.len() >= 15, "{told}");
        for (call, outcome) in found {
            assert_eq!(outcome, "done", "{call} as {user}: {told}");
        }
    }
}

/// Programs that servers are written in start and end well.
#[test]
fn ordinary_programs_run_under_the_filter() {
    let place = Place::of(rustix::process::getuid().as_raw());
    let programs = [
        "python3 -c 'import threading,subprocess,asyncio; subprocess.run([\"true\"], check=True); asyncio.run(asyncio.sleep(0))'",
        "node -e 'require(\"worker_threads\"); require(\"child_process\").execFileSync(\"true\"); require(\"fs\").chmodSync(process.argv[1], 0o700)' \"$PWD\"",
        "npx --version",
        "uv --version",
        "git --version",
        "nice -n 1 true",
    ];
    for script in programs {
        let mut free = Command::new("/bin/sh");
        let free = free.args(["-c", script]).current_dir(place.path("work")).output().unwrap();
        let mut command =
            launcher().command(&["/bin/sh", "-c", script], &place.confinement()).unwrap();
        let output = command.process_group(0).current_dir(place.path("work")).output().unwrap();
        println!("{script}: {} and {}", free.status, output.status);
        assert_eq!(output.status.code(), free.status.code(), "{script}: {output:?}");
    }
}

#[test]
fn a_server_of_another_user_owns_nothing_of_the_host() {
    let place = Place::of(rustix::process::getuid().as_raw());
    let asked = Confinement { user: Some("65534:65534".to_owned()), ..place.confinement() };
    let script = format!(
        "id -u; id -g; grep Groups /proc/self/status; cat {0}; chmod 777 {0}; echo $HOME",
        place.path("state/ledger.db").display()
    );
    let mut command = launcher().command(&["/bin/sh", "-c", &script], &asked).unwrap();
    let output = command.process_group(0).env("HOME", "/root").output().unwrap();
    let (out, told) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{out} {told}");
    if !rustix::process::getuid().is_root() {
        let strict = Confinement { enforcement_mode: EnforcementMode::Strict, ..asked };
        assert_eq!(launcher().probe(&strict).unwrap_err().code(), "confine.lacking");
        return;
    }
    assert!(out.starts_with("65534\n65534\n") && out.contains("Groups:\t \n"), "{out}");
    assert!(!out.contains("secret") && told.contains("\"user\""), "{out} {told}");
    assert_eq!(place.state().0 & 0o777, 0o600);
    let enforced = launcher().probe(&asked).unwrap();
    assert!(enforced.protections.contains(&Protection::User), "{enforced}");
    for wrong in ["0", "root", "0:5", "nobody-of-that-name", "65534:", "-1"] {
        let asked = Confinement { user: Some(wrong.to_owned()), ..place.confinement() };
        assert!(launcher().probe(&asked).is_err(), "{wrong}");
    }
}

fn folder(path: &Path) -> String {
    path.display().to_string()
}
