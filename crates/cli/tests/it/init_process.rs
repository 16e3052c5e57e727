//! The gateway as process 1 of a container.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::client::folder;
use crate::support::Folder;
use crate::support::until;

/// A server that leaves a process behind, as package runners and browsers do. What is left behind
/// makes a file when it ends.
const LEAVING: &str =
    "(setsid sh -c 'sleep 0.2; : > \"$0\"' MARK >/dev/null 2>&1 &); exec sleep 100";

/// Starts a process as process 1 of a namespace of its own; `None` where that is not possible.
fn as_first_process(folder: &Folder, args: &[&str]) -> Option<Child> {
    let unshare = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"];
    let tried = Command::new("unshare").args(unshare).arg("true").output();
    if !tried.as_ref().is_ok_and(|tried| tried.status.success()) {
        eprintln!("not tested: no namespaces of processes here: {tried:?}");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(unshare).arg(env!("CARGO_BIN_EXE_weaver")).args(args);
    command.args(["--config", &folder.arg("weaver.toml")]);
    Some(command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

/// A process as `/proc` tells it: its number, its state and its parent.
fn processes() -> Vec<(u32, String, u32)> {
    let read = |entry: fs::DirEntry| {
        let text = fs::read_to_string(entry.path().join("stat")).ok()?;
        let (number, rest) = text.split_once(' ')?;
        let mut rest = rest.rsplit_once(')')?.1.split_ascii_whitespace();
        let (state, parent) = (rest.next()?, rest.next()?);
        Some((number.parse().ok()?, state.to_owned(), parent.parse().ok()?))
    };
    fs::read_dir("/proc").unwrap().filter_map(|entry| read(entry.ok()?)).collect()
}

fn child_of(parent: u32) -> Option<u32> {
    processes().into_iter().find(|(_, _, of)| *of == parent).map(|(number, ..)| number)
}

fn signal(process: u32, name: &str) {
    assert!(Command::new("kill").args([name, &process.to_string()]).status().unwrap().success());
}

fn leaving_folder() -> Folder {
    let folder = folder(&[], "", "");
    let mark = folder.arg("files/left");
    let script = toml::Value::from(LEAVING.replace("MARK", &mark)).to_string();
    let server = format!("\n[mcpServers.leaving]\ncommand = \"sh\"\nargs = [\"-c\", {script}]\n");
    folder.append("weaver.toml", &server);
    folder
}

#[test]
fn process_1_waits_for_what_servers_leave_behind_and_ends_as_the_daemon_does() {
    let folder = leaving_folder();
    let Some(mut started) = as_first_process(&folder, &["daemon"]) else { return };
    let mut errors = BufReader::new(started.stderr.take().unwrap()).lines();
    let ready = errors.by_ref().map_while(Result::ok).any(|line| line.contains("weaver: ready"));
    assert!(ready, "{:?}", started.wait());
    // Somebody has to read what comes later.
    let errors = std::thread::spawn(move || errors.map_while(Result::ok).count());
    let first = child_of(started.id()).unwrap();
    until("what the server left behind has ended", || folder.path("files/left").exists());
    until("no zombie is left", || {
        !processes().iter().any(|(_, state, parent)| state == "Z" && *parent == first)
    });
    signal(first, "-TERM");
    assert_eq!(started.wait().unwrap().code(), Some(0), "it ended as the daemon did");
    errors.join().unwrap();
}

#[test]
fn the_exit_code_of_process_1_is_that_of_the_command() {
    let folder = folder(&[], "", "");
    folder.write("weaver.toml", "no = configuration\n");
    let Some(started) = as_first_process(&folder, &["serve", "--standalone"]) else { return };
    let ended = started.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    assert!(String::from_utf8_lossy(&ended.stderr).contains("weaver.toml"), "{ended:?}");
}
