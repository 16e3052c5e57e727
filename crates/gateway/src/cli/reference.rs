//! Pages of `docs/reference/` that are made from the code.

use std::fmt::Write as _;

use weaver_types::ReasonCode;

use super::Exit;

/// `docs/reference/exit-codes.md`.
#[must_use]
pub fn exit_codes() -> String {
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
#[must_use]
pub fn reason_codes() -> String {
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
