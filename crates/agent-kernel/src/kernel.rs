//! The kernel itself: its settings, and how it is opened on its parts.

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
use crate::cached_run::{RunSlot, Runs, lock};
use crate::clock_guard::{self, ClockGuard, Moment};
use crate::contract::{self, Baselines};
use crate::deferred_ends::DeferredEnds;
use crate::error::KernelError;
use crate::explanation;
use crate::invocation::Explanation;
use crate::late_response::LateResponseLog;
use crate::pending_grants::PendingGrants;
use crate::ports::Ports;
use crate::rates::Rates;
use crate::registry::Registry;
use crate::rejected_files::RejectedFiles;
use crate::revocation::{RevocableLifetimes, Revocations};
use crate::settings::Settings;
use crate::telemetry::Telemetry;
use crate::token::KeyRing;
use crate::unrecorded_ends::UnrecordedEnds;

/// How many calls can be explained from memory.
const MAX_EXPLAINED: usize = 1_024;

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
/// assert!(done.decision.allowed());
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
    pub(crate) runs: Runs,
    pub(crate) revocations: Arc<Revocations>,
    pub(crate) pending: PendingGrants,
    pub(crate) deferred_ends: DeferredEnds,
    pub(crate) unrecorded_ends: UnrecordedEnds,
    pub(crate) holds: HoldTable,
    pub(crate) standings: StandingApprovals,
    pub(crate) rates: Rates,
    /// What was approved of the capabilities, beside the signed contracts.
    pub(crate) baselines: RwLock<Baselines>,
    pub(crate) rejected_files: RejectedFiles,
    /// The log of the ledger.
    pub(crate) log: LogId,
    pub(crate) time: Arc<ClockGuard>,
    pub(crate) late: Arc<LateResponseLog>,
    pub(crate) telemetry: Telemetry,
    explained: Mutex<VecDeque<Explanation>>,
}

impl Kernel {
    /// A kernel whose ledger and results live in memory and end with the process, on the clock and
    /// the randomness of the system; every token key is fresh. [`Kernel::builder`] takes other parts.
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
        let now = time.moment(parts.clock.as_ref()).now;
        let (holds, void) = HoldTable::load(tenant, ledger, now)?;
        let standings = StandingApprovals::load(tenant, ledger, now)?;
        let rates = Rates::load(tenant, ledger, now)?;
        let baselines = RwLock::new(contract::load(tenant, ledger).without_contracts());
        let seal = parts.ports.handle_key.clone();
        let handles = HandleStore::load(tenant, ledger, parts.settings.handles, seal)?;
        let lives = RevocableLifetimes {
            longest: parts.settings.token_ttl.max(parts.settings.handles.ttl()),
            until: handles.last_end()?.max(holds.last_deadline()).unwrap_or(now),
        };
        let revocations = Arc::new(Revocations::load(tenant, ledger, lives)?);
        let log = ledger.head()?.log;
        let firewall = parts.ports.firewall.clone().unwrap_or_default();
        let session = parts.settings.session.clone();
        let runs = Runs::new(tenant.clone(), session, Arc::clone(&revocations));
        let (ledger, clock, time) = (parts.ledger, parts.clock, Arc::new(time));
        let late = LateResponseLog {
            ledger: Arc::clone(&ledger),
            clock: Arc::clone(&clock),
            time: Arc::clone(&time),
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
            pending: PendingGrants::default(),
            deferred_ends: DeferredEnds::default(),
            unrecorded_ends: UnrecordedEnds::default(),
            holds,
            standings,
            rates,
            baselines,
            rejected_files: RejectedFiles::default(),
            log,
            time,
            late: Arc::new(late),
            telemetry: Telemetry::default(),
            explained: Mutex::new(VecDeque::new()),
        };
        kernel.restore_outcomes()?;
        kernel.void(void)?;
        kernel.recover()?;
        kernel.remove_ended()?;
        Ok(kernel)
    }

    /// A new run on the clock and the randomness of this kernel.
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

    /// The keys of tokens that are in force.
    #[must_use]
    pub fn keys(&self) -> Arc<KeyRing> {
        Arc::clone(&self.key_ring())
    }

    /// The same, borrowed under their lock.
    pub(crate) fn key_ring(&self) -> RwLockReadGuard<'_, Arc<KeyRing>> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the token keys in force, to rotate them or to drop retired ones. Tokens of a key
    /// that is gone are refused from now on.
    pub fn replace_keys(&self, keys: KeyRing) {
        match self.keys.write() {
            Ok(mut slot) => *slot = Arc::new(keys),
            Err(poisoned) => *poisoned.into_inner() = Arc::new(keys),
        }
    }

    /// The firewall, for text that reaches a model other than through a call.
    #[must_use]
    pub fn firewall(&self) -> &Firewall {
        &self.firewall
    }

    /// The firewall as a run sees what comes from a source.
    pub(crate) fn firewall_of(&self, slot: &RunSlot, source: ValueSource) -> Cow<'_, Firewall> {
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

    /// The session of a run: what is left of its tokens, and in which mode a call would be answered
    /// now. `None` where the settings bound none, and when the run cannot be read.
    #[must_use]
    pub fn session(&self, run: &RunContext) -> Option<Session> {
        let slot = self.runs.slot(&run.run_id, self.ledger.as_ref()).ok()?;
        lock(&slot)?.session().cloned()
    }

    /// What is known of a call: only for the principal that made it, or an admin. The last 1,024
    /// calls of this process are in memory; of any other call, also of an earlier process, the log
    /// says it, as far back as its last 200,000 events reach. What the log says is redacted.
    #[must_use]
    pub fn explain(&self, principal: &Principal, call: &CallId) -> Option<Arc<Explanation>> {
        if principal.tenant != self.settings.tenant {
            return None;
        }
        let in_log = || explanation::in_log(self.ledger.as_ref(), &self.settings.tenant, call);
        let known = self.remembered(call).or_else(in_log)?;
        let may_know = known.principal == principal.id || principal.has_role("admin");
        may_know.then(|| Arc::new(known))
    }

    /// What is in memory of a call.
    pub(crate) fn remembered(&self, call: &CallId) -> Option<Explanation> {
        self.explained.lock().ok()?.iter().rev().find(|one| one.call == *call).cloned()
    }

    /// The time, which never goes back, neither here nor against what the ledger holds: a clock
    /// that is set back revives nothing, and one that leaps forward is not believed at once.
    pub(crate) fn now(&self) -> Timestamp {
        self.moment().now
    }

    /// The same, plus the time against which expiry is checked.
    pub(crate) fn moment(&self) -> Moment {
        self.time.moment(self.clock.as_ref())
    }

    pub(crate) fn remember(&self, explanation: Explanation) {
        if let Ok(mut explained) = self.explained.lock() {
            if explained.len() >= MAX_EXPLAINED {
                explained.pop_front();
            }
            explained.push_back(explanation);
        }
    }
}
