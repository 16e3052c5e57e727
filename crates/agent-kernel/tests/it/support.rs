//! A small world around a kernel.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use weaver_agent_kernel::{
    Call, Caller, Driver, DriverError, FnDriver, Invocation, Kernel, KernelBuilder, KeyRing, Ports,
    Registry, RunState, Settings, block_on,
};
use weaver_firewall::SessionBudget;
use weaver_policy::{Contract, Contracts, Effect, Pattern, Policy, PolicySet, Rule};
use weaver_trace_store::{MemoryBlobs, MemoryLedger, OpenOptions, SqliteLedger};
use weaver_types::ledger::{
    Batch, CommitTicket, Ledger, LedgerError, Namespace, Record, RecordKey, StoredEvent, TreeHead,
};
use weaver_types::{
    AllowedAgents, CapabilityDraft, CapabilityId, CapabilityRequest, Clock, Confidentiality,
    Effects, Integrity, JustificationSource, KeyId, Label, LogId, ManualClock, OsRandom, Principal,
    PrincipalId, RawResult, ReasonCode, ResponseMode, RunBudget, RunContext, RunId, RunSettings,
    Rung, SafetyMode, SinkKind, Tenant, Timestamp, Verdict,
};

/// The reading half of a [`Ledger`] that has another one in `inner`.
macro_rules! reads_of_inner {
    () => {
        fn read(&self, key: &RecordKey) -> Result<Option<Record>, LedgerError> {
            self.inner.read(key)
        }

        fn list(
            &self,
            tenant: &Tenant,
            namespace: Namespace,
            after: Option<&str>,
            limit: usize,
        ) -> Result<Vec<(String, Record)>, LedgerError> {
            self.inner.list(tenant, namespace, after, limit)
        }

        fn synced_head(&self) -> Result<TreeHead, LedgerError> {
            self.inner.synced_head()
        }

        fn events(&self, from: u64, limit: usize) -> Result<Vec<StoredEvent>, LedgerError> {
            self.inner.events(from, limit)
        }

        fn head(&self) -> Result<TreeHead, LedgerError> {
            self.inner.head()
        }
    };
}
pub(crate) use reads_of_inner;

/// The label of internal data from a trusted source.
pub(crate) fn trusted() -> Label {
    Label::new(Confidentiality::Internal, Integrity::Trusted)
}

/// One call of Ana's.
pub(crate) fn call(world: &World, run: &RunContext, id: &str, arguments: Value) -> Invocation {
    world.call(run, &ana(), &Asked::new(id).with(arguments))
}

/// A run whose user said this, and which has read something untrusted.
pub(crate) fn tainted(world: &World, said: &str) -> RunContext {
    let mut run = world.run();
    assert!(run.record_user_text(said));
    call(world, &run, "web.read", json!({}));
    run
}

/// Starts this test binary as a child that runs one test, told the path by a variable.
pub(crate) fn child(test: &str, variable: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(variable, path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

pub(crate) const WHY: &str = "the customer confirmed the fix";
/// Allows everything that the floor does not stop.
pub(crate) fn open_policy() -> Policy {
    Policy::new("open").with_rule(Rule::new("all", Effect::Allow))
}

/// A policy set without contracts.
pub(crate) fn set(policy: Policy) -> Arc<PolicySet> {
    Arc::new(PolicySet::from_code(policy, Contracts::new("none")).unwrap())
}

/// A contract for a sink on a rung that the floor does not hold, so that only flow can hold it.
pub(crate) fn sink(sink: SinkKind) -> Contract {
    Contract { rung: Some(Rung::L1), sink: Some(sink), lower_rung: true, ..Contract::default() }
}

/// The open policy with these contracts.
pub(crate) fn contracts<'t>(all: impl IntoIterator<Item = (&'t str, Contract)>) -> Arc<PolicySet> {
    let contracts = all.into_iter().fold(Contracts::new("contracts"), |contracts, (id, one)| {
        contracts.with(Pattern::parse(id).unwrap(), one)
    });
    Arc::new(PolicySet::from_code(open_policy(), contracts).unwrap())
}

/// A tool with these arguments.
pub(crate) fn taking(id: &str, effects: Effects, properties: Value) -> CapabilityDraft {
    let schema = json!({ "type": "object", "properties": properties });
    CapabilityDraft { input_schema: Some(schema.into()), ..draft(id, effects) }
}

pub(crate) fn draft(id: &str, effects: Effects) -> CapabilityDraft {
    CapabilityDraft {
        description: "a capability".to_owned(),
        ..CapabilityDraft::new(CapabilityId::parse(id).unwrap(), id, effects, AllowedAgents::Any)
    }
}

pub(crate) fn memory() -> Arc<dyn Ledger> {
    Arc::new(MemoryLedger::new(LogId::random(&OsRandom).unwrap(), Arc::new(OsRandom)))
}

pub(crate) fn sqlite(path: &Path) -> Arc<SqliteLedger> {
    Arc::new(SqliteLedger::open(path, OpenOptions::default()).unwrap())
}

type Fault = dyn Fn(&Batch) -> Option<LedgerError> + Send;

/// A ledger that can be told to refuse.
pub(crate) struct Faulty {
    inner: Arc<dyn Ledger>,
    fault: Mutex<Option<Box<Fault>>>,
}

impl Faulty {
    pub(crate) fn new(inner: Arc<dyn Ledger>) -> Arc<Self> {
        Arc::new(Self { inner, fault: Mutex::new(None) })
    }

    pub(crate) fn fail(&self, when: impl Fn(&Batch) -> Option<LedgerError> + Send + 'static) {
        *self.fault.lock().unwrap() = Some(Box::new(when));
    }

    pub(crate) fn heal(&self) {
        *self.fault.lock().unwrap() = None;
    }
}

impl Ledger for Faulty {
    fn submit(&self, batch: Arc<Batch>) -> CommitTicket {
        let fault = self.fault.lock().unwrap().as_ref().and_then(|fault| fault(&batch));
        match fault {
            Some(error) => CommitTicket::ready(Err(error)),
            None => self.inner.submit(batch),
        }
    }

    crate::support::reads_of_inner! {}
}

/// One event of the log, read.
#[derive(Debug, Clone)]
pub(crate) struct Logged {
    pub(crate) kind: String,
    pub(crate) run: Option<String>,
    pub(crate) call: Option<String>,
    pub(crate) payload: Value,
    pub(crate) stored: StoredEvent,
}

pub(crate) fn log(ledger: &dyn Ledger) -> Vec<Logged> {
    let size = ledger.head().unwrap().size;
    let mut all = Vec::new();
    while (all.len() as u64) < size {
        for stored in ledger.events(all.len() as u64, 1_000).unwrap() {
            let header: Value = serde_json::from_slice(&stored.header).unwrap();
            let text = |key: &str| header.get(key).and_then(Value::as_str).map(str::to_owned);
            let payload = serde_json::from_slice(stored.payload.as_ref().unwrap()).unwrap();
            let kind = text("type").unwrap();
            all.push(Logged { kind, run: text("run"), call: text("call"), payload, stored });
        }
    }
    all
}

pub(crate) fn kinds(ledger: &dyn Ledger) -> Vec<String> {
    log(ledger).into_iter().map(|event| event.kind).collect()
}

/// The run's state as the ledger stores it.
pub(crate) fn snapshot(ledger: &dyn Ledger, run: &RunId) -> Option<RunState> {
    let key = RecordKey::new(Tenant::default(), Namespace::Run, run.as_str());
    ledger.read(&key).unwrap().map(|record| serde_json::from_slice(&record.value).unwrap())
}

/// The run's state as its events tell it.
pub(crate) fn fold(ledger: &dyn Ledger, run: &RunId) -> RunState {
    log(ledger)
        .iter()
        .filter(|event| event.run.as_deref() == Some(run.as_str()))
        .filter_map(|event| event.payload.get("run").cloned())
        .map(|delta| serde_json::from_value(delta).unwrap())
        .fold(RunState::default(), |state, delta| state.apply(&delta))
}

/// A kernel with what is around it.
pub(crate) struct World {
    pub(crate) kernel: Kernel,
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) clock: Arc<ManualClock>,
    /// How often a tool of [`World::tool`] was executed.
    pub(crate) executed: Arc<AtomicU64>,
}

pub(crate) const START: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

impl World {
    pub(crate) fn new(policy: Policy) -> Self {
        Self::on(memory(), policy)
    }

    pub(crate) fn on(ledger: Arc<dyn Ledger>, policy: Policy) -> Self {
        Self::with(ledger, Arc::new(ManualClock::new(START)), set(policy), Ports::default())
    }

    /// With a budget of tokens for each run.
    pub(crate) fn bounded(ledger: Arc<dyn Ledger>, policy: Policy, session: SessionBudget) -> Self {
        let clock = Arc::new(ManualClock::new(START));
        let own = Arc::clone(&clock) as Arc<dyn Clock>;
        let settings = Settings { session: Some(session), ..Settings::default() };
        let parts = parts_of(Arc::clone(&ledger), own, set(policy)).with_settings(settings);
        Self { kernel: parts.open().unwrap(), ledger, clock, executed: Arc::default() }
    }

    pub(crate) fn under(policy: Arc<PolicySet>) -> Self {
        Self::with(memory(), Arc::new(ManualClock::new(START)), policy, Ports::default())
    }

    /// For another tenant than the default one.
    pub(crate) fn of_tenant(
        tenant: &Tenant,
        ledger: Arc<dyn Ledger>,
        policy: Arc<PolicySet>,
    ) -> Self {
        let clock = Arc::new(ManualClock::new(START));
        let own = Arc::clone(&clock) as Arc<dyn Clock>;
        let settings = Settings { tenant: tenant.clone(), ..Settings::default() };
        let parts = parts_of(Arc::clone(&ledger), own, policy).with_settings(settings);
        Self { kernel: parts.open().unwrap(), ledger, clock, executed: Arc::default() }
    }

    pub(crate) fn with(
        ledger: Arc<dyn Ledger>,
        clock: Arc<ManualClock>,
        policy: Arc<PolicySet>,
        ports: Ports,
    ) -> Self {
        let own = Arc::clone(&clock) as Arc<dyn Clock>;
        let parts = parts_of(Arc::clone(&ledger), own, policy).with_ports(ports);
        let kernel = parts.open().unwrap();
        Self { kernel, ledger, clock, executed: Arc::default() }
    }

    /// Registers a tool that counts and echoes its arguments.
    pub(crate) fn tool(&self, id: &str, effects: Effects) -> &Self {
        self.register(draft(id, effects))
    }

    pub(crate) fn register(&self, draft: CapabilityDraft) -> &Self {
        self.answering(draft, |arguments| Ok(RawResult::json(arguments)))
    }

    pub(crate) fn answering(
        &self,
        draft: CapabilityDraft,
        f: impl Fn(Value) -> Result<RawResult, DriverError> + Send + Sync + 'static,
    ) -> &Self {
        let executed = Arc::clone(&self.executed);
        self.driven(
            draft,
            FnDriver::inline(move |call| {
                executed.fetch_add(1, Ordering::SeqCst);
                f(Value::Object(call.arguments().clone()))
            }),
        )
    }

    pub(crate) fn driven(&self, draft: CapabilityDraft, driver: impl Driver + 'static) -> &Self {
        self.kernel.registry().register(draft.build().unwrap(), Arc::new(driver)).unwrap();
        self
    }

    pub(crate) fn executed(&self) -> u64 {
        self.executed.load(Ordering::SeqCst)
    }

    pub(crate) fn run(&self) -> RunContext {
        self.run_with(RunBudget::unlimited(), SafetyMode::Normal)
    }

    pub(crate) fn run_with(&self, budget: RunBudget, safety_mode: SafetyMode) -> RunContext {
        let settings = RunSettings { budget, safety_mode, ..RunSettings::default() };
        RunContext::create(settings, self.clock.as_ref(), &OsRandom).unwrap()
    }

    /// The whole call in one.
    pub(crate) fn call(&self, run: &RunContext, who: &Principal, asked: &Asked) -> Invocation {
        block_on(self.kernel.execute(Caller { run, principal: who }, asked.call()))
    }
}

pub(crate) fn open(ledger: Arc<dyn Ledger>, clock: Arc<dyn Clock>, policy: Policy) -> Kernel {
    parts(ledger, clock, policy).open().unwrap()
}

pub(crate) fn parts(
    ledger: Arc<dyn Ledger>,
    clock: Arc<dyn Clock>,
    policy: Policy,
) -> KernelBuilder {
    parts_of(ledger, clock, set(policy))
}

pub(crate) fn parts_of(
    ledger: Arc<dyn Ledger>,
    clock: Arc<dyn Clock>,
    policy: Arc<PolicySet>,
) -> KernelBuilder {
    Kernel::builder(Registry::new(), policy)
        .with_store(ledger, Arc::new(MemoryBlobs::new([7; 32])))
        .with_clock(clock)
        .with_keys(KeyRing::new(KeyId::parse("k1").unwrap(), &[9; 32]).unwrap())
}

/// What is asked for, owned.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) request: CapabilityRequest,
    pub(crate) arguments: Value,
    pub(crate) mode: ResponseMode,
}

impl Asked {
    pub(crate) fn new(id: &str) -> Self {
        Self {
            request: CapabilityRequest::new(CapabilityId::parse(id).unwrap(), "a goal"),
            arguments: json!({}),
            mode: ResponseMode::Table,
        }
    }

    pub(crate) fn with(mut self, arguments: Value) -> Self {
        self.arguments = arguments;
        self
    }

    pub(crate) fn mode(mut self, mode: ResponseMode) -> Self {
        self.mode = mode;
        self
    }

    pub(crate) fn justified(mut self) -> Self {
        self.request = self.request.justified(WHY, JustificationSource::Host);
        self
    }

    pub(crate) fn call(&self) -> Call<'_> {
        Call { request: &self.request, arguments: Some(&self.arguments), mode: self.mode }
    }
}

pub(crate) fn principal(name: &str, roles: &[&str]) -> Principal {
    Principal::new(PrincipalId::parse(name).unwrap()).with_roles(roles.iter().copied())
}

pub(crate) fn ana() -> Principal {
    principal("ana", &["reader", "writer"])
}

pub(crate) fn answer(done: &Invocation) -> (Verdict, ReasonCode) {
    (done.decision.verdict(), done.decision.primary_reason())
}

pub(crate) fn succeeded(done: &Invocation) -> bool {
    done.result.as_ref().is_some_and(|result| result.success)
}
