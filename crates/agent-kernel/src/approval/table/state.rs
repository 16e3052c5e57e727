//! The held calls by what they are looked up by.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use weaver_policy::approval::Phase;
use weaver_types::{ApprovalRequestId, RunId, Timestamp};

use super::HoldEntry;
use crate::approval::hold::{CallKey, EndedHold, OpenHold};
use crate::approval::waiters::Waiters;
use crate::error::KernelError;

/// How many ended requests are remembered with their phase.
const MAX_REMEMBERED_ENDS: usize = 4_096;

#[derive(Default)]
pub(super) struct HoldTableState {
    pub(super) open: BTreeMap<ApprovalRequestId, HoldEntry>,
    pub(super) by_call_key: BTreeMap<CallKey, BTreeSet<ApprovalRequestId>>,
    pub(super) open_per_run: BTreeMap<RunId, usize>,
    pub(super) bytes: usize,
    pub(super) denied: BTreeMap<CallKey, Vec<EndedHold>>,
    pub(super) ended_phases: BTreeMap<ApprovalRequestId, Phase>,
    pub(super) ended_order: VecDeque<ApprovalRequestId>,
    pub(super) waiters: Waiters,
    pub(super) being_resolved: BTreeSet<ApprovalRequestId>,
}

impl HoldTableState {
    pub(super) fn insert_stored(
        &mut self,
        open: OpenHold,
        version: u64,
    ) -> Result<(), KernelError> {
        let hold = HoldEntry::new(open, version).ok_or_else(|| KernelError::StoredRecord {
            what: "a held call",
            problem: "its arguments have no canonical form".to_owned(),
        })?;
        self.insert(hold);
        Ok(())
    }

    pub(super) fn insert(&mut self, hold: HoldEntry) {
        let call_key = CallKey::of(&hold.open.request);
        let id = hold.open.request.id.clone();
        self.bytes = self.bytes.saturating_add(hold.bytes);
        *self.open_per_run.entry(call_key.run.clone()).or_default() += 1;
        self.by_call_key.entry(call_key).or_default().insert(id.clone());
        self.open.insert(id, hold);
    }

    pub(super) fn remove(&mut self, id: &ApprovalRequestId) {
        let Some(hold) = self.open.remove(id) else { return };
        let call_key = CallKey::of(&hold.open.request);
        self.bytes = self.bytes.saturating_sub(hold.bytes);
        if let Some(open) = self.open_per_run.get_mut(&call_key.run) {
            *open = open.saturating_sub(1);
            if *open == 0 {
                self.open_per_run.remove(&call_key.run);
            }
        }
        if let Some(ids) = self.by_call_key.get_mut(&call_key) {
            ids.remove(id);
            if ids.is_empty() {
                self.by_call_key.remove(&call_key);
            }
        }
    }

    pub(super) fn remember_denial(&mut self, ended: EndedHold, now: Timestamp) {
        let ids = self.denied.entry(ended.call_key.clone()).or_default();
        ids.retain(|other| is_denied(other, now));
        ids.push(ended);
    }

    pub(super) fn remember_end(&mut self, id: ApprovalRequestId, phase: Phase) {
        if self.ended_order.len() >= MAX_REMEMBERED_ENDS
            && let Some(oldest) = self.ended_order.pop_front()
        {
            self.ended_phases.remove(&oldest);
        }
        if self.ended_phases.insert(id.clone(), phase).is_none() {
            self.ended_order.push_back(id);
        }
    }
}

/// True while a denial still applies to the same call.
pub(super) fn is_denied(ended: &EndedHold, now: Timestamp) -> bool {
    matches!(ended.phase, Phase::Denied { .. }) && now < ended.deadline
}
