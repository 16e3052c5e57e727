//! Standing approvals at work: which one releases a call, and counting its use.

use std::sync::Arc;

use serde_json::{Value, json};
use weaver_policy::approval::Phase;
use weaver_types::ledger::{Batch, Durability, Expect};
use weaver_types::{Decision, StandingId};

use super::resume::{HeldCall, HoldRelease};
use crate::approval::hold::{EndedHold, HoldForm, key};
use crate::approval::standing_approvals::{self, StandingRecord};
use crate::error::KernelError;
use crate::kernel::Kernel;

/// What using a release up changes.
pub(crate) struct ReleaseConsumption {
    pub(crate) batch: Batch,
    pub(crate) noted: ReleaseEffect,
    /// What the intent says of it.
    pub(crate) evidence: Value,
}

/// What memory has to know once it is committed.
pub(crate) enum ReleaseEffect {
    Hold { version: u64, form: HoldForm },
    Standing(Box<StandingRecord>),
}

impl Kernel {
    /// The first standing approval that releases the call whole.
    pub(crate) fn release_by_standing_approval(
        &self,
        held: &HeldCall<'_, '_>,
    ) -> Option<(Decision, HoldRelease)> {
        let keys = held.policy.keys()?;
        let bounds = &held.policy.approvals().standing;
        for used in self.standings.in_force(held.query.now) {
            let Ok(release) = used.state.release(held.query, &self.log, keys, bounds) else {
                continue;
            };
            let decision = (held.decide)(&release);
            if decision.allowed() {
                let used = Box::new(used.as_ref().clone());
                return Some((
                    decision,
                    HoldRelease::Standing { used, release: Arc::new(release) },
                ));
            }
        }
        None
    }

    /// What has to be committed with the intent, so that a release is used once. `None` when it
    /// cannot be used any more.
    pub(crate) fn consumption(&self, released: &HoldRelease) -> Option<ReleaseConsumption> {
        let tenant = &self.settings.tenant;
        // On disk before the call, reads included: what released it must not come back.
        let mut batch = Batch::new(Durability::Disk);
        match released {
            HoldRelease::Request { hold, release } => {
                let mut open = (*hold.open).clone();
                open.state.consume(release).ok()?;
                let request = &open.request;
                let form =
                    HoldForm::Ended(Box::new(EndedHold::of(request, Phase::Consumed, self.now())?));
                let version = Some(hold.version).filter(|version| *version > 0)?;
                batch.expect.push(Expect { key: key(tenant, &request.id), version: Some(version) });
                batch.put.push(form.put(tenant)?);
                let evidence = json!({ "request": request.id, "people": release.people() });
                let noted = ReleaseEffect::Hold { version: version.saturating_add(1), form };
                Some(ReleaseConsumption { batch, noted, evidence })
            }
            HoldRelease::Standing { used, release } => {
                let mut state = used.state.clone();
                state.consume(release).ok()?;
                let id = &state.standing().id;
                let version = Some(used.version);
                batch.expect.push(Expect { key: standing_approvals::key(tenant, id), version });
                batch.put.push(standing_approvals::put(tenant, &state)?);
                let evidence = json!({
                    "standing": id, "people": release.people(), "use": state.used(),
                });
                let version = used.version.saturating_add(1);
                let noted = ReleaseEffect::Standing(Box::new(StandingRecord { version, state }));
                Some(ReleaseConsumption { batch, noted, evidence })
            }
        }
    }

    /// Notes a committed consumption.
    pub(crate) fn consumed(&self, noted: ReleaseEffect) {
        match noted {
            ReleaseEffect::Hold { version, form } => {
                self.holds.committed(version, form, self.now())
            }
            ReleaseEffect::Standing(used) => self.standings.committed(*used),
        }
    }

    /// Reads a standing approval again that somebody else has changed.
    pub(crate) fn reload_standing(
        &self,
        id: &StandingId,
    ) -> Result<Option<StandingRecord>, KernelError> {
        let key = standing_approvals::key(&self.settings.tenant, id);
        let Some(stored) = self.ledger.read(&key)? else { return Ok(None) };
        let used = standing_approvals::read(id.as_str(), &stored)?;
        self.standings.committed(used.clone());
        Ok(Some(used))
    }
}
