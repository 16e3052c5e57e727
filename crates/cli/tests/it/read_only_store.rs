//! A copy of the store as an auditor has it: where nothing can be written.

use std::fs;
use std::process::Command;

use serde_json::json;
use weaver_trace_store::{OpenOptions, SqliteLedger};
use weaver_types::ledger::{Batch, Durability, Ledger as _, NewEvent};
use weaver_types::{EventKind, Timestamp};

use crate::support::Folder;

/// Runs a command where this folder is mounted read-only; `None` where that is not possible.
fn run_read_only(folder: &str, args: &[&str]) -> Option<(i32, String)> {
    let unshare = ["--user", "--map-root-user", "--mount", "sh", "-c"];
    let script = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" || exit 99; \
                  touch \"$0/x\" 2>/dev/null && exit 99; exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(unshare).args([script, folder, env!("CARGO_BIN_EXE_weaver")]).args(args);
    let ran = command.output();
    match ran {
        Ok(ran)
            if ran.status.code().is_some_and(|code| code != 99 && code != 1) || {
                // The command itself may end with 1; the mount is tried alone then.
                let mut alone = Command::new("unshare");
                alone.args(unshare).args([script, folder, "true"]);
                alone.status().is_ok_and(|status| status.success())
            } =>
        {
            let text = [ran.stdout, ran.stderr].concat();
            Some((ran.status.code()?, String::from_utf8_lossy(&text).into_owned()))
        }
        other => {
            eprintln!("not tested: no mounts here: {other:?}");
            None
        }
    }
}

fn append(ledger: &SqliteLedger, number: u64) {
    let event = NewEvent {
        kind: EventKind::ClockConfirmed,
        at: Timestamp::from_micros(1_800_000_000_000_000),
        run: None,
        call: None,
        payload: json!({ "by": format!("anna {number}") }).to_string().into_bytes().into(),
    };
    ledger.commit(Batch::new(Durability::Os).with_event(event)).wait().unwrap();
}

#[test]
fn the_log_is_verified_and_read_where_nothing_can_be_written() {
    let folder = Folder::new();
    // SQLite reads these characters in the address of a file.
    let (closed, open) = (folder.path("closed ?#%"), folder.path("open"));
    let store = folder.path("ledger.db");
    let ledger = SqliteLedger::open(&store, OpenOptions::default()).unwrap();
    (0..10).for_each(|number| append(&ledger, number));
    for copy in [&closed, &open] {
        fs::create_dir_all(copy).unwrap();
    }
    for name in ["ledger.db", "ledger.db-wal"] {
        fs::copy(folder.path(name), open.join(name)).unwrap();
    }
    assert!(fs::metadata(open.join("ledger.db-wal")).unwrap().len() > 0);
    drop(ledger);
    fs::copy(&store, closed.join("ledger.db")).unwrap();
    for copy in [closed, open] {
        let (copy, file) = (copy.to_str().unwrap(), copy.join("ledger.db"));
        let file = file.to_str().unwrap();
        for (args, words) in [
            (["trace", "verify", "--store", file], "events  10"),
            (["trace", "list", "--store", file], "clock.confirmed"),
            (["trace", "stats", "--store", file], "10"),
            (["approve", "list", "--store", file], ""),
        ] {
            let Some((code, said)) = run_read_only(copy, &args) else { return };
            assert_eq!(code, 0, "{args:?} {said}");
            assert!(said.contains(words), "{args:?} {said}");
            assert!(!said.contains("damaged"), "{args:?} {said}");
        }
        assert!(!fs::exists(format!("{file}-shm")).unwrap());
    }
}
