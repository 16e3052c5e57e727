//! Socket activation: a daemon that takes over a socket which somebody else listens on, as a
//! service manager does.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use serde_json::json;

use crate::client::{Client, folder};
use crate::support::{Folder, weaver};

/// Passes descriptor 0 on as the first socket of the protocol, with no other input.
const PASS: &str = "exec 3<&0 </dev/null; LISTEN_PID=${PID:-$$} exec \"$0\" \"$@\"";

/// A folder, and the service manager that listens for its daemon.
struct Manager {
    folder: Folder,
    listener: UnixListener,
}

impl Manager {
    fn new() -> Self {
        let folder = folder(&[("good", "good")], "", "");
        let socket = Self::socket_in(&folder);
        let mut make = fs::DirBuilder::new();
        make.recursive(true).mode(0o700).create(socket.parent().unwrap()).unwrap();
        let listener = UnixListener::bind(&socket).unwrap();
        Self { folder, listener }
    }

    fn socket_in(folder: &Folder) -> PathBuf {
        folder.path(".weaver/ledger.db.run/d.sock")
    }

    fn config(&self) -> String {
        self.folder.arg("weaver.toml")
    }

    /// The command that starts the daemon with this socket.
    fn daemon(&self, passed: OwnedFd) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", PASS, env!("CARGO_BIN_EXE_weaver"), "daemon", "--config"]);
        command.arg(self.config()).env("LISTEN_FDS", "1");
        command.stdin(Stdio::from(passed)).stderr(Stdio::piped());
        command
    }

    fn start(&self) -> Child {
        self.daemon(self.listener.try_clone().unwrap().into()).spawn().unwrap()
    }

    /// A daemon that ends by itself, since it refuses what it is given.
    fn refused(mut command: Command) -> String {
        let Output { status, stderr, .. } = command.output().unwrap();
        assert!(!status.success());
        String::from_utf8(stderr).unwrap()
    }

    fn client(&self) -> Client {
        Client::shim(&self.folder, &[])
    }

    fn stop(&self, mut daemon: Child) {
        assert_eq!(self.folder.weaver(&["stop"]).code, 0);
        assert!(daemon.wait().unwrap().success());
    }
}

#[test]
fn a_daemon_serves_on_the_socket_that_it_is_given_and_leaves_it_behind() {
    let manager = Manager::new();
    let inode = fs::metadata(Manager::socket_in(&manager.folder)).unwrap().ino();
    // The client comes first and waits in the queue of the socket.
    let client = manager.client();
    let daemon = manager.start();
    let mut client = client.shaken();
    assert!(!client.execute("good.people", json!({})).0);
    let status = manager.folder.weaver(&["status", "--json"]).json();
    assert_eq!(status["pid"], daemon.id(), "no daemon was started beside it: {status}");
    assert_eq!(open_in_children(&manager.listener, daemon.id()), 0, "servers got the socket too");
    manager.stop(daemon);
    // Whoever comes now waits for the next one, on the same socket.
    assert_eq!(fs::metadata(Manager::socket_in(&manager.folder)).unwrap().ino(), inode);
    let mut fresh = manager.client();
    let under_way = fresh.begin("initialize", crate::client::initialize());
    let next = manager.start();
    assert!(fresh.answer(&under_way)["result"].is_object());
    fresh.end();
    client.end();
    manager.stop(next);
}

/// How many descriptors of processes that this one started are the socket.
fn open_in_children(listener: &UnixListener, parent: u32) -> usize {
    use std::os::fd::AsRawFd as _;

    let link = |path: String| fs::read_link(path).ok();
    let socket = link(format!("/proc/self/fd/{}", listener.as_raw_fd())).unwrap();
    let children: Vec<String> = fs::read_dir(format!("/proc/{parent}/task"))
        .unwrap()
        .filter_map(|task| fs::read_to_string(task.unwrap().path().join("children")).ok())
        .flat_map(|text| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    assert!(!children.is_empty(), "the server is a child");
    let descriptors = children.iter().flat_map(|child| {
        let folder = fs::read_dir(format!("/proc/{child}/fd")).into_iter().flatten();
        folder.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
    });
    descriptors.filter(|target| *target == socket).count()
}

#[test]
fn a_socket_that_clients_do_not_look_for_is_refused() {
    let manager = Manager::new();
    let elsewhere = UnixListener::bind(manager.folder.path("other.sock")).unwrap();
    let said = Manager::refused(manager.daemon(elsewhere.into()));
    assert!(said.contains("another address") && said.contains("d.sock"), "{said}");
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let said = Manager::refused(manager.daemon(tcp.into()));
    assert!(said.contains("daemon.inherited_socket"), "{said}");
    let (connected, _peer) = std::os::unix::net::UnixStream::pair().unwrap();
    let said = Manager::refused(manager.daemon(connected.into()));
    assert!(said.contains("does not listen"), "{said}");
    let mut two = manager.daemon(manager.listener.try_clone().unwrap().into());
    two.env("LISTEN_FDS", "2");
    let said = Manager::refused(two);
    assert!(said.contains("exactly one socket"), "{said}");
}

#[test]
fn a_socket_of_another_process_is_passed_over() {
    let manager = Manager::new();
    let mut command = manager.daemon(manager.listener.try_clone().unwrap().into());
    // As in a child of the process that it was meant for.
    command.env("PID", "1");
    drop(manager.listener);
    let mut daemon = command.stdin(Stdio::null()).spawn().unwrap();
    let told = BufReader::new(daemon.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(told.into_iter().any(|line| line.contains("ready")));
    let config = manager.folder.arg("weaver.toml");
    let status = weaver(&["status", "--config", &config, "--json"]).json();
    assert_eq!(status["pid"], daemon.id(), "{status}");
    assert_eq!(weaver(&["stop", "--config", &config]).code, 0);
    assert!(daemon.wait().unwrap().success());
}
