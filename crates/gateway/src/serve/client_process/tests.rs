use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

const BOOT: &str = "0b8f3c1e-5a5d-4c8f-9a3e-2f6d1c7b9e01";

/// A `/proc` of made-up processes.
struct Proc(TempDir);

impl Proc {
    fn new() -> Self {
        let proc = Self(TempDir::new().unwrap());
        proc.put("sys/kernel/random/boot_id", &format!("{BOOT}\n"));
        proc.process(100, 90, &["weaver", "serve"]);
        fs::create_dir_all(proc.0.path().join("100/ns")).unwrap();
        symlink("pid:[4026531836]", proc.0.path().join("100/ns/pid")).unwrap();
        symlink("100", proc.0.path().join("self")).unwrap();
        proc
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A process that started at ten times its number.
    fn process(&self, pid: u32, parent: u32, words: &[&str]) {
        self.stat(pid, parent, 'S', u64::from(pid) * 10);
        self.put(
            &format!("{pid}/cmdline"),
            &words.iter().map(|w| format!("{w}\0")).collect::<String>(),
        );
    }

    fn stat(&self, pid: u32, parent: u32, state: char, started: u64) {
        let between = "0 ".repeat(17);
        let stat = format!("{pid} (a) b (c)) {state} {parent} {between}{started} 0 0\n");
        self.put(&format!("{pid}/stat"), &stat);
    }

    fn table(&self) -> ProcessTable {
        ProcessTable { root: self.0.path().to_path_buf() }
    }

    /// The number of the client.
    fn client_of(&self) -> Option<u32> {
        self.table().client_of("self").map(|client| client.pid)
    }
}

#[test]
fn the_client_is_whoever_started_the_gateway() {
    let proc = Proc::new();
    assert_eq!(proc.client_of(), None, "its parent is dead");
    proc.process(90, 1, &["/opt/Some Client/client", "--flag"]);
    let client = proc.table().client_of("self").unwrap();
    assert_eq!(
        ClientKey::Process(client.clone()).id(),
        format!("process/{BOOT}/4026531836/90/900")
    );
    assert!(!proc.table().has_exited(&client));
}

#[test]
fn wrappers_are_walked_over_and_nothing_else_is() {
    let proc = Proc::new();
    proc.process(80, 1, &["client"]);
    for words in [
        &["sh", "-c", "npx -y weaver; true"][..],
        &["/bin/bash", "--norc", "-ec", "weaver serve"],
        &["npx", "-y", "weaver"],
        &["npm exec weaver serve"],
        &["node", "--no-warnings", "/usr/bin/npx", "weaver"],
        &["/usr/bin/node", "/usr/lib/node_modules/npm/bin/npm-cli.js", "exec", "weaver"],
        &["uvx", "weaver"],
        &["/home/u/.local/bin/uv", "tool", "uvx", "weaver"],
        &["env", "A=1", "weaver"],
    ] {
        proc.process(90, 80, words);
        assert_eq!(proc.client_of(), Some(80), "{words:?}");
    }
    for words in [
        &["sh", "client.sh", "-c"][..],
        &["bash"],
        &["npm", "start"],
        &["node", "server.js", "npx"],
        &["uv", "run", "client.py"],
        &["/opt/sh -c/client", "x"],
        &[],
    ] {
        proc.process(90, 80, words);
        assert_eq!(proc.client_of(), Some(90), "{words:?}");
    }
}

#[test]
fn a_chain_of_wrappers_is_followed_up_to_a_length() {
    let proc = Proc::new();
    let wrap = |count: u32| {
        for n in 0..count {
            proc.process(90 - n, 89 - n, &["sh", "-c", "x"]);
        }
        proc.process(90 - count, 1, &["client"]);
        proc.client_of()
    };
    assert_eq!(wrap(8), Some(82));
    assert_eq!(wrap(9), None);
}

#[test]
fn what_cannot_be_told_is_nobody() {
    for parent in [0, 1] {
        let proc = Proc::new();
        proc.process(1, 0, &["init"]);
        proc.process(100, parent, &["weaver"]);
        assert_eq!(proc.client_of(), None, "left to {parent}");
    }
    let proc = Proc::new();
    proc.process(90, 1, &["/usr/lib/systemd/systemd", "--user"]);
    assert_eq!(proc.client_of(), None, "left to the user's service manager");
    proc.process(90, 80, &["sh", "-c", "x"]);
    assert_eq!(proc.client_of(), None, "whoever started the shell is dead");
    proc.process(90, 1, &["client"]);
    assert_eq!(proc.client_of(), Some(90));
    proc.stat(90, 1, 'S', 1_001);
    assert_eq!(proc.client_of(), None, "a parent is no younger than its child");
    proc.stat(90, 1, 'Z', 900);
    assert_eq!(proc.client_of(), None);
    for stat in ["", "90", "90 (x", "90 (x) S", "x (x) S 1 2", "90 (x) S 1 2 3 4"] {
        proc.put("90/stat", stat);
        assert_eq!(proc.client_of(), None, "{stat:?}");
    }
    assert!(ProcessTable { root: PathBuf::from("/nowhere") }.client_of("self").is_none());
    let key = ClientKey::Gateway("gw_1".to_owned());
    assert_eq!(
        (key.id(), key.display_text()),
        ("gateway/gw_1".into(), "a client that is not known".into())
    );
}

#[test]
fn a_client_is_gone_when_its_process_ended_or_the_machine_started_anew() {
    let proc = Proc::new();
    proc.process(90, 1, &["client"]);
    let client = proc.table().client_of("self").unwrap();
    let gone = |client: &ClientProcess| proc.table().has_exited(client);
    assert!(!gone(&client));
    assert!(gone(&ClientProcess { boot: "another".to_owned(), ..client.clone() }));
    assert!(gone(&ClientProcess { started: 901, ..client.clone() }), "its number was given again");
    assert!(gone(&ClientProcess { pid: 91, ..client.clone() }));
    let elsewhere = ClientProcess { namespace: 1, pid: 91, ..client.clone() };
    assert!(!gone(&elsewhere), "numbers of another namespace say nothing here");
    proc.put("90/stat", "unreadable");
    assert!(!gone(&client), "what cannot be read is not known to be gone");
    proc.stat(90, 1, 'Z', 900);
    assert!(gone(&client));
    assert!(!ProcessTable { root: PathBuf::from("/nowhere") }.has_exited(&client));
}

#[cfg(target_os = "linux")]
#[test]
fn this_process_has_a_client() {
    let found = ProcessTable::default().client_of("self");
    if let Some(client) = found {
        assert!(!ProcessTable::default().has_exited(&client), "{client:?}");
    }
    let own = ProcessTable::default().process("self").unwrap().unwrap();
    assert_eq!(own.pid, std::process::id());
}
