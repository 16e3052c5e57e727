//! `weaver trace verify`.

use std::path::Path;

use serde_json::json;
use weaver_trace_store::verify::{Report, VerifyError, verify_with};
use weaver_types::ledger::Head;

use super::progress::Progress;
use crate::cli::{Exit, Failure, output};
use crate::config::file;

/// The largest file of a head, in bytes.
const MAX_HEAD: usize = 16 * 1024;

pub(super) fn run(store: &Path, head: Option<&Path>, as_json: bool) -> Result<Exit, Failure> {
    let earlier = head.map(read_head).transpose()?;
    let reader = super::open(store)?;
    let mut progress = Progress::new("verified");
    let verified = verify_with(&reader, earlier.as_ref(), &mut |done, all| progress.at(done, all));
    progress.end();
    match verified {
        Ok(report) => {
            if as_json {
                print_json(&report)?
            } else {
                print(&report)?
            }
            Ok(Exit::Ok)
        }
        Err(VerifyError::Read(error)) => Err(Failure::store(store, &error)),
        Err(error) => refused(&error, as_json),
    }
}

fn read_head(path: &Path) -> Result<Head, Failure> {
    let unreadable = |code, message: String| {
        Failure::new(Exit::Invalid, code, format!("{}: {message}", path.display()))
            .next("give a file that `weaver trace head` printed")
    };
    let bytes = file::bytes(path, MAX_HEAD)
        .map_err(|error| unreadable("trace.head_unreadable", error.to_string()))?;
    serde_json::from_slice(&bytes)
        .map_err(|error| unreadable("trace.head_malformed", format!("this is no head: {error}")))
}

fn print(report: &Report) -> Result<(), Failure> {
    let Report { head, synced, last_at, .. } = report;
    let mut text =
        format!("log     {}\nevents  {}, {synced} synced to disk\n", head.log, head.size);
    text.push_str(&format!("root    {}\n", head.root));
    if let Some(at) = last_at {
        text.push_str(&format!("last    {at}\n"));
    }
    for sentence in report.proven() {
        text.push_str(&format!("{}: {sentence}\n", output::verdict(true, "proven")));
    }
    for sentence in report.not_proven() {
        text.push_str(&format!("{}: {sentence}\n", output::bold("not proven")));
    }
    Ok(output::text(&text)?)
}

fn print_json(report: &Report) -> Result<(), Failure> {
    Ok(output::json(&json!({
        "ok": true,
        "head": report.head,
        "synced": report.synced,
        "last_at": report.last_at.map(|at| at.rfc3339()),
        "earlier": report.earlier,
        "proven": report.proven(),
        "not_proven": report.not_proven(),
    }))?)
}

/// A log that does not verify: data for a script, an error for a person.
fn refused(error: &VerifyError, as_json: bool) -> Result<Exit, Failure> {
    if as_json {
        output::json(&json!({
            "ok": false,
            "code": error.code(),
            "first_bad_event": error.seq(),
            "message": error.to_string(),
        }))?;
        return Ok(Exit::Failed);
    }
    Err(Failure::new(Exit::Failed, error.code(), error)
        .next(format!("{}; compare with a copy, and do not write to this ledger", place(error))))
}

/// Where the log is bad, as far as it can be said.
fn place(error: &VerifyError) -> String {
    match (error, error.seq()) {
        (VerifyError::Truncated { .. }, Some(seq)) => format!(
            "the first bad event is {seq}, the first that is missing; what stands before it agrees \
             with itself"
        ),
        (_, Some(seq)) => {
            format!("the first bad event is {seq}; what stands before it agrees with itself")
        }
        (_, None) => "no single event can be named".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_log_names_the_first_missing_event() {
        let cut = VerifyError::Truncated { earlier: 9, stored: 7 };
        assert!(place(&cut).starts_with("the first bad event is 7, the first that is missing"));
        assert_eq!(place(&VerifyError::Frontier), "no single event can be named");
        let failure = refused(&cut, false).unwrap_err();
        assert!(failure.message.contains("the first that is missing is event 7"), "{failure:?}");
        assert!(failure.next.is_some_and(|next| next.contains("first bad event is 7")));
    }
}
