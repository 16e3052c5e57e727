//! One scenario on a kernel of its own: the real gate, and a driver that hands out the record.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use weaver_agent_kernel::{
    Call, Caller, FileOutcome, FnDriver, Invocation, Kernel, KernelError, Registry, Settings,
    block_on,
};
use weaver_policy::approval::StandingApproval;
use weaver_policy::{Pattern, PolicySet};
use weaver_trace_store::{BLOB_KEY, MemoryBlobs};
use weaver_types::digest::Tag;
use weaver_types::ledger::{Ledger, StoredEvent};
use weaver_types::{
    Agents, Capability, CapabilityDraft, CapabilityId, CapabilityRequest, Clock, Contribution,
    Digest, Effects, EventKind, JustificationSource, ManualClock, Principal, Random, RawResult,
    RequestId, ResponseMode, RunBudget, RunContext, RunSettings, SeededRandom, SinkKind, Timestamp,
    Verdict,
};

use super::approver::Approver;
use super::scenario::{Scenario, Step};
use super::store::Store;
use super::{Line, ReplayError};

/// How many events are read at once.
const PAGE: usize = 64;

/// What all scenarios of a replay stand on.
pub struct Documents {
    /// The documents that decide.
    pub set: Arc<PolicySet>,
    /// The schemas of arguments, where tools are listed.
    pub schemas: BTreeMap<CapabilityId, Value>,
    /// Who releases what is held.
    pub approver: Approver,
    /// Standing approvals, by the file that they come from.
    pub standings: Vec<(String, StandingApproval)>,
    /// Who calls.
    pub principal: Principal,
    /// Whether the host reports what the user said.
    pub user_words: bool,
    /// Whether ledger and kernel are opened anew before every step.
    pub restarts: bool,
    /// The time of the whole replay.
    pub now: Timestamp,
}

/// What the driver hands out next.
type Record = Arc<Mutex<Option<RawResult>>>;

/// A kernel with the tools of one scenario, in the middle of one run.
pub struct Stage<'a> {
    documents: &'a Documents,
    scenario: &'a Scenario,
    kernel: Kernel,
    registry: Arc<Registry>,
    ledger: Arc<dyn Ledger>,
    clock: Arc<ManualClock>,
    random: Arc<dyn Random>,
    run: RunContext,
    record: Record,
    /// Last, so that it is removed when nobody has it open.
    store: Store,
}

/// What a kernel needs of the process that it runs in.
struct HostPorts {
    store: Store,
    clock: Arc<ManualClock>,
    random: Arc<dyn Random>,
}

impl<'a> Stage<'a> {
    /// Opens a kernel with every tool that the scenario calls.
    ///
    /// # Errors
    /// [`ReplayError`], when a tool has an impossible name or a standing approval does not count.
    pub fn open(
        documents: &'a Documents,
        scenario: &'a Scenario,
        number: u64,
    ) -> Result<Self, ReplayError> {
        let random: Arc<dyn Random> = Arc::new(SeededRandom::new(number));
        let clock = Arc::new(ManualClock::new(documents.now));
        let mut run = run(clock.as_ref(), random.as_ref())?;
        if documents.user_words {
            run.user_said(&scenario.prompt);
        }
        let store = match documents.restarts {
            true => Store::on_disk(random.as_ref())?,
            false => Store::Memory,
        };
        let stage = Self::assembled(documents, scenario, HostPorts { store, clock, random }, run)?;
        stage.take_standings()?;
        Ok(stage)
    }

    /// The same run in a process that was started again: all that is known of it stands in the
    /// ledger. Nobody repeats what the user said.
    ///
    /// # Errors
    /// [`ReplayError`], when the ledger cannot be opened again.
    pub fn restarted(self) -> Result<Self, ReplayError> {
        let Self {
            documents,
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
        let same = before.run_id;
        drop((kernel, ledger, registry));
        let run = run(clock.as_ref(), random.as_ref())?.named(same);
        Self::assembled(documents, scenario, HostPorts { store, clock, random }, run)
    }

    fn assembled(
        documents: &'a Documents,
        scenario: &'a Scenario,
        ports: HostPorts,
        run: RunContext,
    ) -> Result<Self, ReplayError> {
        let HostPorts { store, clock, random } = ports;
        let own = || Arc::clone(&clock) as Arc<dyn Clock>;
        let ledger = store.open(own(), &random)?;
        let registry = Arc::new(Registry::new());
        let record = Record::default();
        for tool in scenario.steps.iter().map(|step| &step.tool).collect::<BTreeSet<_>>() {
            registry.register(proposal(documents, tool)?, Arc::new(driver(&record)))?;
        }
        let kernel = open(documents, &registry, &ledger, own(), &random)?;
        Ok(Self {
            documents,
            scenario,
            kernel,
            registry,
            ledger,
            clock,
            random,
            run,
            record,
            store,
        })
    }

    /// What the log of the scenario holds, from its beginning.
    ///
    /// # Errors
    /// [`ReplayError::Ledger`], when it cannot be read.
    pub fn events(&self) -> Result<Vec<StoredEvent>, ReplayError> {
        let mut events: Vec<StoredEvent> = Vec::new();
        loop {
            let next = events.last().map_or(0, |last| last.seq.saturating_add(1));
            let page = self.ledger.events(next, PAGE);
            let page = page.map_err(|error| ReplayError::Ledger(error.to_string()))?;
            if page.is_empty() {
                return Ok(events);
            }
            events.extend(page);
        }
    }

    fn take_standings(&self) -> Result<(), ReplayError> {
        let log = self.ledger.head().map_err(|error| ReplayError::Ledger(error.to_string()))?.log;
        for (name, standing) in &self.documents.standings {
            let standing = StandingApproval { log: log.clone(), ..standing.clone() };
            let problem = match self.documents.approver.standing(&standing) {
                None => "it has no canonical form".to_owned(),
                Some(bytes) => match block_on(self.kernel.receive(&bytes)) {
                    FileOutcome::StandingAccepted { .. } => continue,
                    FileOutcome::Rejected { detail, .. } => detail,
                    other => format!("{other:?}"),
                },
            };
            return Err(ReplayError::Standing { name: name.clone(), problem });
        }
        Ok(())
    }

    /// Decides on a step, and lets the task go on with what was recorded.
    pub fn play(&self, number: usize, step: &'a Step) -> Line<'a> {
        let id = &self.scenario.id;
        let capability = CapabilityId::parse(&step.tool).ok();
        let arguments = Value::Object(step.args.clone().unwrap_or_default());
        let sink = capability.as_ref().map_or(SinkKind::Destructive, |id| self.sink(id));
        if let Ok(mut record) = self.record.lock() {
            *record = Some(raw(step));
        }
        let request = capability.map(|id| self.request(id));
        let Some(request) = request else { return unnamed(id, number, step) };
        let before = self.ledger.head().map_or(0, |head| head.size);
        let (done, micros) = self.ask(&request, &arguments);
        let (verdict, decision) = (done.decision.verdict(), &done.decision);
        let released_by = match (verdict, &done.request) {
            (Verdict::Hold, Some(open)) if step.release => self.release(open, &request, &arguments),
            (Verdict::Allow, _) => self.standing(before),
            _ => None,
        };
        Line {
            id,
            step: number,
            tool: &step.tool,
            verdict,
            reason: decision.primary(),
            detail: decision.detail().to_owned(),
            reasons: decision.obstacles().map(reason).collect(),
            sink,
            call: done.call.to_string(),
            released_by,
            micros: Some(micros),
        }
    }

    /// Grant, timed, and invoke. The user's words came before, as a host hears them.
    fn ask(&self, request: &CapabilityRequest, arguments: &Value) -> (Invocation, u64) {
        let caller = self.caller();
        let call = Call { request, arguments: Some(arguments), mode: ResponseMode::Table };
        block_on(self.kernel.ingest_statements(caller));
        let before = processor_time();
        let grant = block_on(self.kernel.grant(caller, call));
        let micros = processor_time().saturating_sub(before);
        let done = match &grant.token {
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
        (done, micros)
    }

    /// Answers a request as an approver would, and makes the call again; says who did.
    fn release(
        &self,
        open: &RequestId,
        request: &CapabilityRequest,
        arguments: &Value,
    ) -> Option<Value> {
        let pending = self.kernel.pending_one(open)?;
        let mut people = Vec::new();
        for (name, answer) in self.documents.approver.answers(&pending.request, self.clock.now()) {
            people.push(name);
            match block_on(self.kernel.receive(&answer)) {
                FileOutcome::Granted { .. } => break,
                FileOutcome::Endorsed { .. } => {}
                _ => return None,
            }
        }
        let call = Call { request, arguments: Some(arguments), mode: ResponseMode::Table };
        let done = block_on(self.kernel.execute(self.caller(), call));
        done.decision.allowed().then(|| json!({ "approvers": people }))
    }

    /// The standing approval that the log says released the last call.
    fn standing(&self, from: u64) -> Option<Value> {
        let events = self.ledger.events(from, PAGE).ok()?;
        let mut used = events.iter().filter_map(|event| {
            let header: Value = serde_json::from_slice(&event.header).ok()?;
            if header.get("type")?.as_str()? != EventKind::Intent.as_str() {
                return None;
            }
            let payload: Value = serde_json::from_slice(event.payload.as_ref()?).ok()?;
            payload.get("released_by")?.get("standing")?.as_str().map(str::to_owned)
        });
        let id = used.next_back()?;
        let all = &self.documents.standings;
        let file = all.iter().find(|(_, standing)| standing.id.as_str() == id)?;
        Some(json!({ "standing": file.0 }))
    }

    fn caller(&self) -> Caller<'_> {
        Caller { run: &self.run, principal: &self.documents.principal }
    }

    fn request(&self, id: CapabilityId) -> CapabilityRequest {
        let source = match self.documents.user_words {
            true => JustificationSource::Host,
            false => JustificationSource::Model,
        };
        CapabilityRequest::new(id, "a recorded step").justified(&self.scenario.prompt, source)
    }

    fn sink(&self, id: &CapabilityId) -> SinkKind {
        let entry = self.registry.get(id);
        let effective = entry.and_then(|one| self.documents.set.effective(one.capability()).ok());
        effective.map_or(SinkKind::Destructive, |capability| capability.sink())
    }
}

/// The capability that a server with this tool would propose to be. Where the contracts pin what
/// the server says, it says that.
fn proposal(documents: &Documents, tool: &str) -> Result<Capability, ReplayError> {
    let id = CapabilityId::parse(tool)?;
    let contract = Pattern::parse(tool).ok();
    let contract =
        contract.and_then(|pattern| documents.set.contracts().capabilities.get(&pattern));
    let pinned: Option<Digest> = contract.and_then(|contract| contract.upstream_digest);
    let draft = CapabilityDraft {
        input_schema: documents.schemas.get(&id).cloned().map(Arc::new),
        upstream_digest: Some(pinned.unwrap_or_else(|| Digest::of(Tag::UPSTREAM, tool.as_bytes()))),
        ..CapabilityDraft::new(id, tool, Effects::UNDECLARED, Agents::Any)
    };
    Ok(draft.build()?)
}

fn driver(record: &Record) -> FnDriver {
    let record = Arc::clone(record);
    FnDriver::inline(move |_| {
        let next = record.lock().ok().and_then(|mut record| record.take());
        Ok(next.unwrap_or_else(|| RawResult::text("")))
    })
}

/// What was recorded, as a tool would have answered it.
fn raw(step: &Step) -> RawResult {
    match (&step.error, &step.output) {
        (Some(Value::String(error)), _) => RawResult::text(error.clone()).failed(),
        (Some(error), _) if !error.is_null() => RawResult::json(error.clone()).failed(),
        (_, Value::String(text)) => RawResult::text(text.clone()),
        (_, other) => RawResult::json(other.clone()),
    }
}

fn open(
    documents: &Documents,
    registry: &Arc<Registry>,
    ledger: &Arc<dyn Ledger>,
    clock: Arc<dyn Clock>,
    random: &Arc<dyn Random>,
) -> Result<Kernel, KernelError> {
    Kernel::builder(Arc::clone(registry), Arc::clone(&documents.set))
        .with_store(Arc::clone(ledger), Arc::new(MemoryBlobs::new([0; BLOB_KEY])))
        .with_clock(clock)
        .with_random(Arc::clone(random))
        .with_settings(Settings { human_channel: false, ..Settings::default() })
        .open()
}

/// A run without bounds.
fn run(clock: &dyn Clock, random: &dyn Random) -> Result<RunContext, ReplayError> {
    let settings = RunSettings { budget: RunBudget::unlimited(), ..RunSettings::default() };
    Ok(RunContext::create(settings, clock, random)?)
}

fn reason(said: &Contribution) -> Value {
    json!({ "check": said.check, "reason": said.reason, "detail": said.detail })
}

/// A tool whose name is none; [`Stage::open`] refuses it before.
fn unnamed<'s>(id: &'s Value, step: usize, recorded: &'s Step) -> Line<'s> {
    Line {
        id,
        step,
        tool: &recorded.tool,
        verdict: Verdict::Deny,
        reason: weaver_types::ReasonCode::NotFound,
        detail: "no capability can have this name".to_owned(),
        reasons: Vec::new(),
        sink: SinkKind::Destructive,
        call: String::new(),
        released_by: None,
        micros: None,
    }
}

/// Microseconds of processor time of this thread.
#[cfg(unix)]
fn processor_time() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    let nanos = u64::try_from(now.tv_nsec).unwrap_or_default();
    seconds.saturating_mul(1_000_000).saturating_add(nanos / 1_000)
}

/// Microseconds since this was asked first.
#[cfg(not(unix))]
fn processor_time() -> u64 {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let start = START.get_or_init(std::time::Instant::now);
    u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX)
}
