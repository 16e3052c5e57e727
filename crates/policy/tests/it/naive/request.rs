//! Random requests: what is asked of a policy, with the proposal of the capability.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use serde_json::{Map, Number, Value};
use weaver_policy::approval::{ApprovalRequest, HeldCheck, Nonce};
use weaver_policy::signal::{
    BeliefId, Severity, Signal, SignalError, SignalKind, SignalReport, SignalSubject,
};
use weaver_policy::{
    PolicyQuery, PolicySet, RateLimitWindows, ReleaseProof, ValueOrigin, ValueOrigins,
};
use weaver_types::{
    AgentId, AllowedAgents, ApprovalRequestId, CallId, Capability, CapabilityDraft, CapabilityId,
    CapabilityRequest, Confidentiality, Constraints, Decision, Digest, Effects, Impact, Integrity,
    JsonPointer, JustificationSource, Label, LogId, Operation, Principal, PrincipalId,
    ResponseMode, RunId, Rung, SafetyMode, SensitivityTag, SinkKind, Timestamp, World,
};

use super::dice::Dice;
use super::words::*;

/// Where the values at some places came from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origins(pub(crate) BTreeMap<String, ValueOrigin>);

impl ValueOrigins for Origins {
    fn origin(&self, at: &JsonPointer, _value: &Value) -> Option<ValueOrigin> {
        self.0.get(at.as_str()).copied()
    }
}

/// Everything that is asked, beside the documents.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) proposal: Capability,
    pub(crate) principal: Principal,
    pub(crate) request: CapabilityRequest,
    pub(crate) arguments: Option<Value>,
    pub(crate) origins: Option<Origins>,
    pub(crate) operation: Operation,
    pub(crate) mode: SafetyMode,
    pub(crate) label: Label,
    pub(crate) now: Timestamp,
    pub(crate) human: bool,
    pub(crate) run: Option<RunId>,
    pub(crate) signals: Vec<Signal>,
    pub(crate) a_source_failed: bool,
    /// Whether everything that is held is released, where arguments are known.
    pub(crate) released: bool,
}

impl Asked {
    pub(crate) fn decide(
        &self,
        set: &PolicySet,
        effective: &Capability,
        windows: Option<&RateLimitWindows>,
    ) -> Decision {
        set.decide(&self.query(effective, windows, &self.report()))
    }

    /// A release of everything that this decision holds, by enough people.
    pub(crate) fn release(
        &self,
        effective: &Capability,
        decision: &Decision,
    ) -> Option<ReleaseProof> {
        let holds = HeldCheck::from_decision(decision);
        if !self.released || self.operation == Operation::View || holds.is_empty() {
            return None;
        }
        let request = ApprovalRequest {
            v: 1,
            id: ApprovalRequestId::parse("request").unwrap(),
            nonce: Nonce::parse(&"0".repeat(32)).unwrap(),
            tenant: self.principal.tenant.clone(),
            log: LogId::parse("log").unwrap(),
            capability: effective.id().clone(),
            fingerprint: effective.fingerprint(),
            arguments: self.arguments.clone()?,
            folder: None,
            policy: decision.basis().policy,
            contracts: decision.basis().contracts,
            principal: self.principal.id.clone(),
            agent: self.principal.agent.clone(),
            run: RunId::parse("run").unwrap(),
            label: self.label.clone(),
            holds,
            authority: decision.authority().clone(),
            detail: String::new(),
            intent: String::new(),
            justification: None,
            preconditions: Vec::new(),
            opened_at: self.now,
            deadline: self.now.after(Duration::from_secs(900)),
            supersedes: None,
            unreviewed_writes: 0,
        };
        let people = ["eve", "kim", "lea"].map(str::to_owned).into();
        ReleaseProof::vouched_by_host(&request, None, &people, self.now).ok()
    }

    pub(crate) fn report(&self) -> SignalReport {
        let report = SignalReport::from_signals(self.signals.clone());
        if self.a_source_failed {
            report.with_failure("watch", &SignalError::Poisoned)
        } else {
            report
        }
    }

    pub(crate) fn query<'a>(
        &'a self,
        effective: &'a Capability,
        windows: Option<&'a RateLimitWindows>,
        signals: &'a SignalReport,
    ) -> PolicyQuery<'a> {
        PolicyQuery {
            arguments: self.arguments.as_ref(),
            origins: self.origins.as_ref().map(|origins| origins as &dyn ValueOrigins),
            operation: self.operation,
            mode: self.mode,
            label: &self.label,
            now: self.now,
            human_channel: self.human,
            run: self.run.as_ref(),
            windows,
            signals,
            ..PolicyQuery::new(effective, &self.principal, &self.request)
        }
    }

    pub(crate) fn random(dice: &mut Dice) -> Self {
        let proposal = proposal(dice);
        let request = request(dice, proposal.id().clone());
        let operation = if dice.chance(80) { Operation::Invoke } else { Operation::View };
        let with_arguments = dice.chance(if operation == Operation::Invoke { 80 } else { 0 });
        Self {
            principal: principal(dice),
            request,
            arguments: with_arguments.then(|| arguments(dice)),
            origins: dice.chance(60).then(|| origins(dice)),
            operation,
            mode: dice.pick(&[
                SafetyMode::Normal,
                SafetyMode::Normal,
                SafetyMode::Normal,
                SafetyMode::Safe,
                SafetyMode::Strict,
            ]),
            label: Label::new(
                dice.pick(&LEVELS),
                dice.pick(&[Integrity::Trusted, Integrity::Untrusted]),
            ),
            now: now(dice),
            human: dice.chance(50),
            run: dice.chance(60).then(|| RunId::parse(dice.pick(RUNS)).unwrap()),
            signals: if dice.chance(20) {
                (0..=dice.below(3)).map(|_| signal(dice)).collect()
            } else {
                Vec::new()
            },
            a_source_failed: dice.chance(2),
            released: dice.chance(25),
            proposal,
        }
    }
}

const LEVELS: [Confidentiality; 4] = [
    Confidentiality::Public,
    Confidentiality::Internal,
    Confidentiality::Confidential,
    Confidentiality::Restricted,
];
const ALL_RUNGS: [Rung; 6] = [Rung::L0, Rung::L1, Rung::L2, Rung::L3, Rung::L4, Rung::L5];
const ALL_SINKS: [SinkKind; 5] = [
    SinkKind::None,
    SinkKind::ExternalSend,
    SinkKind::Payment,
    SinkKind::Credential,
    SinkKind::Destructive,
];
const TAGS_OF_SENSITIVITY: [SensitivityTag; 4] =
    [SensitivityTag::Memory, SensitivityTag::Pii, SensitivityTag::Pci, SensitivityTag::Secrets];

fn sometimes(dice: &mut Dice, percent: usize, from: &[&str]) -> BTreeSet<String> {
    if dice.chance(percent) {
        dice.some(from, 2).into_iter().map(str::to_owned).collect()
    } else {
        BTreeSet::new()
    }
}

fn agents(dice: &mut Dice, from: &[&str]) -> BTreeSet<AgentId> {
    sometimes(dice, 80, from).iter().map(|id| AgentId::parse(id).unwrap()).collect()
}

fn proposal(dice: &mut Dice) -> Capability {
    let id = CapabilityId::parse(dice.pick(IDS)).unwrap();
    let from_server = dice.chance(40);
    let impact = dice.pick(&[Impact::Read, Impact::Read, Impact::Write, Impact::Destroy]);
    let effects =
        Effects { impact, world: dice.pick(&[World::Closed, World::Closed, World::Open]) };
    let admitted = if dice.chance(80) {
        AllowedAgents::Any
    } else {
        AllowedAgents::Only(agents(dice, AGENTS))
    };
    let rung = if dice.chance(4) {
        Some(dice.pick(&ALL_RUNGS))
    } else if dice.chance(25) {
        Some(effects.rung().max(dice.pick(&[Rung::L1, Rung::L3, Rung::L4])))
    } else {
        None
    };
    let draft = CapabilityDraft {
        rung,
        sink: dice.chance(30).then(|| dice.pick(&ALL_SINKS)),
        idempotent: dice.chance(50),
        permissions: sometimes(dice, 15, PERMISSIONS),
        sensitivity: if dice.chance(30) {
            dice.some(&TAGS_OF_SENSITIVITY, 2).into_iter().collect()
        } else {
            BTreeSet::new()
        },
        tags: sometimes(dice, 60, TAGS),
        allowed_fields: sometimes(dice, 20, FIELDS),
        timeout_ms: dice.pick(&[100, 5_000, 30_000]),
        output_label: Label::new(
            dice.pick(&LEVELS),
            dice.pick(&[Integrity::Trusted, Integrity::Untrusted]),
        ),
        clearance: dice.pick(&LEVELS),
        upstream_digest: from_server.then(|| Digest::from_bytes([dice.pick(&DIGESTS); 32])),
        ..CapabilityDraft::new(id.clone(), id.as_str(), effects, admitted)
    };
    draft.build().unwrap()
}

fn principal(dice: &mut Dice) -> Principal {
    let mut principal = Principal::new(PrincipalId::parse(dice.pick(PRINCIPALS)).unwrap());
    principal.roles = sometimes(dice, 80, ROLES);
    if dice.chance(20) {
        principal.roles.extend(ROLES.iter().map(|role| (*role).to_owned()));
    }
    principal.permissions = sometimes(dice, 70, PERMISSIONS);
    for (name, values) in ATTRIBUTES {
        if dice.chance(50) {
            principal.attributes.insert((*name).to_owned(), dice.pick(values).to_owned());
        }
    }
    principal.agent = dice.chance(70).then(|| AgentId::parse(dice.pick(AGENTS)).unwrap());
    principal
}

fn request(dice: &mut Dice, id: CapabilityId) -> CapabilityRequest {
    let mut request = CapabilityRequest::new(id, "a goal");
    request.intent = dice.chance(60).then(|| dice.pick(INTENTS).to_owned());
    for (name, values) in SCOPES {
        if dice.chance(40) {
            request.scope.insert((*name).to_owned(), dice.pick(values).to_owned());
        }
    }
    if dice.chance(70) {
        let source = dice.pick(&[
            JustificationSource::Human,
            JustificationSource::Host,
            JustificationSource::Model,
        ]);
        let text = dice.pick(&[
            "",
            "  four ",
            "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}",
            "exactly fifteen",
            "  exactly fifteen chars of them  ",
        ]);
        request = request.justified(text, source);
    }
    if dice.chance(20) {
        request.constraints = Constraints {
            max_rows: dice.chance(50).then(|| dice.pick(&[5, 20])),
            mode: dice.chance(50).then(|| dice.pick(&[ResponseMode::Raw, ResponseMode::Summary])),
            allowed_fields: dice.chance(50).then(|| sometimes(dice, 80, FIELDS)),
            ..Constraints::default()
        };
    }
    request
}

fn number(dice: &mut Dice) -> Value {
    match dice.below(4) {
        0 => Value::from(dice.pick(&[
            0_i64,
            1,
            5,
            -1,
            2,
            9_007_199_254_740_993,
            -9_007_199_254_740_991,
            i64::MIN,
        ])),
        1 => Value::from(dice.pick(&[
            i64::MAX as u64,
            u64::MAX,
            9_223_372_036_854_775_808,
            9_007_199_254_740_991,
            9_007_199_254_740_992,
        ])),
        _ => Number::from_f64(dice.pick(&[
            0.0,
            -0.0,
            1.0,
            5.0,
            0.1,
            5.5,
            -1.0,
            9_007_199_254_740_992.0,
            9_223_372_036_854_775_808.0,
            1e300,
            1.9e19,
        ]))
        .map_or(Value::Null, Value::Number),
    }
}

fn value(dice: &mut Dice, depth: usize) -> Value {
    match dice.below(if depth == 0 { 6 } else { 8 }) {
        0 | 1 => Value::from(dice.pick(TEXTS)),
        2 | 3 => number(dice),
        4 => Value::from(dice.chance(50)),
        5 if dice.chance(40) => Value::Null,
        5 => Value::from(""),
        6 => (0..dice.below(4)).map(|_| value(dice, depth - 1)).collect(),
        _ => {
            let mut map = Map::new();
            for key in ["x", "y"] {
                if dice.chance(50) {
                    map.insert(key.to_owned(), value(dice, depth - 1));
                }
            }
            Value::Object(map)
        }
    }
}

fn arguments(dice: &mut Dice) -> Value {
    if dice.chance(8) {
        return value(dice, 1);
    }
    let mut map = Map::new();
    for key in ["to", "n", "list", "path", "url", "deep", "a/b", ""] {
        if dice.chance(65) {
            let one = match key {
                _ if dice.chance(15) => value(dice, 2),
                "to" => Value::from(dice.pick(TEXTS)),
                "n" => number(dice),
                "path" => Value::from(dice.pick(PATHS)),
                "url" => Value::from(dice.pick(URLS)),
                "list" => (0..dice.below(4)).map(|_| value(dice, 1)).collect(),
                "deep" => Value::Object(Map::from_iter([("x".to_owned(), value(dice, 1))])),
                _ => value(dice, 1),
            };
            map.insert(key.to_owned(), one);
        }
    }
    Value::Object(map)
}

fn origins(dice: &mut Dice) -> Origins {
    let mut origins = Origins::default();
    for at in POINTERS {
        if dice.chance(60) {
            let origin = dice.pick(&[ValueOrigin::User, ValueOrigin::Trusted]);
            origins.0.insert((*at).to_owned(), origin);
        }
    }
    origins
}

/// Something that a watcher noticed.
pub(crate) fn signal(dice: &mut Dice) -> Signal {
    let subject = match dice.below(5) {
        0 => SignalSubject::Action(CallId::parse("call-1").unwrap()),
        1 => SignalSubject::Belief(BeliefId::parse("belief").unwrap()),
        _ => SignalSubject::ToolSequence,
    };
    Signal {
        source: "watch".to_owned(),
        kind: dice.pick(&[
            SignalKind::SentinelAlert,
            SignalKind::CalibrationFlag,
            SignalKind::LowConfidenceBelief,
        ]),
        severity: dice.pick(&[Severity::Info, Severity::Warning, Severity::Critical]),
        subject,
        detail: "noticed".to_owned(),
    }
}

/// A time around those that documents name, often exactly at an edge.
fn now(dice: &mut Dice) -> Timestamp {
    let minute = match dice.below(3) {
        0 => dice.pick(&[0_i64, 390, 480, 720, 1320, 1439]),
        1 => 30 * i64::try_from(dice.below(48)).unwrap(),
        _ => i64::try_from(dice.below(24 * 60)).unwrap(),
    };
    let day = i64::try_from(dice.below(8)).unwrap() - 3;
    let off = dice.pick(&[0_i64, 0, -1, 1, 500_000]);
    Timestamp::from_micros((FRIDAY + day * 86_400 + minute * 60) * 1_000_000 + off)
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let principal = &self.principal;
        writeln!(f, "--- asked at {} in {:?} {:?}", self.now, self.operation, self.mode)?;
        writeln!(f, "proposal {:?}", self.proposal.spec())?;
        writeln!(f, "rung {:?} sink {:?}", self.proposal.rung(), self.proposal.sink())?;
        writeln!(f, "{principal:?}\n{:?}\n{:?}", self.request, self.label)?;
        match &self.arguments {
            Some(arguments) => writeln!(f, "arguments {arguments}")?,
            None => writeln!(f, "no arguments")?,
        }
        writeln!(f, "{:?} human {} run {:?}", self.origins, self.human, self.run)?;
        writeln!(f, "signals {:?} failed {}", self.signals, self.a_source_failed)?;
        writeln!(f, "released {}", self.released)
    }
}
