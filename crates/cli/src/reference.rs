//! Generates pages of `docs/reference/` from the code, and tests that they are current.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use weaver_types::{EventKind, ReasonCode};

use super::Exit;

/// `docs/reference/exit-codes.md`.
fn exit_codes() -> String {
    let mut out = String::from(
        "# Exit codes\n\nThe numbers with which the `weaver` command ends. They are stable: a \
         number never changes its meaning.\n\n| code | meaning |\n|---:|---|\n",
    );
    for exit in Exit::ALL {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "| {} | {} |", exit.code(), exit.meaning());
    }
    out
}

/// `docs/reference/reason-codes.md`.
fn reason_codes() -> String {
    let mut out = String::from(
        "# Reason codes\n\nWhy a decision came out as it did. The codes are stable: they appear in \
         results, in the log and in `weaver reasons`, and are never renamed.\n\n\
         | code | meaning |\n|---|---|\n",
    );
    for reason in ReasonCode::ALL {
        let _ = writeln!(out, "| `{}` | {} |", reason.as_str(), reason.meaning());
    }
    out
}

/// `docs/reference/events.md`.
fn events() -> String {
    let mut out = String::from(
        "# Events\n\nWhat the log records. The names are stable: they are the `type` of an event in \
         `--json` and in exports, and the values of `event:` in a search: \
         `weaver trace list event:call.refused,approval.*`. The `kinds` of `[[log.retention]]` and \
         `--kind` of `weaver trace prune` take them too.\n\n| event | meaning |\n|---|---|\n",
    );
    for kind in EventKind::ALL {
        let _ = writeln!(out, "| `{}` | {} |", kind.as_str(), kind.meaning());
    }
    out
}

fn assert_current(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("WEAVER_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == text,
        "docs/reference/{name} is out of date; run \
         `WEAVER_BLESS=1 cargo test -p weaver-cli reference`"
    );
}

#[test]
fn exit_codes_are_documented() {
    assert_current("exit-codes.md", &exit_codes());
}

#[test]
fn reason_codes_are_documented() {
    assert_current("reason-codes.md", &reason_codes());
}

#[test]
fn events_are_documented() {
    assert_current("events.md", &events());
}
