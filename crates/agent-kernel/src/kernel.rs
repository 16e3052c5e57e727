//! The kernel, and how it is opened on its parts.

use std::borrow::Cow;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use weaver_firewall::handle::HandleStore;
use weaver_firewall::{Firewall, Session, ValueSource};
use weaver_policy::PolicySet;
use weaver_types::ledger::{Batch, BlobStore, Durability, Ledger};
use weaver_types::{CallId, Clock, Principal, Random, RunContext, RunError, RunSettings, Timer};

use crate::approval::ApprovalRequests;
use crate::approval::standing_approvals::StandingApprovals;
use crate::approval::table::HoldTable;
use crate::cached_run::{RunCache, RunSlot, lock_run};
use crate::clock_guard::GuardedClock;
use crate::context::KernelContext;
use crate::contract::{self, Baselines};
use crate::error::KernelError;
use crate::invocation::Explanation;
use crate::late_response::LateResponseLog;
use crate::pending_grants::PendingGrants;
use crate::ports::Ports;
use crate::rate_counters::RateCounters;
use crate::recorder::RunRecorder;
use crate::registry::Registry;
use crate::revocation::{RevocableLifetimes, Revocations};
use crate::settings::Settings;
use crate::signed_files::{SignedFileOutcome, SignedFileReceiver};
use crate::token::KeyRing;

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
    pub(crate) context: Arc<KernelContext>,
    pub(crate) recorder: Arc<RunRecorder>,
    pub(crate) blobs: Arc<dyn BlobStore>,
    keys: RwLock<Arc<KeyRing>>,
    pub(crate) ports: Ports,
    pub(crate) handles: HandleStore,
    pub(crate) revocations: Arc<Revocations>,
    pub(crate) pending_grants: PendingGrants,
    pub(crate) approvals: Arc<ApprovalRequests>,
    signed_files: SignedFileReceiver,
    pub(crate) rates: RateCounters,
    /// The approved versions of capabilities that no signed contract pins.
    pub(crate) baselines: RwLock<Baselines>,
    pub(crate) late_responses: Arc<LateResponseLog>,
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
        let clock = Arc::new(GuardedClock::open(tenant, ledger, parts.clock)?);
        let now = clock.read().now;
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
        let firewall = parts.ports.firewall.clone().unwrap_or_default();
        let session = parts.settings.session.clone();
        let runs = RunCache::new(tenant.clone(), session, Arc::clone(&revocations));
        let late = LateResponseLog { ledger: Arc::clone(&parts.ledger), clock: Arc::clone(&clock) };
        let context = Arc::new(KernelContext {
            registry: parts.registry,
            policy: RwLock::new(parts.policy),
            ledger: parts.ledger,
            clock,
            random: parts.random,
            timer: parts.timer,
            settings: parts.settings,
            firewall: firewall.with_views(parts.ports.views.clone()),
        });
        let signals = Arc::clone(&parts.ports.signals);
        let recorder = Arc::new(RunRecorder::new(Arc::clone(&context), runs, signals));
        let approvals = Arc::new(ApprovalRequests::new(&recorder, holds, standings)?);
        let signed_files = SignedFileReceiver::new(&recorder, &approvals, &revocations);
        let kernel = Self {
            context,
            recorder,
            blobs: parts.blobs,
            keys: RwLock::new(Arc::new(parts.keys)),
            ports: parts.ports,
            handles,
            revocations,
            pending_grants: PendingGrants::default(),
            approvals,
            signed_files,
            rates,
            baselines,
            late_responses: Arc::new(late),
        };
        kernel.recorder.restore_outcomes()?;
        kernel.approvals.void_requests(void)?;
        kernel.recorder.close_open_calls()?;
        kernel.remove_expired_results()?;
        Ok(kernel)
    }

    /// Creates a run with the clock and randomness of this kernel.
    ///
    /// # Errors
    /// [`RunError`], when there is no randomness, or `dry_run` in the metadata is no boolean.
    pub fn start_run(&self, settings: RunSettings) -> Result<RunContext, RunError> {
        RunContext::create(settings, self.context.clock.unguarded(), self.context.random.as_ref())
    }

    /// The registry.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.context.registry
    }

    /// The policy in force. If a thread panics while replacing it, the old policy stays in force.
    #[must_use]
    pub fn policy(&self) -> Arc<PolicySet> {
        self.context.policy()
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
        &self.context.firewall
    }

    /// The firewall for values of this source in a run, with the run's masks.
    pub(crate) fn source_firewall(&self, slot: &RunSlot, source: ValueSource) -> Cow<'_, Firewall> {
        if !self.context.settings.placeholders {
            return Cow::Borrowed(&self.context.firewall);
        }
        let table = Arc::clone(slot.masks().table());
        Cow::Owned(self.context.firewall.with_masks(table, Some(source)))
    }

    /// The ledger.
    #[must_use]
    pub fn ledger(&self) -> &Arc<dyn Ledger> {
        &self.context.ledger
    }

    /// The token session of a run: its remaining tokens, and the mode in which a call would be
    /// answered now. `None` when the settings limit no tokens and when the run cannot be read.
    #[must_use]
    pub fn token_session(&self, run: &RunContext) -> Option<Session> {
        let slot = self.recorder.slot(&run.run_id).ok()?;
        lock_run(&slot)?.session().cloned()
    }

    /// Explains a call to the principal that made it, or to an admin. The last 1,024 calls of this
    /// process are in memory; any other call, also of an earlier process, is read from the last
    /// 200,000 events of the log, where texts are redacted.
    #[must_use]
    pub fn explain(&self, principal: &Principal, call: &CallId) -> Option<Arc<Explanation>> {
        self.recorder.explain(principal, call)
    }

    /// Receives a signed file: an approver's answer, a standing approval or an operator's
    /// statement. It is verified under the keys document in force and then recorded; it has no
    /// effect before that. A rejected file leaves an event, unless the same file was rejected
    /// before or there are too many; the next event counts the omitted ones.
    pub async fn receive_signed_file(&self, bytes: &[u8]) -> SignedFileOutcome {
        self.signed_files.receive(bytes).await
    }

    /// Removes expired stored results with their blobs.
    pub(crate) fn remove_expired_results(&self) -> Result<(), KernelError> {
        loop {
            let delete = self.handles.sweep(self.context.now(), self.blobs.as_ref())?;
            if delete.is_empty() {
                return Ok(());
            }
            self.context.ledger.commit(Batch { delete, ..Batch::new(Durability::Os) }).wait()?;
        }
    }
}
