//! Drill-downs: a handle is no bearer credential.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use weaver_agent_kernel::{Caller, Invocation, Ports, RevocationSubject, block_on};
use weaver_firewall::{Firewall, HandleQuery};
use weaver_types::{
    Effects, HandleId, ManualClock, Principal, RawResult, ReasonCode, ResponseMode, RunContext,
    RunId, TokenId,
};

use crate::support::{
    Asked, START, World, ana, draft, fold, log, memory, open_policy, principal, set, snapshot,
    succeeded,
};

fn rows() -> Value {
    (0..200).map(|n| json!({"id": n, "password": "hunter2!", "name": format!("row {n}")})).collect()
}

struct Stored {
    world: World,
    run: RunContext,
    who: Principal,
    done: Invocation,
    handle: HandleId,
}

fn stored() -> Stored {
    let world = World::new(open_policy());
    world.answering(draft("db.query", Effects::READ_LOCAL), |_| Ok(RawResult::json(rows())));
    let (run, who) = (world.run(), ana());
    let done = world.call(&run, &who, &Asked::new("db.query").mode(ResponseMode::Summary));
    let frame = done.result.as_ref().unwrap().data.as_ref().unwrap();
    let handle = frame.handle.as_ref().unwrap().handle_id.clone();
    Stored { world, run, who, done, handle }
}

impl Stored {
    fn view(&self, who: &Principal, id: &HandleId) -> Invocation {
        let query = HandleQuery::parse(&json!({"offset": 150, "limit": 5})).unwrap();
        let caller = Caller { run: &self.run, principal: who };
        block_on(self.world.kernel.expand(caller, id, &query))
    }
}

#[test]
fn a_model_never_sees_raw_output() {
    let stored = stored();
    let view = stored.view(&stored.who, &stored.handle);
    assert!(succeeded(&view), "{view:?}");
    let frame = view.result.unwrap().data.unwrap();
    assert_eq!(frame.table.len(), 5);
    let all = format!("{:?} {}", stored.done.result, serde_json::to_string(&frame).unwrap());
    assert!(all.contains("row 15") && !all.contains("hunter2"));
    let log = log(stored.world.ledger.as_ref());
    assert!(log.iter().all(|event| !event.payload.to_string().contains("row 15")));
    assert_eq!(log.last().unwrap().kind, "handle.resolved");
    let state = snapshot(stored.world.ledger.as_ref(), &stored.run.run_id).unwrap();
    assert_eq!(state, fold(stored.world.ledger.as_ref(), &stored.run.run_id));
    assert!(state.label.taints.contains(&stored.done.call));
}

/// The names of fields are words of whoever wrote the result.
#[test]
fn a_refused_query_that_names_fields_of_a_result_taints_the_run() {
    let stored = stored();
    let (fresh, kernel) = (stored.world.run(), &stored.world.kernel);
    let caller = Caller { run: &fresh, principal: &stored.who };
    let ask = |id: &HandleId| {
        let query = HandleQuery::parse(&json!({"filter": {"nofield": 1}})).unwrap();
        block_on(kernel.expand(caller, id, &query))
    };
    let taints = || {
        let state = snapshot(stored.world.ledger.as_ref(), &fresh.run_id);
        state.is_some_and(|state| state.label.taints.contains(&stored.done.call))
    };
    let nothing = HandleId::parse("hdl_00000000000000000000000000000000").unwrap();
    assert!(!succeeded(&ask(&nothing)) && !taints());
    let refused = ask(&stored.handle);
    assert!(refused.decision.detail().contains("name"), "{refused:?}");
    assert!(taints());
    let state = snapshot(stored.world.ledger.as_ref(), &fresh.run_id).unwrap();
    assert_eq!(state, fold(stored.world.ledger.as_ref(), &fresh.run_id));
}

#[test]
fn every_invoke_stores_its_result_but_one_in_raw_mode() {
    let world = World::new(open_policy());
    world.answering(draft("db.one", Effects::READ_LOCAL), |_| {
        Ok(RawResult::json(json!([{"a": 1}])))
    });
    let (run, admin) = (world.run(), principal("root", &["admin"]));
    let call = |mode| {
        let done = world.call(&run, &admin, &Asked::new("db.one").mode(mode));
        assert!(succeeded(&done), "{mode:?}: {done:?}");
        done.result.unwrap().data.unwrap().handle
    };
    for mode in
        [ResponseMode::Auto, ResponseMode::Table, ResponseMode::Summary, ResponseMode::HandleOnly]
    {
        let handle = call(mode).unwrap_or_else(|| panic!("{mode:?} has no handle")).handle_id;
        let query = HandleQuery::parse(&json!({"limit": 5})).unwrap();
        let caller = Caller { run: &run, principal: &admin };
        let view = block_on(world.kernel.expand(caller, &handle, &query));
        assert_eq!(json!(view.result.unwrap().data.unwrap().table), json!([{"a": 1}]), "{mode:?}");
    }
    assert_eq!(call(ResponseMode::Raw), None);
}

#[test]
fn a_handle_of_somebody_else_looks_unknown() {
    let stored = stored();
    let other = principal("bob", &["admin"]);
    let unknown = HandleId::parse("hdl_00000000000000000000000000000000").unwrap();
    let (theirs, nobodys) = (stored.view(&other, &stored.handle), stored.view(&other, &unknown));
    assert_eq!(theirs.decision.primary_reason(), ReasonCode::HandleNotFound);
    let blank = |done: &Invocation, id: &HandleId| {
        done.result.as_ref().unwrap().error_message.replace(id.as_str(), "it")
    };
    assert_eq!(blank(&theirs, &stored.handle), blank(&nobodys, &unknown));
    assert!(succeeded(&stored.view(&stored.who, &stored.handle)));
}

#[test]
fn a_handle_of_a_run_that_is_kept_apart_is_unknown_in_another() {
    let stored = stored();
    let query = HandleQuery::parse(&json!({"limit": 5})).unwrap();
    let elsewhere = stored.world.run();
    let expand = |run: &RunContext, others: &BTreeSet<RunId>| {
        let caller = Caller { run, principal: &stored.who };
        let kernel = &stored.world.kernel;
        block_on(kernel.expand_isolated(caller, &stored.handle, &query, others))
    };
    let apart = BTreeSet::from([stored.run.run_id.clone()]);
    let refused = expand(&elsewhere, &apart);
    assert_eq!(refused.decision.primary_reason(), ReasonCode::HandleNotFound);
    assert!(succeeded(&expand(&stored.run, &apart)), "it is its own");
    assert!(succeeded(&expand(&elsewhere, &BTreeSet::new())), "nobody keeps it apart");
}

#[test]
fn a_view_ends_with_its_grant_run_or_principal() {
    for nth in 0..3 {
        let stored = stored();
        let name = stored.done.call.as_str().replace("call_", "tok_");
        let subject = match nth {
            0 => RevocationSubject::Principal(stored.who.id.clone()),
            1 => RevocationSubject::Run(stored.run.run_id.clone()),
            _ => RevocationSubject::Token(TokenId::parse(name).unwrap()),
        };
        block_on(stored.world.kernel.void_grants(subject, &stored.who.id)).unwrap();
        let view = stored.view(&stored.who, &stored.handle);
        assert_eq!(view.decision.primary_reason(), ReasonCode::HandleRevoked);
        assert!(!succeeded(&view));
    }
}

#[test]
fn a_view_is_decided_under_the_rules_in_force_now() {
    let stored = stored();
    block_on(stored.world.kernel.replace_policy(set(weaver_policy::Policy::new("empty"))));
    let view = stored.view(&stored.who, &stored.handle);
    assert_eq!(view.decision.primary_reason(), ReasonCode::NoMatchingRule);
}

#[test]
fn only_its_own_principal_and_an_admin_are_told_of_a_call() {
    let stored = stored();
    let call = &stored.done.call;
    let kernel = &stored.world.kernel;
    assert!(kernel.explain(&stored.who, call).is_some());
    assert!(kernel.explain(&principal("bob", &["reader"]), call).is_none());
    assert!(kernel.explain(&principal("root", &["admin"]), call).is_some());
}

#[test]
fn masked_values_have_numbers_of_their_run() {
    let world = World::new(open_policy());
    world.answering(draft("mail.find", Effects::READ_LOCAL), |arguments| {
        let who = arguments["who"].as_str().unwrap().to_owned();
        Ok(RawResult::text(format!("from {who}@corp.example.com to joe@corp.example.com")))
    });
    let who = ana();
    let shown = |run: &RunContext, name: &str| {
        let asked =
            Asked::new("mail.find").with(json!({ "who": name })).mode(ResponseMode::Summary);
        let done = world.call(run, &who, &asked);
        done.result.unwrap().data.unwrap().facts.join(" ")
    };
    let (one, other) = (world.run(), world.run());
    assert!(shown(&one, "jane").contains("from [EMAIL_1] to [EMAIL_2]"));
    assert!(shown(&one, "anna").contains("from [EMAIL_3] to [EMAIL_2]"));
    assert!(shown(&other, "anna").contains("from [EMAIL_1] to [EMAIL_2]"));
    let log = log(world.ledger.as_ref());
    assert!(log.iter().all(|event| !event.payload.to_string().contains("corp.example")));
}

#[test]
fn a_firewall_of_the_host_masks_what_its_rules_say_in_views_too() {
    const RULE: &str = "[[rule]]\nid = \"badge\"\ntype = \"badge\"\nanchors = [\"badge-\"]\n\
        pattern = 'badge-([0-9]{6})'\nmasks = [[\"my badge-123456\", \"123456\"]]\n\
        keeps = [\"badge-12\"]\n";
    let firewall = Firewall::builder().rules(RULE).build().unwrap();
    let ports = Ports { firewall: Some(firewall), ..Ports::default() };
    let clock = Arc::new(ManualClock::new(START));
    let world = World::with(memory(), clock, set(open_policy()), ports);
    let plain = world.kernel.firewall().redact_text("my badge-654321").text;
    assert!(!plain.contains("654321"), "{plain}");
    let rows = || (0..200).map(|n| json!({"id": n, "note": format!("badge-{}", 100_000 + n)}));
    world.answering(draft("db.query", Effects::READ_LOCAL), move |_| {
        Ok(RawResult::json(rows().collect()))
    });
    let (run, who) = (world.run(), ana());
    let done = world.call(&run, &who, &Asked::new("db.query").mode(ResponseMode::Table));
    let frame = done.result.as_ref().unwrap().data.as_ref().unwrap();
    let shown = serde_json::to_string(frame).unwrap();
    assert!(shown.contains("badge-[BADGE_1]") && !shown.contains("badge-1"), "{shown}");
    let handle = frame.handle.as_ref().unwrap().handle_id.clone();
    let query = HandleQuery::parse(&json!({"offset": 150, "limit": 5})).unwrap();
    let caller = Caller { run: &run, principal: &who };
    let view = block_on(world.kernel.expand(caller, &handle, &query));
    let view = serde_json::to_string(view.result.unwrap().data.as_ref().unwrap()).unwrap();
    assert!(view.contains("badge-[BADGE_51]") && !view.contains("badge-1"), "{view}");
}

#[test]
fn a_view_is_as_confidential_as_the_frame_of_its_call() {
    use weaver_types::{CapabilityDraft, SensitivityTag};
    let world = World::new(open_policy());
    let people = CapabilityDraft {
        sensitivity: [SensitivityTag::Pii].into(),
        ..draft("crm.people", Effects::READ_LOCAL)
    };
    world.answering(people, |_| {
        Ok(RawResult::json(
            (0..60).map(|n| json!({"n": n, "mail": "a@corp.example.org"})).collect(),
        ))
    });
    let (run, who) = (world.run(), ana());
    let done = world.call(&run, &who, &Asked::new("crm.people").mode(ResponseMode::Table));
    let frame = done.frame().unwrap();
    let handle = frame.handle.as_ref().unwrap().handle_id.clone();
    let query = HandleQuery::parse(&json!({"limit": 2})).unwrap();
    let caller = Caller { run: &run, principal: &who };
    let view = block_on(world.kernel.expand(caller, &handle, &query));
    let label = &view.frame().unwrap().label;
    assert_eq!(label.confidentiality, frame.label.confidentiality);
    assert!(label.confidentiality < SensitivityTag::Pii.stored_confidentiality());
}
