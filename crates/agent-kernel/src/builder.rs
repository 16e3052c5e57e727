//! Builds a kernel from its parts, with defaults for those that are not given.

use std::sync::{Arc, RwLock};

use weaver_firewall::handle::HandleStore;
use weaver_policy::PolicySet;
use weaver_trace_store::{MemoryBlobs, MemoryLedger};
use weaver_types::ledger::{BlobStore, Ledger};
use weaver_types::{Clock, OsRandom, Random, SystemClock, Timer};

use crate::approval::standing_approvals::StandingApprovals;
use crate::approval::table::HoldTable;
use crate::approval::{ApprovalCounters, ApprovalRequests};
use crate::cached_run::RunCache;
use crate::clock_guard::GuardedClock;
use crate::context::KernelContext;
use crate::decision_point::PolicyDecisionPoint;
use crate::error::KernelError;
use crate::executor::CallExecutor;
use crate::kernel::Kernel;
use crate::ports::Ports;
use crate::recorder::RunRecorder;
use crate::registry::Registry;
use crate::results::ResultPipeline;
use crate::revocation::{RevocableLifetimes, Revocations};
use crate::settings::Settings;
use crate::signed_files::SignedFileReceiver;
use crate::timer::ThreadTimer;
use crate::token::KeyRing;

/// The parts of a kernel that is about to be opened. The defaults are: a ledger and a blob store in
/// memory, the system's clock and randomness, a timer thread, new token keys, the default settings,
/// and no ports.
///
/// ```
/// use std::sync::Arc;
/// use weaver_agent_kernel::{Kernel, Registry, Settings};
/// use weaver_policy::{Contracts, Policy, PolicySet};
/// use weaver_types::{ManualClock, Timestamp};
///
/// let policy = PolicySet::from_code(Policy::baseline()?, Contracts::new("none"))?;
/// let kernel = Kernel::builder(Registry::new(), policy)
///     .with_clock(Arc::new(ManualClock::new(Timestamp::from_micros(1_700_000_000_000_000))))
///     .with_settings(Settings { human_channel: false, ..Settings::default() })
///     .open()?;
/// assert!(kernel.registry().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a kernel is there only once it is opened"]
pub struct KernelBuilder {
    registry: Arc<Registry>,
    policy: Arc<PolicySet>,
    store: Option<LedgerAndBlobs>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    timer: Arc<dyn Timer>,
    keys: Option<KeyRing>,
    settings: Settings,
    ports: Ports,
}

weaver_types::opaque_debug!(KernelBuilder);

/// The ledger and the large results that its records name. They share one lifetime, so they are set
/// together.
struct LedgerAndBlobs {
    ledger: Arc<dyn Ledger>,
    blobs: Arc<dyn BlobStore>,
}

impl LedgerAndBlobs {
    fn in_memory(random: &Arc<dyn Random>) -> Result<Self, KernelError> {
        let ledger = Arc::new(MemoryLedger::with_random_id(Arc::clone(random))?);
        Ok(Self { ledger, blobs: Arc::new(MemoryBlobs::with_random_key(random.as_ref())?) })
    }
}

impl KernelBuilder {
    pub(crate) fn new(registry: Arc<Registry>, policy: Arc<PolicySet>) -> Self {
        Self {
            registry,
            policy,
            store: None,
            clock: Arc::new(SystemClock::default()),
            random: Arc::new(OsRandom),
            timer: Arc::new(ThreadTimer),
            keys: None,
            settings: Settings::default(),
            ports: Ports::default(),
        }
    }

    /// Sets the ledger and the store for large results. They belong together: a ledger that
    /// outlives the process names results that must outlive it too.
    pub fn with_store(mut self, ledger: Arc<dyn Ledger>, blobs: Arc<dyn BlobStore>) -> Self {
        self.store = Some(LedgerAndBlobs { ledger, blobs });
        self
    }

    /// Sets the clock.
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the source of randomness for ids, salts and new keys.
    pub fn with_random(mut self, random: Arc<dyn Random>) -> Self {
        self.random = random;
        self
    }

    /// Sets the timer.
    pub fn with_timer(mut self, timer: Arc<dyn Timer>) -> Self {
        self.timer = timer;
        self
    }

    /// Sets the token keys. By default the kernel makes new ones, so that tokens end with the
    /// process.
    pub fn with_keys(mut self, keys: KeyRing) -> Self {
        self.keys = Some(keys);
        self
    }

    /// Sets the settings.
    pub fn with_settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the ports.
    pub fn with_ports(mut self, ports: Ports) -> Self {
        self.ports = ports;
        self
    }

    /// Opens the kernel on its ledger: reads revocations, held calls and standing approvals, and
    /// closes every call without a recorded end as "outcome unknown". A ledger may have only one
    /// kernel per tenant.
    ///
    /// # Errors
    /// [`KernelError`], when the ledger cannot be read or written, or holds a newer form.
    pub fn open(self) -> Result<Kernel, KernelError> {
        let Self { registry, policy, store, clock, random, timer, keys, settings, ports } = self;
        let LedgerAndBlobs { ledger, blobs } = match store {
            Some(store) => store,
            None => LedgerAndBlobs::in_memory(&random)?,
        };
        let keys = match keys {
            Some(keys) => keys,
            None => KeyRing::generate(random.as_ref())?,
        };
        let clock = Arc::new(GuardedClock::open(&settings.tenant, ledger.as_ref(), clock)?);
        let firewall = ports.firewall.clone().unwrap_or_default().with_views(ports.views.clone());
        let policy = RwLock::new(policy);
        Kernel::open(
            KernelContext {
                registry,
                policy,
                ledger,
                clock,
                random,
                timer,
                settings,
                firewall,
                approval_counts: ApprovalCounters::default(),
                long_work: ports.long_work.clone(),
            },
            blobs,
            keys,
            &ports,
        )
    }
}

impl Kernel {
    /// Opens the components on what is stored, each on those that it uses.
    fn open(
        context: KernelContext,
        blobs: Arc<dyn BlobStore>,
        keys: KeyRing,
        ports: &Ports,
    ) -> Result<Self, KernelError> {
        let (settings, ledger) = (&context.settings, context.ledger.as_ref());
        let (tenant, now) = (&settings.tenant, context.now());
        let (holds, void) = HoldTable::load(tenant, ledger, now)?;
        let standings = StandingApprovals::load(tenant, ledger, now)?;
        let handle_key = ports.handle_key.clone();
        let handles = HandleStore::from_ledger(tenant, ledger, settings.handles, handle_key)?;
        let lives = RevocableLifetimes {
            max_lifetime: settings.token_ttl.max(settings.handles.ttl()),
            last_expiry: handles.latest_expiry()?.max(holds.last_deadline()).unwrap_or(now),
        };
        let revocations = Arc::new(Revocations::load(tenant, ledger, lives)?);
        let session = settings.session.clone();
        let runs = RunCache::new(tenant.clone(), session, Arc::clone(&revocations));
        let context = Arc::new(context);
        let signals = Arc::clone(&ports.signals);
        let recorder = Arc::new(RunRecorder::new(Arc::clone(&context), runs, signals));
        let approvals = Arc::new(ApprovalRequests::new(&recorder, holds, standings)?);
        let signed_files = SignedFileReceiver::new(&recorder, &approvals, &revocations);
        let decision_point =
            Arc::new(PolicyDecisionPoint::load(&recorder, &approvals, ports, keys, revocations)?);
        let results = Arc::new(ResultPipeline::new(&recorder, handles, blobs));
        let executor = CallExecutor::new(&recorder, &approvals, &decision_point, &results);
        recorder.restore_outcomes()?;
        approvals.void_requests(void)?;
        recorder.close_open_calls()?;
        results.remove_expired_results()?;
        Ok(Self { context, recorder, approvals, decision_point, results, executor, signed_files })
    }

    /// A builder for a kernel. All parts but these two have defaults.
    pub fn builder(
        registry: impl Into<Arc<Registry>>,
        policy: impl Into<Arc<PolicySet>>,
    ) -> KernelBuilder {
        KernelBuilder::new(registry.into(), policy.into())
    }
}
