//! `weaver trace verify`.

use std::path::Path;

use serde_json::json;
use weaver_agent_kernel::RunComparison;
use weaver_gateway::bounded_file;
use weaver_trace_store::index::Index;
use weaver_trace_store::verify::{TrustAnchor, VerificationReport, VerifyError, verify_against};
use weaver_types::ledger::TreeHead;

use super::head::PrintedHead;
use super::observed_decisions::ObservedDecisions;
use super::progress::Progress;
use super::proof_args::Verify;
use super::runs;
use super::trust_files;
use crate::output::OutputFormat;
use crate::{Exit, Failure, output};

/// The largest file with a head, in bytes.
const MAX_HEAD_BYTES: usize = 16 * 1024;

/// The index is made from the log, and searched instead of it.
const INDEX_NOT_PROVEN: &str = "the index, which `weaver trace list` and `stats` search: `weaver trace index --check` \
     compares it with the log";

pub(super) fn run(args: &Verify) -> Result<Exit, Failure> {
    let earlier = args.head.as_deref().map(read_head).transpose()?;
    let signed = args.checkpoint.as_deref().map(trust_files::read_checkpoint).transpose()?;
    let trust = match &signed {
        Some((_, checkpoint)) => trust_files::trust_policy(&args.believed, &checkpoint.origin)?,
        None if args.believed.key.is_some() => {
            let message = "a key verifies nothing without a checkpoint";
            return Err(Failure::new(Exit::Usage, "trace.no_checkpoint", message)
                .with_next_step("give the checkpoint that it signed with --checkpoint"));
        }
        None => None,
    };
    let anchor = match (&earlier, &signed, &trust) {
        (_, Some((note, _)), Some(trust)) => TrustAnchor::Checkpoint(note, trust),
        (Some(head), ..) => TrustAnchor::Head(head),
        _ => TrustAnchor::Nothing,
    };
    let reader = super::open_ledger(&args.ledger.store)?;
    let mut progress = Progress::new("verified");
    let verified = verify_against(&reader, anchor, &mut |done, all| progress.at(done, all));
    progress.end();
    match verified {
        Ok(report) => {
            let mut observed = ObservedDecisions::default();
            let runs = runs::compare(&reader, &mut observed)
                .map_err(|error| runs::comparison_failure(&args.ledger.store, error))?;
            if let Some(bad) = &runs.first_bad {
                return runs::report_bad_run(bad, args.output.format());
            }
            let has_index = Index::find(&args.ledger.store, &reader).is_some();
            let index = has_index.then(|| INDEX_NOT_PROVEN.to_owned());
            let not_proven =
                report.not_proven().into_iter().chain(runs::not_proven_sentence(&runs));
            let not_proven: Vec<String> = not_proven.chain(index).collect();
            if args.output.json {
                print_json(&report, &runs, &observed, &not_proven)?
            } else {
                print(&report, &runs, &observed, &not_proven)?
            }
            Ok(Exit::Ok)
        }
        Err(VerifyError::Read(error)) => Err(Failure::store(&args.ledger.store, &error)),
        Err(error) => report_invalid_log(&error, args.output.format()),
    }
}

fn read_head(path: &Path) -> Result<TreeHead, Failure> {
    let unreadable = |code, message: String| {
        Failure::new(Exit::Invalid, code, format!("{}: {message}", path.display()))
            .with_next_step("give a file that `weaver trace head` printed")
    };
    let bytes = bounded_file::read_bytes(path, MAX_HEAD_BYTES)
        .map_err(|error| unreadable("trace.head_unreadable", error.to_string()))?;
    serde_json::from_slice::<PrintedHead>(&bytes)
        .map(TreeHead::from)
        .map_err(|error| unreadable("trace.head_malformed", format!("this is not a head: {error}")))
}

fn print(
    report: &VerificationReport,
    runs: &RunComparison,
    observed: &ObservedDecisions,
    not_proven: &[String],
) -> Result<(), Failure> {
    let VerificationReport { head, synced, pruned, last_at, .. } = report;
    let mut text =
        format!("log     {}\nevents  {}, {synced} synced to disk\n", head.log, head.size);
    if *pruned > 0 {
        text.push_str(&format!("pruned  {pruned}\n"));
    }
    text.push_str(&format!("root    {}\n", head.root));
    if let Some(at) = last_at {
        text.push_str(&format!("last    {at}\n"));
    }
    for sentence in report.proven().into_iter().chain(runs::proven_sentence(runs)) {
        text.push_str(&format!("{}: {sentence}\n", output::good("proven")));
    }
    for sentence in not_proven {
        text.push_str(&format!("{}: {sentence}\n", output::bold("not proven")));
    }
    if let Some(sentence) = observed.sentence() {
        text.push_str(&format!("{}: {sentence}\n", output::bold("not enforced")));
    }
    Ok(output::text(&text)?)
}

fn print_json(
    report: &VerificationReport,
    runs: &RunComparison,
    observed: &ObservedDecisions,
    not_proven: &[String],
) -> Result<(), Failure> {
    let proven: Vec<String> =
        report.proven().into_iter().chain(runs::proven_sentence(runs)).collect();
    Ok(output::json(&json!({
        "ok": true,
        "head": report.head,
        "synced": report.synced,
        "pruned": report.pruned,
        "last_at": report.last_at.map(|at| at.rfc3339()),
        "earlier": report.earlier,
        "checkpoint": report.checkpoint.as_ref().map(|verified| json!({
            "key": verified.key.to_string(),
            "witnesses": trust_files::witnesses(verified),
        })),
        "observed": observed.json(),
        "runs": { "proven": runs.proven, "pruned": runs.pruned },
        "proven": proven,
        "not_proven": not_proven,
    }))?)
}

/// Reports a log that does not verify: as data for a script, as an error for a person.
fn report_invalid_log(error: &VerifyError, format: OutputFormat) -> Result<Exit, Failure> {
    if format == OutputFormat::Json {
        output::json(&json!({
            "ok": false,
            "code": error.code(),
            "first_bad_event": error.seq(),
            "message": error.to_string(),
        }))?;
        return Ok(Exit::Failed);
    }
    Err(Failure::new(Exit::Failed, error.code(), error).with_next_step(format!(
        "{}; compare with a copy, and do not write to this ledger",
        first_bad_event_text(error)
    )))
}

/// Where the log becomes invalid, if that is known.
fn first_bad_event_text(error: &VerifyError) -> String {
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
        assert!(
            first_bad_event_text(&cut)
                .starts_with("the first bad event is 7, the first that is missing")
        );
        assert_eq!(first_bad_event_text(&VerifyError::Frontier), "no single event can be named");
        let failure = report_invalid_log(&cut, OutputFormat::Text).unwrap_err();
        assert!(failure.message.contains("the first that is missing is event 7"), "{failure:?}");
        assert!(failure.next.is_some_and(|next| next.contains("first bad event is 7")));
    }
}
