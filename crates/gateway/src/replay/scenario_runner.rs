//! Runs one scenario on a kernel of its own, with a driver that returns the recorded results.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use weaver_agent_kernel::{
    Call, Caller, FnDriver, Invocation, Kernel, KernelError, Registry, Settings, SignedFileOutcome,
    block_on,
};
use weaver_policy::approval::StandingApproval;
use weaver_policy::{Pattern, PolicySet};
use weaver_trace_store::{BLOB_KEY_BYTES, MemoryBlobs};
use weaver_types::digest::DomainTag;
use weaver_types::ledger::{Ledger, StoredEvent};
use weaver_types::{
    AllowedAgents, ApprovalRequestId, Capability, CapabilityDraft, CapabilityId, CapabilityRequest,
    CheckResult, Clock, Digest, Effects, EventKind, JustificationSource, ManualClock, Principal,
    Random, RawResult, ResponseMode, RunBudget, RunContext, RunSettings, SeededRandom, SinkKind,
    Timestamp, Verdict,
};

use super::approver::Approver;
use super::processor_time::processor_time;
use super::replay_store::ReplayStore;
use super::scenario::{Scenario, Step};
use super::{ReplayError, StepResult};

/// How many events are read at once.
const EVENTS_PER_PAGE: usize = 64;

/// The documents and settings that all scenarios of a replay share.
pub struct ReplaySetup {
    /// The policy and the contracts.
    pub set: Arc<PolicySet>,
    /// The argument schemas, if tool lists are given.
    pub schemas: BTreeMap<CapabilityId, Value>,
    /// Who approves held calls.
    pub approver: Approver,
    /// The standing approvals, each with the file it was read from.
    pub standing_approvals: Vec<(String, StandingApproval)>,
    /// The principal that makes the calls.
    pub principal: Principal,
    /// Whether the host reports what the user said.
    pub has_user_text: bool,
    /// Whether the ledger and the kernel are reopened before every step.
    pub reopens_each_step: bool,
    /// The time at which the whole replay takes place.
    pub now: Timestamp,
}

/// The result that the driver returns next.
type NextResult = Arc<Mutex<Option<RawResult>>>;

/// A kernel with the tools of one scenario, in one run.
pub struct ScenarioRunner<'a> {
    setup: &'a ReplaySetup,
    scenario: &'a Scenario,
    kernel: Kernel,
    registry: Arc<Registry>,
    ledger: Arc<dyn Ledger>,
    clock: Arc<ManualClock>,
    random: Arc<dyn Random>,
    run: RunContext,
    next_result: NextResult,
    /// The last field, so that its folder is removed after everything that uses it is dropped.
    store: ReplayStore,
}

/// The store, clock and random source of a kernel.
struct HostPorts {
    store: ReplayStore,
    clock: Arc<ManualClock>,
    random: Arc<dyn Random>,
}

impl<'a> ScenarioRunner<'a> {
    /// Opens a kernel with every tool that the scenario calls.
    ///
    /// # Errors
    /// [`ReplayError`], when a tool has an invalid name or a standing approval is not accepted.
    pub fn open(
        setup: &'a ReplaySetup,
        scenario: &'a Scenario,
        number: u64,
    ) -> Result<Self, ReplayError> {
        let random: Arc<dyn Random> = Arc::new(SeededRandom::new(number));
        let clock = Arc::new(ManualClock::new(setup.now));
        let mut run = new_run(clock.as_ref(), random.as_ref())?;
        if setup.has_user_text {
            run.record_user_text(&scenario.prompt);
        }
        let store = match setup.reopens_each_step {
            true => ReplayStore::create_on_disk(random.as_ref())?,
            false => ReplayStore::Memory,
        };
        let runner = Self::assemble(setup, scenario, HostPorts { store, clock, random }, run)?;
        runner.accept_standing_approvals()?;
        Ok(runner)
    }

    /// The same run after a restart of the process: all that is known of it comes from the ledger.
    /// The user's words are not reported again.
    ///
    /// # Errors
    /// [`ReplayError`], when the ledger cannot be opened again.
    pub fn reopened(self) -> Result<Self, ReplayError> {
        let Self {
            setup,
            scenario,
            kernel,
            ledger,
            registry,
            clock,
            random,
            store,
            run: before,
            ..
        } = self;
        let run_id = before.run_id;
        drop((kernel, ledger, registry));
        let run = new_run(clock.as_ref(), random.as_ref())?.with_run_id(run_id);
        Self::assemble(setup, scenario, HostPorts { store, clock, random }, run)
    }

    fn assemble(
        setup: &'a ReplaySetup,
        scenario: &'a Scenario,
        ports: HostPorts,
        run: RunContext,
    ) -> Result<Self, ReplayError> {
        let HostPorts { store, clock, random } = ports;
        let ledger_clock = || Arc::clone(&clock) as Arc<dyn Clock>;
        let ledger = store.open_ledger(ledger_clock(), &random)?;
        let registry = Arc::new(Registry::new());
        let next_result = NextResult::default();
        for tool in scenario.steps.iter().map(|step| &step.tool).collect::<BTreeSet<_>>() {
            registry.register(
                proposed_capability(setup, tool)?,
                Arc::new(recorded_driver(&next_result)),
            )?;
        }
        let kernel = open_kernel(setup, &registry, &ledger, ledger_clock(), &random)?;
        Ok(Self {
            setup,
            scenario,
            kernel,
            registry,
            ledger,
            clock,
            random,
            run,
            next_result,
            store,
        })
    }

    /// The events of the scenario's log, from the first.
    ///
    /// # Errors
    /// [`ReplayError::Ledger`], when it cannot be read.
    pub fn events(&self) -> Result<Vec<StoredEvent>, ReplayError> {
        let mut events: Vec<StoredEvent> = Vec::new();
        loop {
            let next = events.last().map_or(0, |last| last.seq.saturating_add(1));
            let page = self.ledger.events(next, EVENTS_PER_PAGE);
            let page = page.map_err(|error| ReplayError::Ledger(error.to_string()))?;
            if page.is_empty() {
                return Ok(events);
            }
            events.extend(page);
        }
    }

    fn accept_standing_approvals(&self) -> Result<(), ReplayError> {
        let log = self.ledger.head().map_err(|error| ReplayError::Ledger(error.to_string()))?.log;
        for (name, standing) in &self.setup.standing_approvals {
            let standing = StandingApproval { log: log.clone(), ..standing.clone() };
            let problem = match self.setup.approver.signed_standing_approval(&standing) {
                None => "it has no canonical form".to_owned(),
                Some(bytes) => match block_on(self.kernel.receive_signed_file(&bytes)) {
                    SignedFileOutcome::StandingAccepted { .. } => continue,
                    SignedFileOutcome::Rejected { detail, .. } => detail,
                    other => format!("{other:?}"),
                },
            };
            return Err(ReplayError::Standing { name: name.clone(), problem });
        }
        Ok(())
    }

    /// Decides on a step, releases it if it may be, and lets the scenario go on with the recorded
    /// result.
    ///
    /// # Errors
    /// [`ReplayError::Name`], as for [`ScenarioRunner::open`].
    pub fn run_step(&self, number: usize, step: &'a Step) -> Result<StepResult<'a>, ReplayError> {
        let capability = CapabilityId::parse(&step.tool)?;
        let arguments = Value::Object(step.args.clone().unwrap_or_default());
        let sink = self.sink_of(&capability);
        if let Ok(mut next_result) = self.next_result.lock() {
            *next_result = Some(recorded_result(step));
        }
        let request = self.request(capability);
        let before = self.ledger.head().map_or(0, |head| head.size);
        let (invocation, micros) = self.decide_and_invoke(&request, &arguments);
        let (verdict, decision) = (invocation.decision.verdict(), &invocation.decision);
        let released_by = match (verdict, &invocation.request) {
            (Verdict::Hold, Some(open)) if step.release => {
                self.approve_and_retry(open, &request, &arguments)
            }
            (Verdict::Allow, _) => self.standing_approval_since(before),
            _ => None,
        };
        Ok(StepResult {
            id: &self.scenario.id,
            step: number,
            tool: &step.tool,
            verdict,
            reason: decision.primary_reason(),
            detail: decision.detail().to_owned(),
            reasons: decision.obstacles().map(obstacle_json).collect(),
            sink,
            call: invocation.call.to_string(),
            released_by,
            micros: Some(micros),
        })
    }

    /// Grants (timed) and invokes the call. The user's words are taken in before, as a host would
    /// report them.
    fn decide_and_invoke(
        &self,
        request: &CapabilityRequest,
        arguments: &Value,
    ) -> (Invocation, u64) {
        let caller = self.caller();
        let call = Call { request, arguments: Some(arguments), mode: ResponseMode::Table };
        block_on(self.kernel.ingest_statements(caller));
        let before = processor_time();
        let grant = block_on(self.kernel.grant(caller, call));
        let micros = processor_time().saturating_sub(before);
        let invocation = match &grant.token {
            Some(token) => {
                block_on(self.kernel.invoke(caller, token, arguments, ResponseMode::Table))
            }
            None => Invocation {
                call: grant.call,
                decision: grant.decision,
                result: None,
                request: grant.request,
            },
        };
        (invocation, micros)
    }

    /// Approves a held call and makes it again. Returns who approved it.
    fn approve_and_retry(
        &self,
        open: &ApprovalRequestId,
        request: &CapabilityRequest,
        arguments: &Value,
    ) -> Option<Value> {
        let pending = self.kernel.pending_approval(open)?;
        let mut approvers = Vec::new();
        for (name, answer) in self.setup.approver.signed_grants(&pending.request, self.clock.now())
        {
            approvers.push(name);
            match block_on(self.kernel.receive_signed_file(&answer)) {
                SignedFileOutcome::Granted { .. } => break,
                SignedFileOutcome::Endorsed { .. } => {}
                _ => return None,
            }
        }
        let call = Call { request, arguments: Some(arguments), mode: ResponseMode::Table };
        let invocation = block_on(self.kernel.execute(self.caller(), call));
        invocation.decision.is_allowed().then(|| json!({ "approvers": approvers }))
    }

    /// The standing approval that released the last call, according to the log.
    fn standing_approval_since(&self, from: u64) -> Option<Value> {
        let events = self.ledger.events(from, EVENTS_PER_PAGE).ok()?;
        let mut used = events.iter().filter_map(|event| {
            let header: Value = serde_json::from_slice(&event.header).ok()?;
            if header.get("type")?.as_str()? != EventKind::Intent.as_str() {
                return None;
            }
            let payload: Value = serde_json::from_slice(event.payload.as_ref()?).ok()?;
            payload.get("released_by")?.get("standing")?.as_str().map(str::to_owned)
        });
        let id = used.next_back()?;
        let all = &self.setup.standing_approvals;
        let file = all.iter().find(|(_, standing)| standing.id.as_str() == id)?;
        Some(json!({ "standing": file.0 }))
    }

    fn caller(&self) -> Caller<'_> {
        Caller { run: &self.run, principal: &self.setup.principal }
    }

    fn request(&self, id: CapabilityId) -> CapabilityRequest {
        let source = match self.setup.has_user_text {
            true => JustificationSource::Host,
            false => JustificationSource::Model,
        };
        CapabilityRequest::new(id, "a recorded step").justified(&self.scenario.prompt, source)
    }

    fn sink_of(&self, id: &CapabilityId) -> SinkKind {
        let entry = self.registry.get(id);
        let effective = entry.and_then(|one| self.setup.set.apply_contract(one.capability()).ok());
        effective.map_or(SinkKind::Destructive, |capability| capability.sink())
    }
}

/// The capability that a server with this tool would propose. If the contract pins the digest of
/// the server's description, the proposal has that digest.
fn proposed_capability(setup: &ReplaySetup, tool: &str) -> Result<Capability, ReplayError> {
    let id = CapabilityId::parse(tool)?;
    let contract = Pattern::parse(tool).ok();
    let contract = contract.and_then(|pattern| setup.set.contracts().capabilities.get(&pattern));
    let pinned: Option<Digest> = contract.and_then(|contract| contract.upstream_digest);
    let draft = CapabilityDraft {
        input_schema: setup.schemas.get(&id).cloned().map(Arc::new),
        upstream_digest: Some(
            pinned.unwrap_or_else(|| Digest::of(DomainTag::UPSTREAM, tool.as_bytes())),
        ),
        ..CapabilityDraft::new(id, tool, Effects::UNDECLARED, AllowedAgents::Any)
    };
    Ok(draft.build()?)
}

fn recorded_driver(next_result: &NextResult) -> FnDriver {
    let next_result = Arc::clone(next_result);
    FnDriver::inline(move |_| {
        let next = next_result.lock().ok().and_then(|mut next_result| next_result.take());
        Ok(next.unwrap_or_else(|| RawResult::text("")))
    })
}

/// The recorded result, as the tool would have returned it.
fn recorded_result(step: &Step) -> RawResult {
    match (&step.error, &step.output) {
        (Some(Value::String(error)), _) => RawResult::text(error.clone()).failed(),
        (Some(error), _) if !error.is_null() => RawResult::json(error.clone()).failed(),
        (_, Value::String(text)) => RawResult::text(text.clone()),
        (_, other) => RawResult::json(other.clone()),
    }
}

fn open_kernel(
    setup: &ReplaySetup,
    registry: &Arc<Registry>,
    ledger: &Arc<dyn Ledger>,
    clock: Arc<dyn Clock>,
    random: &Arc<dyn Random>,
) -> Result<Kernel, KernelError> {
    Kernel::builder(Arc::clone(registry), Arc::clone(&setup.set))
        .with_store(Arc::clone(ledger), Arc::new(MemoryBlobs::new([0; BLOB_KEY_BYTES])))
        .with_clock(clock)
        .with_random(Arc::clone(random))
        .with_settings(Settings { human_channel: false, ..Settings::default() })
        .open()
}

/// A run without budget limits.
fn new_run(clock: &dyn Clock, random: &dyn Random) -> Result<RunContext, ReplayError> {
    let settings = RunSettings { budget: RunBudget::unlimited(), ..RunSettings::default() };
    Ok(RunContext::create(settings, clock, random)?)
}

fn obstacle_json(check: &CheckResult) -> Value {
    json!({ "check": check.check, "reason": check.reason, "detail": check.detail })
}
