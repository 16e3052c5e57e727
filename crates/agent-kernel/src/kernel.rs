//! The kernel, and how it is opened on its parts.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use weaver_firewall::handle::HandleStore;
use weaver_firewall::{Firewall, Session, ValueSource};
use weaver_policy::PolicySet;
use weaver_types::ledger::{BlobStore, Ledger};
use weaver_types::{
    CallId, Clock, LogId, Principal, Random, RunContext, RunError, RunSettings, Timer, Timestamp,
};

use crate::approval::standing_approvals::StandingApprovals;
use crate::approval::table::HoldTable;
use crate::cached_run::{RunCache, RunSlot, lock_run};
use crate::clock_guard::{self, ClockGuard, ClockReading};
use crate::contract::{self, Baselines};
use crate::deferred_ends::DeferredEnds;
use crate::error::KernelError;
use crate::invocation::Explanation;
use crate::late_response::LateResponseLog;
use crate::logged_explanation;
use crate::pending_grants::PendingGrants;
use crate::ports::Ports;
use crate::rate_counters::RateCounters;
use crate::registry::Registry;
use crate::rejected_files::RejectedFiles;
use crate::revocation::{RevocableLifetimes, Revocations};
use crate::settings::Settings;
use crate::telemetry::Telemetry;
use crate::token::KeyRing;
use crate::unrecorded_ends::UnrecordedEnds;

/// How many calls can be explained from memory.
const MAX_REMEMBERED_CALLS: usize = 1_024;

/// What a kernel is made of.
pub(crate) struct KernelParts {
    pub(crate) registry: Arc<Registry>,
    pub(crate) policy: Arc<PolicySet>,
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) blobs: Arc<dyn BlobStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) timer: Arc<dyn Timer>,
    pub(crate) keys: KeyRing,
    pub(crate) settings: Settings,
    pub(crate) ports: Ports,
}

/// The kernel. Every execution passes through it.
///
/// ```
/// use serde_json::json;
/// use weaver_agent_kernel::{Caller, Kernel, Registry, block_on};
/// use weaver_policy::{Contracts, Policy, PolicySet};
/// use weaver_types::{Principal, PrincipalId, RawResult, RunSettings, ToolSpec};
///
/// let registry = Registry::new();
/// let spec = ToolSpec::new("docs.search", "Search").arg("query", "string", true);
/// registry.register_fn(spec.build()?, |call| Ok(RawResult::json(json!([{ "hit": call.arguments()["query"] }]))))?;
///
/// let policy = PolicySet::from_code(Policy::baseline()?, Contracts::new("none"))?;
/// let kernel = Kernel::in_memory(registry, policy)?;
///
/// let run = kernel.start_run(RunSettings::default())?;
/// let ana = Principal::new(PrincipalId::parse("ana")?).with_roles(["reader"]);
/// let caller = Caller { run: &run, principal: &ana };
/// let done = block_on(kernel.call(caller, "docs.search", json!({ "query": "handbook" })));
/// assert!(done.decision.is_allowed());
/// assert!(done.frame().is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Kernel {
    pub(crate) registry: Arc<Registry>,
    pub(crate) policy: RwLock<Arc<PolicySet>>,
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) blobs: Arc<dyn BlobStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) timer: Arc<dyn Timer>,
    keys: RwLock<Arc<KeyRing>>,
    pub(crate) settings: Settings,
    pub(crate) ports: Ports,
    pub(crate) firewall: Firewall,
    pub(crate) handles: HandleStore,
    pub(crate) runs: RunCache,
    pub(crate) revocations: Arc<Revocations>,
    pub(crate) pending_grants: PendingGrants,
    pub(crate) deferred_ends: DeferredEnds,
    pub(crate) unrecorded_ends: UnrecordedEnds,
    pub(crate) holds: HoldTable,
    pub(crate) standing_approvals: StandingApprovals,
    pub(crate) rates: RateCounters,
    /// The approved versions of capabilities that no signed contract pins.
    pub(crate) baselines: RwLock<Baselines>,
    pub(crate) rejected_files: RejectedFiles,
    /// The id of the ledger's log.
    pub(crate) log_id: LogId,
    pub(crate) clock_guard: Arc<ClockGuard>,
    pub(crate) late_responses: Arc<LateResponseLog>,
    pub(crate) telemetry: Telemetry,
    explanations: Mutex<VecDeque<Explanation>>,
}

impl Kernel {
    /// A kernel whose ledger and results are in memory and end with the process, on the system's
    /// clock and randomness, with new token keys. [`Kernel::builder`] takes other parts.
    ///
    /// # Errors
    /// [`KernelError`], when there is no randomness.
    pub fn in_memory(
        registry: impl Into<Arc<Registry>>,
        policy: impl Into<Arc<PolicySet>>,
    ) -> Result<Self, KernelError> {
        Self::builder(registry, policy).open()
    }

    pub(crate) fn open(parts: KernelParts) -> Result<Self, KernelError> {
        let (tenant, ledger) = (&parts.settings.tenant, parts.ledger.as_ref());
        let time = clock_guard::open(tenant, ledger, parts.clock.as_ref())?;
        let now = time.read(parts.clock.as_ref()).now;
        let (holds, void) = HoldTable::load(tenant, ledger, now)?;
        let standings = StandingApprovals::load(tenant, ledger, now)?;
        let rates = RateCounters::load(tenant, ledger, now)?;
        let baselines = RwLock::new(contract::load(tenant, ledger).without_contracts());
        let seal = parts.ports.handle_key.clone();
        let handles = HandleStore::from_ledger(tenant, ledger, parts.settings.handles, seal)?;
        let lives = RevocableLifetimes {
            max_lifetime: parts.settings.token_ttl.max(parts.settings.handles.ttl()),
            last_expiry: handles.latest_expiry()?.max(holds.last_deadline()).unwrap_or(now),
        };
        let revocations = Arc::new(Revocations::load(tenant, ledger, lives)?);
        let log = ledger.head()?.log;
        let firewall = parts.ports.firewall.clone().unwrap_or_default();
        let session = parts.settings.session.clone();
        let runs = RunCache::new(tenant.clone(), session, Arc::clone(&revocations));
        let (ledger, clock, time) = (parts.ledger, parts.clock, Arc::new(time));
        let late = LateResponseLog {
            ledger: Arc::clone(&ledger),
            clock: Arc::clone(&clock),
            clock_guard: Arc::clone(&time),
        };
        let kernel = Self {
            registry: parts.registry,
            policy: RwLock::new(parts.policy),
            ledger,
            blobs: parts.blobs,
            clock,
            random: parts.random,
            timer: parts.timer,
            keys: RwLock::new(Arc::new(parts.keys)),
            settings: parts.settings,
            firewall: firewall.with_views(parts.ports.views.clone()),
            ports: parts.ports,
            handles,
            runs,
            revocations,
            pending_grants: PendingGrants::default(),
            deferred_ends: DeferredEnds::default(),
            unrecorded_ends: UnrecordedEnds::default(),
            holds,
            standing_approvals: standings,
            rates,
            baselines,
            rejected_files: RejectedFiles::default(),
            log_id: log,
            clock_guard: time,
            late_responses: Arc::new(late),
            telemetry: Telemetry::default(),
            explanations: Mutex::new(VecDeque::new()),
        };
        kernel.restore_outcomes()?;
        kernel.void_requests(void)?;
        kernel.close_open_calls()?;
        kernel.remove_expired_results()?;
        Ok(kernel)
    }

    /// Creates a run with the clock and randomness of this kernel.
    ///
    /// # Errors
    /// [`RunError`], when there is no randomness, or `dry_run` in the metadata is no boolean.
    pub fn start_run(&self, settings: RunSettings) -> Result<RunContext, RunError> {
        RunContext::create(settings, self.clock.as_ref(), self.random.as_ref())
    }

    /// The registry.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The policy in force. If a thread panics while replacing it, the old policy stays in force.
    #[must_use]
    pub fn policy(&self) -> Arc<PolicySet> {
        match self.policy.read() {
            Ok(policy) => Arc::clone(&policy),
            Err(poisoned) => Arc::clone(&poisoned.into_inner()),
        }
    }

    /// The token keys in force.
    #[must_use]
    pub fn keys(&self) -> Arc<KeyRing> {
        Arc::clone(&self.key_ring())
    }

    /// The token keys in force, borrowed under their lock.
    pub(crate) fn key_ring(&self) -> RwLockReadGuard<'_, Arc<KeyRing>> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the token keys, to rotate them or to drop retired ones. From now on, tokens of a
    /// key that is gone are refused.
    pub fn replace_keys(&self, keys: KeyRing) {
        match self.keys.write() {
            Ok(mut slot) => *slot = Arc::new(keys),
            Err(poisoned) => *poisoned.into_inner() = Arc::new(keys),
        }
    }

    /// The firewall, for text that reaches a model outside of a call.
    #[must_use]
    pub fn firewall(&self) -> &Firewall {
        &self.firewall
    }

    /// The firewall for values of this source in a run, with the run's masks.
    pub(crate) fn source_firewall(&self, slot: &RunSlot, source: ValueSource) -> Cow<'_, Firewall> {
        if !self.settings.placeholders {
            return Cow::Borrowed(&self.firewall);
        }
        let table = Arc::clone(slot.masks().table());
        Cow::Owned(self.firewall.with_masks(table, Some(source)))
    }

    /// The ledger.
    #[must_use]
    pub fn ledger(&self) -> &Arc<dyn Ledger> {
        &self.ledger
    }

    /// The token session of a run: its remaining tokens, and the mode in which a call would be
    /// answered now. `None` when the settings limit no tokens and when the run cannot be read.
    #[must_use]
    pub fn token_session(&self, run: &RunContext) -> Option<Session> {
        let slot = self.runs.slot(&run.run_id, self.ledger.as_ref()).ok()?;
        lock_run(&slot)?.session().cloned()
    }

    /// Explains a call to the principal that made it, or to an admin. The last 1,024 calls of this
    /// process are in memory; any other call, also of an earlier process, is read from the last
    /// 200,000 events of the log, where texts are redacted.
    #[must_use]
    pub fn explain(&self, principal: &Principal, call: &CallId) -> Option<Arc<Explanation>> {
        if principal.tenant != self.settings.tenant {
            return None;
        }
        let in_log =
            || logged_explanation::read_from_log(self.ledger.as_ref(), &self.settings.tenant, call);
        let explanation = self.explanation_in_memory(call).or_else(in_log)?;
        let may_know = explanation.principal == principal.id || principal.has_role("admin");
        may_know.then(|| Arc::new(explanation))
    }

    /// The explanation of a call, if it is in memory.
    pub(crate) fn explanation_in_memory(&self, call: &CallId) -> Option<Explanation> {
        self.explanations.lock().ok()?.iter().rev().find(|one| one.call == *call).cloned()
    }

    /// The current time. It never goes back, not even behind the ledger's events: a clock that is
    /// set back revives nothing, and one that jumps forward is not trusted at once.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock_reading().now
    }

    /// The current time, and the time against which expiry is checked.
    pub(crate) fn clock_reading(&self) -> ClockReading {
        self.clock_guard.read(self.clock.as_ref())
    }

    pub(crate) fn remember_explanation(&self, explanation: Explanation) {
        if let Ok(mut explained) = self.explanations.lock() {
            if explained.len() >= MAX_REMEMBERED_CALLS {
                explained.pop_front();
            }
            explained.push_back(explanation);
        }
    }
}
