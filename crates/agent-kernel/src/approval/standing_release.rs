//! Finds the standing approval that releases a call, and consumes releases.

use std::sync::Arc;

use serde_json::{Value, json};
use weaver_policy::approval::Phase;
use weaver_policy::{PolicyQuery, PolicySet, ReleaseProof};
use weaver_types::ledger::{Batch, Durability, VersionGuard};
use weaver_types::{Decision, StandingApprovalId};

use super::ApprovalRequests;
use super::hold::{EndedHold, StoredHold, hold_key};
use super::hold_release::HoldRelease;
use super::standing_approvals::{self, StandingRecord};
use crate::error::KernelError;

/// What consuming a release changes.
pub(crate) struct ReleaseConsumption {
    pub(crate) batch: Batch,
    pub(crate) effect: ReleaseEffect,
    /// What the intent records of the release.
    pub(crate) evidence: Value,
}

/// The change to apply in memory once the consumption is committed.
pub(crate) enum ReleaseEffect {
    Hold { version: u64, form: StoredHold },
    Standing(Box<StandingRecord>),
}

impl ApprovalRequests {
    /// The first standing approval under which the whole call is allowed. `decide` computes the
    /// decision with a release.
    pub(crate) fn release_by_standing_approval(
        &self,
        policy: &PolicySet,
        query: &PolicyQuery<'_>,
        decide: &dyn Fn(&ReleaseProof) -> Decision,
    ) -> Option<(Decision, HoldRelease)> {
        let keys = policy.keys()?;
        let bounds = &policy.approvals().standing;
        for record in self.standing_approvals.in_force(query.now) {
            let Ok(release) = record.state.release(query, &self.log_id, keys, bounds) else {
                continue;
            };
            let decision = decide(&release);
            if decision.is_allowed() {
                let record = Box::new(record.as_ref().clone());
                return Some((
                    decision,
                    HoldRelease::Standing { record, release: Arc::new(release) },
                ));
            }
        }
        None
    }

    /// What has to be committed with the intent so that a release is used only once. `None` when
    /// the release can no longer be used.
    pub(crate) fn release_consumption(&self, release: &HoldRelease) -> Option<ReleaseConsumption> {
        let tenant = &self.context.settings.tenant;
        // Written to disk before the call, even for reads: the release must not become valid again
        // after a crash.
        let mut batch = Batch::new(Durability::Disk);
        match release {
            HoldRelease::Request { hold, release } => {
                let mut open = (*hold.open).clone();
                open.state.consume(release).ok()?;
                let request = &open.request;
                let form = StoredHold::Ended(Box::new(EndedHold::of(
                    request,
                    Phase::Consumed,
                    self.context.now(),
                )?));
                let version = Some(hold.version).filter(|version| *version > 0)?;
                batch.expect.push(VersionGuard {
                    key: hold_key(tenant, &request.id),
                    version: Some(version),
                });
                batch.put.push(form.put(tenant)?);
                let evidence = json!({ "request": request.id, "people": release.approvers() });
                let effect = ReleaseEffect::Hold { version: version.saturating_add(1), form };
                Some(ReleaseConsumption { batch, effect, evidence })
            }
            HoldRelease::Standing { record, release } => {
                let mut state = record.state.clone();
                state.consume(release).ok()?;
                let id = &state.standing_approval().id;
                let version = Some(record.version);
                batch
                    .expect
                    .push(VersionGuard { key: standing_approvals::key(tenant, id), version });
                batch.put.push(standing_approvals::put(tenant, &state)?);
                let evidence = json!({
                    "standing": id, "people": release.approvers(), "use": state.use_count(),
                });
                let version = record.version.saturating_add(1);
                let effect = ReleaseEffect::Standing(Box::new(StandingRecord { version, state }));
                Some(ReleaseConsumption { batch, effect, evidence })
            }
        }
    }

    /// Applies a committed consumption in memory.
    pub(crate) fn apply_release_effect(&self, effect: ReleaseEffect) {
        match effect {
            ReleaseEffect::Hold { version, form } => {
                self.holds.apply_committed(version, form, self.context.now())
            }
            ReleaseEffect::Standing(record) => self.standing_approvals.apply_committed(*record),
        }
    }

    /// Reads a standing approval again after somebody else has changed it.
    pub(crate) fn reload_standing_approval(
        &self,
        id: &StandingApprovalId,
    ) -> Result<Option<StandingRecord>, KernelError> {
        let key = standing_approvals::key(&self.context.settings.tenant, id);
        let Some(stored) = self.context.ledger.read(&key)? else { return Ok(None) };
        let record = standing_approvals::read(id.as_str(), &stored)?;
        self.standing_approvals.apply_committed(record.clone());
        Ok(Some(record))
    }
}
