//! The records of runs against the log, for `weaver trace verify`.

use std::path::Path;

use serde_json::json;
use weaver_agent_kernel::{BadRun, KernelError, RunComparison, compare_runs};
use weaver_trace_store::Reader;
use weaver_types::Tenant;
use weaver_types::ledger::{LedgerError, MAX_PAGE, Namespace, Record};

use super::observed_decisions::ObservedDecisions;
use crate::output::OutputFormat;
use crate::{Exit, Failure, output};

/// The stable code of a record that is not what the log tells.
const CODE: &str = "verify.run";

/// Compares the runs with the log, and counts what a policy observed.
pub(super) fn compare(
    reader: &Reader,
    observed: &mut ObservedDecisions,
) -> Result<RunComparison, KernelError> {
    let mut pages = Pages { reader, tenants: reader.tenants()?.into_iter(), at: None };
    let mut events = |from, limit| {
        let events = reader.events(from, limit)?;
        events.iter().for_each(|event| observed.take(event));
        Ok(events)
    };
    compare_runs(&mut events, &mut || pages.next())
}

/// The records of the runs of all tenants, page by page.
struct Pages<'r, I> {
    reader: &'r Reader,
    tenants: I,
    /// The tenant, and the last id that was read of it.
    at: Option<(Tenant, Option<String>)>,
}

impl<I: Iterator<Item = Tenant>> Pages<'_, I> {
    fn next(&mut self) -> Result<Vec<(String, Record)>, LedgerError> {
        loop {
            if self.at.is_none() {
                self.at = self.tenants.next().map(|tenant| (tenant, None));
            }
            let Some((tenant, after)) = &mut self.at else { return Ok(Vec::new()) };
            let page = self.reader.records(tenant, Namespace::Run, after.as_deref(), MAX_PAGE)?;
            match page.last() {
                Some((last, _)) => {
                    *after = Some(last.clone());
                    return Ok(page);
                }
                None => self.at = None,
            }
        }
    }
}

pub(super) fn proven(runs: &RunComparison) -> Option<String> {
    (runs.proven > 0)
        .then(|| format!("the stored states of {} runs are what their events come to", runs.proven))
}

pub(super) fn not_proven(runs: &RunComparison) -> Option<String> {
    (runs.pruned > 0).then(|| {
        format!("the stored states of {} runs: payloads of their events were pruned", runs.pruned)
    })
}

/// A record that is not what the log tells: data for a script, an error for a person.
pub(super) fn refused(bad: &BadRun, format: OutputFormat) -> Result<Exit, Failure> {
    if format == OutputFormat::Json {
        output::json(&json!({
            "ok": false,
            "code": CODE,
            "first_bad_event": null,
            "message": bad.to_string(),
        }))?;
        return Ok(Exit::Failed);
    }
    Err(Failure::new(Exit::Failed, CODE, bad).next(
        "the log itself is whole; calls of this run are denied, so begin another one, and find out \
         who wrote the file",
    ))
}

pub(super) fn unread(store: &Path, error: KernelError) -> Failure {
    match error {
        KernelError::Ledger(error) => Failure::store(store, &error),
        other => Failure::new(Exit::Store, other.code(), other),
    }
}
