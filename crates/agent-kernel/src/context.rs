//! What all parts of a kernel share: its ports, its settings, and the policy in force.

use std::sync::{Arc, PoisonError, RwLock};

use weaver_firewall::Firewall;
use weaver_policy::PolicySet;
use weaver_types::ledger::Ledger;
use weaver_types::{Capability, CapabilityId, Random, Timer, Timestamp};

use crate::approval::ApprovalCounters;
use crate::cached_run::RunSlot;
use crate::clock_guard::{ClockReading, GuardedClock};
use crate::long_work::LongWork;
use crate::registry::Registry;
use crate::settings::Settings;
use crate::value_origins::RunValueOrigins;

/// The ports, settings and policy of a kernel. It records nothing and decides nothing.
pub(crate) struct KernelContext {
    pub(crate) registry: Arc<Registry>,
    pub(crate) policy: RwLock<Arc<PolicySet>>,
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) clock: Arc<GuardedClock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) timer: Arc<dyn Timer>,
    pub(crate) settings: Settings,
    pub(crate) firewall: Firewall,
    pub(crate) approval_counts: ApprovalCounters,
    pub(crate) long_work: Option<LongWork>,
}

impl KernelContext {
    /// The policy in force. If a thread panics while replacing it, the old policy stays in force.
    pub(crate) fn policy(&self) -> Arc<PolicySet> {
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn replace_policy(&self, policy: Arc<PolicySet>) {
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = policy;
    }

    /// The capability of this id as it is registered now, with its signed contract applied.
    pub(crate) fn capability(&self, id: &CapabilityId) -> Option<Arc<Capability>> {
        self.registry.get(id)?.effective(&self.policy()).ok()
    }

    /// The current time. It never goes back, not even behind the ledger's events: a clock that is
    /// set back revives nothing, and one that jumps forward is not trusted at once.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.read().now
    }

    /// The current time, and the time against which expiry is checked.
    pub(crate) fn clock_reading(&self) -> ClockReading {
        self.clock.read()
    }

    /// The origins of a run's values, for a policy query.
    pub(crate) fn value_origins<'a>(&'a self, slot: &'a RunSlot) -> RunValueOrigins<'a> {
        RunValueOrigins { slot, firewall: &self.firewall }
    }
}
