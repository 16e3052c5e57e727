//! Memory under the kernel: a model remembers and recalls through decided calls, and what came from
//! untrusted output is untrusted in every later run.

use std::path::Path;
use std::sync::Arc;

use contextweaver::memory::{BundleParts, FactStore, Memory, MemoryBundle, PutOptions};
use serde_json::{Value, json};
use weaver_agent_kernel::{Call, Caller, Invocation, Kernel, Registry, block_on};
use weaver_drivers::memory::{kernel_log, register};
use weaver_policy::{
    Contract, Contracts, Effect, MatchConditions, Pattern, Policy, PolicySet, Rule,
};
use weaver_trace_store::{RecordsOptions, SqliteRecords};
use weaver_types::ledger::{Ledger, RecordStore};
use weaver_types::{
    CapabilityId, CapabilityRequest, Confidentiality, Effects, Integrity, Label, Principal,
    PrincipalId, RawResult, ReasonCode, ResponseMode, RunBudget, RunContext, RunSettings, Rung,
    SinkKind, SystemClock, ToolSpec, Verdict,
};

pub(crate) fn durable(path: &Path) -> Memory {
    let store: Arc<dyn RecordStore> =
        Arc::new(SqliteRecords::open(path, RecordsOptions::default()).unwrap());
    let parts = BundleParts::new(Arc::new(SystemClock::default()));
    MemoryBundle::create(BundleParts { memory_store: Some(store), ..parts }).durable
}

/// One session: a kernel of its own over the memory file.
struct Session {
    kernel: Arc<Kernel>,
    ledger: Arc<dyn Ledger>,
    run: RunContext,
}

fn ana() -> Principal {
    Principal::new(PrincipalId::parse("ana").unwrap()).with_roles(["reader", "writer"])
}

/// Everything is allowed but what the floor stops, and that an untrusted run remembers.
fn policy() -> Policy {
    let untrusted = MatchConditions {
        capability: vec![Pattern::parse("kernel.memory.put").unwrap()],
        integrity: [Integrity::Untrusted].into_iter().collect(),
        ..MatchConditions::default()
    };
    let rule = Rule {
        matches: untrusted,
        reason: "an untrusted run does not remember by itself".to_owned(),
        ..Rule::new("untrusted-writes", Effect::RequireApproval)
    };
    Policy::new("open").with_rule(rule).with_rule(Rule::new("all", Effect::Allow))
}

impl Session {
    fn new(path: &Path, policy: Policy) -> Self {
        let registry = Arc::new(Registry::new());
        register(&registry, &durable(path)).unwrap();
        let tool = |id: &str, effects| ToolSpec::new(id, id).with_effects(effects).build().unwrap();
        let page = tool("web.read", Effects::READ_OPEN);
        registry.register_fn(page, |_| Ok(RawResult::text("the office moved to Oslo"))).unwrap();
        let send = tool("mail.send", Effects::WRITE_OPEN);
        registry.register_fn(send, |_| Ok(RawResult::text("sent"))).unwrap();
        // On a rung below the floor, so that only the flow can hold it.
        let contract = Contract {
            rung: Some(Rung::L3),
            lower_rung: true,
            sink: Some(SinkKind::ExternalSend),
            ..Contract::default()
        };
        let contracts = Contracts::new("c").with(Pattern::parse("mail.send").unwrap(), contract);
        let policy = PolicySet::from_code(policy, contracts).unwrap();
        let kernel = Kernel::in_memory(registry, policy).unwrap();
        let ledger = Arc::clone(kernel.ledger());
        let settings = RunSettings { budget: RunBudget::unlimited(), ..RunSettings::default() };
        let run = kernel.start_run(settings).unwrap();
        Self { kernel: Arc::new(kernel), ledger, run }
    }

    fn call(&self, id: &str, arguments: Value) -> Invocation {
        let request = CapabilityRequest::new(CapabilityId::parse(id).unwrap(), "a goal");
        let (arguments, mode) = (Some(&arguments), ResponseMode::Table);
        let call = Call { request: &request, arguments, mode };
        block_on(self.kernel.execute(Caller { run: &self.run, principal: &ana() }, call))
    }

    /// What a call that goes well shows.
    fn shown(&self, id: &str, arguments: Value) -> (String, Label) {
        let done = self.call(id, arguments);
        assert!(done.decision.is_allowed(), "{id}: {:?}", done.decision);
        let result = done.result.unwrap();
        assert!(result.success, "{id}: {result:?}");
        let frame = result.data.unwrap();
        (format!("{frame:?}"), frame.label)
    }

    fn answer(&self, id: &str, arguments: Value) -> (Verdict, ReasonCode) {
        let done = self.call(id, arguments);
        (done.decision.verdict(), done.decision.primary_reason())
    }

    fn log(&self) -> Vec<Value> {
        let events = self.ledger.events(0, 1_000).unwrap();
        events
            .iter()
            .map(|e| serde_json::from_slice(e.payload.as_ref().unwrap()).unwrap())
            .collect()
    }
}

fn open() -> Policy {
    Policy::new("open").with_rule(Rule::new("all", Effect::Allow))
}

#[test]
fn what_an_untrusted_run_remembers_is_untrusted_in_every_later_session() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let first = Session::new(&path, open());
    first.shown("kernel.memory.put", json!({ "key": "mine", "value": "UTC" }));
    let (_, label) = first.shown("web.read", json!({}));
    assert_eq!(label.integrity, Integrity::Untrusted);
    first.shown("kernel.memory.put", json!({ "key": "office", "value": "Oslo", "source": "user" }));
    let fact = json!({ "key": "office", "value": "Oslo", "kind": "fact" });
    first.shown("kernel.memory.put", fact);
    first.shown("kernel.memory.put", json!({ "value": "Read about Oslo", "kind": "episode" }));
    drop(first);

    let clean = Session::new(&path, open());
    let (text, label) = clean.shown("kernel.memory.get", json!({ "key": "mine" }));
    assert!(text.contains("UTC"), "{text}");
    assert_eq!(label.integrity, Integrity::Trusted, "written before anything untrusted was seen");
    let (text, _) = clean.shown("kernel.memory.get", json!({ "key": "none" }));
    assert!(text.contains("false"), "{text}");
    assert_eq!(clean.answer("mail.send", json!({})).0, Verdict::Allow);

    for (id, arguments) in [
        ("kernel.memory.get", json!({ "key": "office" })),
        ("kernel.memory.get", json!({ "key": "office", "kind": "fact" })),
        ("kernel.memory.recall", json!({ "query": "where is the office?" })),
    ] {
        let later = Session::new(&path, open());
        let (text, label) = later.shown(id, arguments);
        assert!(text.contains("Oslo"), "{text}");
        assert_eq!(label.integrity, Integrity::Untrusted, "{id}");
        assert!(!label.taints.is_empty(), "{id}: it names what tainted");
        let held = later.answer("mail.send", json!({}));
        assert_eq!(held, (Verdict::Hold, ReasonCode::UntrustedInfluence), "{id}");
    }
    let entry = durable(&path).entry("office").unwrap().unwrap();
    assert_eq!(entry.source, "model:user", "a model speaks for nobody else");
    assert_eq!(entry.origin.principal, Some(PrincipalId::parse("ana").unwrap()));
    assert!(entry.origin.run.is_some() && entry.origin.call.is_some());
}

#[test]
fn policy_decides_whether_an_untrusted_run_may_remember() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let session = Session::new(&path, policy());
    session.shown("kernel.memory.put", json!({ "key": "a", "value": 1 }));
    let wrong = session.answer("kernel.memory.put", json!({ "value": 2, "label": "trusted" }));
    assert_eq!(wrong.1, ReasonCode::InvalidArguments, "a model sets no label");
    session.shown("web.read", json!({}));
    let held = session.answer("kernel.memory.put", json!({ "key": "b", "value": 2 }));
    assert_eq!(held, (Verdict::Hold, ReasonCode::ApprovalRequired));
    let forgotten = session.answer("kernel.memory.delete", json!({ "key": "a" }));
    assert_eq!(forgotten.0, Verdict::Hold, "forgetting is destructive");
    let memory = durable(&path);
    assert_eq!(memory.list_keys(None, 10).unwrap().items, ["a"]);
}

#[test]
fn calls_to_memory_leave_their_decision_keys_and_no_value() {
    let folder = tempfile::tempdir().unwrap();
    let session = Session::new(&folder.path().join("memory.db"), open());
    let secret = json!({ "password": "hunter2-hunter2" });
    session.shown("kernel.memory.put", json!({ "key": "a", "value": secret }));
    session.shown("kernel.memory.get", json!({ "key": "a" }));
    let log = session.log();
    let keys: Vec<&str> = log.iter().filter_map(|event| event["decision_key"].as_str()).collect();
    let dispatch = "kernel.tool.dispatch";
    let wanted =
        ["kernel.run.started", dispatch, "kernel.memory.put", dispatch, "kernel.memory.get"];
    assert_eq!(keys, wanted);
    assert!(log.iter().all(|event| !event.to_string().contains("hunter2")), "{log:?}");
}

#[test]
fn a_host_that_reads_memory_itself_taints_its_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let facts = FactStore::new(&durable(&path));
    facts.add_claim("office", json!("Oslo"), &PutOptions::new("web")).unwrap();
    let session = Session::new(&path, open());
    let log = kernel_log(Arc::clone(&session.kernel), session.run.clone(), ana());
    let store = Arc::new(SqliteRecords::open(&path, RecordsOptions::default()).unwrap());
    let parts = BundleParts::new(Arc::new(SystemClock::default()));
    let (event_log, memory_store) = (Some(log), Some(store as Arc<dyn RecordStore>));
    let memory = MemoryBundle::create(BundleParts { event_log, memory_store, ..parts });
    let trusted = Label::new(Confidentiality::Internal, Integrity::Trusted);
    memory.episodic.put("step", json!(1), &PutOptions::new("host").with_label(trusted)).unwrap();
    assert_eq!(session.answer("mail.send", json!({})).0, Verdict::Allow);
    FactStore::new(&memory.durable).get("office").unwrap().unwrap();
    let held = session.answer("mail.send", json!({}));
    assert_eq!(held, (Verdict::Hold, ReasonCode::UntrustedInfluence));
    let log = session.log();
    let keys: Vec<&str> = log.iter().filter_map(|event| event["decision_key"].as_str()).collect();
    assert!(keys.contains(&"kernel.memory.put") && keys.contains(&"kernel.memory.get"), "{keys:?}");
}
