//! Reads the approval requests of a ledger. One unreadable record does not hide the others.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use weaver_agent_kernel::{EndedApproval, KernelError, OpenApproval, StoredApproval};
use weaver_gateway::serve::{ClientKey, CurrentRun, ProcessTable};
use weaver_policy::approval::{Phase, Rejection};
use weaver_text::escape;
use weaver_types::ledger::Namespace;
use weaver_types::{ApprovalRequestId, RunId, Timestamp};

use super::approval_store::ApprovalStore;
use super::rejections::{not_found_failure, rejection_failure};
use crate::{Exit, Failure};

/// The record of one request.
pub(super) enum ApprovalRecord {
    /// The request waits for answers, was granted and waits for its call, or is past its deadline.
    Open(Box<OpenApproval>),
    /// What is kept of a request that ended.
    Ended(Box<EndedApproval>),
    /// A record that this build cannot read.
    Unreadable { id: String, problem: String },
}

impl ApprovalRecord {
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Open(open) => open.request.id.as_str(),
            Self::Ended(ended) => ended.id.as_str(),
            Self::Unreadable { id, .. } => id,
        }
    }

    /// The status in one word. Checks the deadline too, because only a running gateway ends a
    /// request.
    pub(super) fn status(&self, now: Timestamp) -> &'static str {
        match self {
            Self::Open(open) if now >= open.request.deadline => "expired",
            Self::Open(open) => phase_name(open.state.phase()),
            Self::Ended(ended) => phase_name(&ended.phase),
            Self::Unreadable { .. } => "unreadable",
        }
    }

    /// Whether the request may still be answered. An unreadable record counts, so that it is seen.
    pub(super) fn is_pending(&self, now: Timestamp) -> bool {
        match self {
            Self::Open(open) => now < open.request.deadline,
            Self::Ended(_) => false,
            Self::Unreadable { .. } => true,
        }
    }

    /// Whether it is of one of these runs.
    pub(super) fn is_of_any(&self, runs: &BTreeSet<RunId>) -> bool {
        match self {
            Self::Open(open) => runs.contains(&open.request.run),
            Self::Ended(_) | Self::Unreadable { .. } => false,
        }
    }

    /// When the request expires.
    pub(super) fn deadline(&self) -> Option<Timestamp> {
        match self {
            Self::Open(open) => Some(open.request.deadline),
            Self::Ended(_) | Self::Unreadable { .. } => None,
        }
    }

    fn sort_key(&self) -> (Timestamp, &str) {
        match self {
            Self::Open(open) => (open.request.opened_at, self.id()),
            Self::Ended(ended) => (ended.ended_at, self.id()),
            Self::Unreadable { .. } => (Timestamp::default(), self.id()),
        }
    }
}

/// The name of a phase, as in JSON.
pub(super) fn phase_name(phase: &Phase) -> &'static str {
    match phase {
        Phase::Requested => "requested",
        Phase::Granted => "granted",
        Phase::Consumed => "consumed",
        Phase::Denied { .. } => "denied",
        Phase::Expired => "expired",
        Phase::Revoked { .. } => "revoked",
        Phase::Superseded { .. } => "superseded",
    }
}

/// Who ended the request, and why, if a person or another request did.
pub(super) fn ended_by_and_reason(phase: &Phase) -> (Option<&str>, Option<&str>) {
    match phase {
        Phase::Denied { by, reason } => (Some(by), Some(reason)),
        Phase::Revoked { by } => (Some(by), None),
        Phase::Superseded { by } => (by.as_ref().map(ApprovalRequestId::as_str), None),
        Phase::Requested | Phase::Granted | Phase::Consumed | Phase::Expired => (None, None),
    }
}

/// The requests that `selects` accepts, oldest first.
pub(super) fn find_all(
    store: &ApprovalStore,
    selects: impl Fn(&ApprovalRecord) -> bool,
) -> Result<Vec<ApprovalRecord>, Failure> {
    let mut all = Vec::new();
    store.for_each_record(Namespace::Hold, |id, record| {
        let found = parse_record(id, StoredApproval::read(id, record));
        if selects(&found) {
            all.push(found);
        }
    })?;
    all.sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));
    Ok(all)
}

/// The runs whose client process has ended, so that nobody makes their calls again. The gateway ends
/// them only after a while.
pub(super) fn gone_runs(store: &ApprovalStore) -> Result<BTreeSet<RunId>, Failure> {
    let (mut runs, processes) = (BTreeSet::new(), ProcessTable::default());
    store.for_each_record(Namespace::CurrentRun, |_, record| {
        let Ok(current) = CurrentRun::from_bytes(&record.value) else { return };
        if let ClientKey::Process(process) = &current.client
            && processes.has_exited(process)
        {
            runs.insert(current.run);
        }
    })?;
    Ok(runs)
}

fn parse_record(id: &str, found: Result<StoredApproval, KernelError>) -> ApprovalRecord {
    match found {
        Ok(StoredApproval::Open(open)) => ApprovalRecord::Open(open),
        Ok(StoredApproval::Ended(ended)) => ApprovalRecord::Ended(ended),
        Err(error) => ApprovalRecord::Unreadable { id: id.to_owned(), problem: error.to_string() },
    }
}

/// The shortest beginning of an id that names a request: `apr_` and a digit.
const MIN_PREFIX_BYTES: usize = 5;

/// The request with this id, or the only one whose id begins so.
pub(super) fn find(store: &ApprovalStore, id: &str) -> Result<ApprovalRecord, Failure> {
    let mut found = Vec::new();
    store.for_each_record(Namespace::Hold, |own, record| {
        if own == id || (id.len() >= MIN_PREFIX_BYTES && own.starts_with(id)) {
            found.push(parse_record(own, StoredApproval::read(own, record)));
        }
    })?;
    let exact = found.iter().position(|record| record.id() == id);
    match (exact, found.len()) {
        (Some(index), _) => Ok(found.swap_remove(index)),
        (None, 0 | 1) => found.pop().ok_or_else(|| not_found_failure("request", id)),
        (None, many) => {
            let message = format!("{many} requests begin with `{}`", escape::line(id));
            Err(Failure::new(Exit::NotFound, "approve.ambiguous", message)
                .with_next_step("write more of the id; `weaver approve list --all` shows it"))
        }
    }
}

/// The request with this id, if it is readable and may still be answered.
pub(super) fn find_open(
    store: &ApprovalStore,
    id: &str,
    now: Timestamp,
) -> Result<Box<OpenApproval>, Failure> {
    match find(store, id)? {
        ApprovalRecord::Open(open) if open.request.log != store.log_id()? => {
            Err(rejection_failure(&Rejection::WrongLog))
        }
        ApprovalRecord::Open(open) if now >= open.request.deadline => {
            Err(rejection_failure(&Rejection::TooLate))
        }
        ApprovalRecord::Open(open) => Ok(open),
        ApprovalRecord::Ended(_) => Err(rejection_failure(&Rejection::AlreadyResolved)),
        ApprovalRecord::Unreadable { problem, .. } => {
            Err(Failure::new(Exit::Invalid, "approve.unreadable", problem).with_next_step(
                "`weaver trace verify` says whether the ledger is what it should be",
            ))
        }
    }
}

/// How many successors are followed. Each time that documents are signed, a request may get one.
const MAX_SUCCESSORS: usize = 64;

/// The open request that an ended one was superseded by, if it is about a call of the same tool in the same run.
fn find_successor(store: &ApprovalStore, ended: &EndedApproval) -> Option<Box<OpenApproval>> {
    let mut phase = ended.phase.clone();
    for _ in 0..MAX_SUCCESSORS {
        let Phase::Superseded { by: Some(next) } = phase else { return None };
        match find(store, next.as_str()).ok()? {
            ApprovalRecord::Open(open) => {
                let request = &open.request;
                let is_same = request.capability == ended.capability
                    && request.principal == ended.principal
                    && request.run == ended.run;
                return is_same.then_some(open);
            }
            ApprovalRecord::Ended(next) => phase = next.phase.clone(),
            ApprovalRecord::Unreadable { .. } => return None,
        }
    }
    None
}

/// The request to answer under this id: the open one, or the open successor of a superseded one.
pub(super) fn find_answerable(
    store: &ApprovalStore,
    id: &str,
    now: Timestamp,
) -> Result<Box<OpenApproval>, Failure> {
    let successor = match find(store, id)? {
        ApprovalRecord::Ended(ended) => find_successor(store, &ended),
        ApprovalRecord::Open(_) | ApprovalRecord::Unreadable { .. } => None,
    };
    match successor {
        Some(successor) => find_open(store, successor.request.id.as_str(), now),
        None => find_open(store, id, now),
    }
}

/// A request as JSON, for `list` and `watch`.
pub(super) fn summary(record: &ApprovalRecord, now: Timestamp) -> Value {
    let status = record.status(now);
    match record {
        ApprovalRecord::Open(open) => {
            let request = &open.request;
            json!({
                "id": request.id,
                "status": status,
                "capability": request.capability,
                "arguments": request.arguments,
                "folder": request.folder,
                "principal": request.principal,
                "agent": request.agent,
                "run": request.run,
                "digest": request.digest().ok(),
                "detail": request.detail,
                "holds": request.holds,
                "authority": request.authority,
                "agreed": open.state.votes().keys().collect::<Vec<_>>(),
                "needed": open.required_approvers(),
                "opened_at": request.opened_at.rfc3339(),
                "deadline": request.deadline.rfc3339(),
                "age_s": now.since(request.opened_at).as_secs(),
                "left_s": open.time_left(now).as_secs(),
            })
        }
        ApprovalRecord::Ended(ended) => {
            let (by, reason) = ended_by_and_reason(&ended.phase);
            json!({
                "id": ended.id,
                "status": status,
                "capability": ended.capability,
                "principal": ended.principal,
                "run": ended.run,
                "digest": ended.digest,
                "by": by,
                "reason": reason,
                "deadline": ended.deadline.rfc3339(),
                "ended_at": ended.ended_at.rfc3339(),
            })
        }
        ApprovalRecord::Unreadable { id, problem } => {
            json!({ "id": id, "status": status, "problem": problem })
        }
    }
}
