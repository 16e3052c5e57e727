//! Compares the stored records of runs with the log, for `weaver trace verify`.

use std::path::Path;

use serde_json::json;
use weaver_agent_kernel::{KernelError, RunComparison, RunMismatch, compare_runs};
use weaver_trace_store::Reader;
use weaver_types::Tenant;
use weaver_types::ledger::{LedgerError, MAX_PAGE, Namespace, Record};

use super::observed_decisions::ObservedDecisions;
use crate::output::OutputFormat;
use crate::{Exit, Failure, output};

/// The code of a record that contradicts the log.
const BAD_RUN_CODE: &str = "verify.run";

/// Compares the runs with the log, and counts the decisions that were only observed.
pub(super) fn compare(
    reader: &Reader,
    observed: &mut ObservedDecisions,
) -> Result<RunComparison, KernelError> {
    let mut pages = RunRecordPages { reader, tenants: reader.tenants()?.into_iter(), at: None };
    let mut events = |from, limit| {
        let events = reader.events(from, limit)?;
        events.iter().for_each(|event| observed.count(event));
        Ok(events)
    };
    compare_runs(&mut events, &mut || pages.next())
}

/// Reads the records of the runs of all tenants, page by page.
struct RunRecordPages<'r, I> {
    reader: &'r Reader,
    tenants: I,
    /// The current tenant, and the last id that was read.
    at: Option<(Tenant, Option<String>)>,
}

impl<I: Iterator<Item = Tenant>> RunRecordPages<'_, I> {
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

pub(super) fn proven_sentence(runs: &RunComparison) -> Option<String> {
    (runs.proven > 0)
        .then(|| format!("the stored states of {} runs are what their events come to", runs.proven))
}

pub(super) fn not_proven_sentence(runs: &RunComparison) -> Option<String> {
    (runs.pruned > 0).then(|| {
        format!("the stored states of {} runs: payloads of their events were pruned", runs.pruned)
    })
}

/// Reports a record that contradicts the log: as data for a script, as an error for a person.
pub(super) fn report_bad_run(bad: &RunMismatch, format: OutputFormat) -> Result<Exit, Failure> {
    if format == OutputFormat::Json {
        output::json(&json!({
            "ok": false,
            "code": BAD_RUN_CODE,
            "first_bad_event": null,
            "message": bad.to_string(),
        }))?;
        return Ok(Exit::Failed);
    }
    Err(Failure::new(Exit::Failed, BAD_RUN_CODE, bad).with_next_step(
        "the log itself is whole; calls of this run are denied, so begin another one, and find out \
         who wrote the file",
    ))
}

pub(super) fn comparison_failure(store: &Path, error: KernelError) -> Failure {
    match error {
        KernelError::Ledger(error) => Failure::store(store, &error),
        other => Failure::new(Exit::Store, other.code(), other),
    }
}
