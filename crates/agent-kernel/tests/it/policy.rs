//! What is decided, as far as the kernel has a part in it.

use serde_json::json;
use weaver_agent_kernel::{Caller, block_on};
use weaver_policy::Policy;
use weaver_types::{
    CapabilityId, CheckKind, CheckResult, Effects, EventKind, HandleId, ReasonCode, ResponseMode,
    RunBudget, SafetyMode, Verdict,
};

use crate::support::{
    Asked, World, ana, answer, draft, kinds, log, open_policy, principal, succeeded,
};

fn support_desk() -> World {
    let world = World::new(Policy::baseline().unwrap());
    world
        .tool("docs.search", Effects::READ_LOCAL)
        .tool("tickets.update_status", Effects::WRITE_LOCAL)
        .tool("tickets.delete", Effects::DESTROY_LOCAL);
    world
}

#[test]
fn the_reference_flow_comes_out_as_written() {
    let world = support_desk();
    let (run, agent) = (world.run(), ana());
    let shortlist = ["docs.search", "tickets.update_status", "tickets.delete"];
    let shortlist = shortlist.map(|id| CapabilityId::parse(id).unwrap());
    let caller = Caller { run: &run, principal: &agent };
    block_on(world.kernel.record_shortlist(caller, "solve ticket 7", &shortlist)).unwrap();
    let read = world.call(&run, &agent, &Asked::new("docs.search"));
    assert_eq!(answer(&read), (Verdict::Allow, ReasonCode::DefaultPolicyAllow));
    assert!(succeeded(&read));

    let write = Asked::new("tickets.update_status").with(json!({"id": 7, "status": "solved"}));
    let asked = world.call(&run, &agent, &write);
    assert_eq!(answer(&asked), (Verdict::Ask, ReasonCode::InsufficientJustification));
    assert_eq!(world.executed(), 1);
    let done = world.call(&run, &agent, &write.justified());
    assert_eq!(answer(&done), (Verdict::Allow, ReasonCode::DefaultPolicyAllow));
    assert!(succeeded(&done));
    assert_eq!(world.executed(), 2);

    let delete = world.call(&run, &agent, &Asked::new("tickets.delete").justified());
    assert_eq!(answer(&delete), (Verdict::Deny, ReasonCode::MissingRole));
    assert_eq!(world.executed(), 2);
    let told = world.kernel.explain(&agent, &delete.call).unwrap();
    assert_eq!(told.decision.primary_reason(), ReasonCode::MissingRole);

    let expected = [
        "run.started", "route.shortlisted", "call.intent", "call.outcome", "call.refused",
        "call.intent", "call.outcome", "call.refused",
    ];
    assert_eq!(kinds(world.ledger.as_ref()), expected);
    let routed = log(world.ledger.as_ref()).remove(1);
    assert_eq!(routed.payload["shortlist"], json!(shortlist), "what is denied was on it");
}

#[test]
fn silence_is_a_denial() {
    let world = World::new(Policy::new("empty"));
    world.tool("fs.read", Effects::READ_LOCAL);
    let done = world.call(&world.run(), &ana(), &Asked::new("fs.read"));
    assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::NoMatchingRule));
    assert_eq!(world.executed(), 0);
}

#[test]
fn the_floor_holds_what_a_rule_allows() {
    let world = World::new(open_policy());
    world.tool("mail.send", Effects::WRITE_OPEN).tool("disk.wipe", Effects::DESTROY_LOCAL);
    for id in ["mail.send", "disk.wipe"] {
        let done = world.call(&world.run(), &principal("root", &["admin"]), &Asked::new(id));
        assert_eq!(answer(&done), (Verdict::Hold, ReasonCode::FloorHold));
    }
    assert_eq!(world.executed(), 0);
}

#[test]
fn safe_and_strict_runs_only_read_locally() {
    let world = World::new(open_policy());
    world
        .tool("fs.read", Effects::READ_LOCAL)
        .tool("web.read", Effects::READ_OPEN)
        .tool("fs.write", Effects::WRITE_LOCAL);
    for mode in [SafetyMode::Safe, SafetyMode::Strict] {
        let run = world.run_with(RunBudget::unlimited(), mode);
        for id in ["web.read", "fs.write"] {
            let done = world.call(&run, &ana(), &Asked::new(id));
            assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::ModeForbids), "{id}");
        }
        let read = world.call(&run, &ana(), &Asked::new("fs.read").with(json!({"secretly": 7})));
        assert!(succeeded(&read));
        let frame = read.result.unwrap().data.unwrap();
        let hidden = mode == SafetyMode::Strict;
        assert_eq!(frame.mode == ResponseMode::HandleOnly, hidden);
        assert_eq!(!serde_json::to_string(&frame).unwrap().contains("secretly"), hidden);
    }
}

#[test]
fn hidden_foreign_and_unknown_look_the_same() {
    let world = World::new(open_policy());
    world.tool("fs.read", Effects::READ_LOCAL);
    let mut stranger = ana();
    stranger.tenant = weaver_types::Tenant::parse("elsewhere").unwrap();
    let unknown = world.call(&world.run(), &ana(), &Asked::new("no.such"));
    let foreign = world.call(&world.run(), &stranger, &Asked::new("fs.read"));
    assert_eq!(unknown.decision, foreign.decision);
    assert_eq!(answer(&unknown), (Verdict::Deny, ReasonCode::NotFound));
    assert!(world.kernel.explain(&stranger, &foreign.call).is_none());
}

#[test]
fn a_dry_run_decides_and_leaves_no_trace() {
    let world = support_desk();
    let (mut run, who) = (world.run(), ana());
    let real = Caller { run: &run.clone(), principal: &who };
    let asked = Asked::new("docs.search");
    let token = block_on(world.kernel.grant(real, asked.call())).token.unwrap();

    run.dry_run = true;
    let dry = Caller { run: &run, principal: &who };
    let would = world.call(&run, &who, &asked);
    assert!(would.decision.is_allowed() && would.result.is_none());
    let refused = world.call(&run, &who, &Asked::new("tickets.delete"));
    assert_eq!(refused.decision.primary_reason(), ReasonCode::MissingRole);
    let invoked = block_on(world.kernel.invoke(dry, &token, &asked.arguments, asked.mode));
    assert!(invoked.decision.is_allowed() && invoked.result.is_none());
    let id = HandleId::parse("hdl_1").unwrap();
    let view = block_on(world.kernel.expand(dry, &id, &Default::default()));
    assert_eq!(view.decision.primary_reason(), ReasonCode::HandleNotFound);
    block_on(world.kernel.record_shortlist(dry, "tidy up", &[])).unwrap();
    assert_eq!(world.executed(), 0);
    assert_eq!(world.ledger.head().unwrap().size, 0);
}

#[test]
fn nothing_in_the_arguments_selects_a_tool() {
    let world = World::new(open_policy());
    world.tool("docs.search", Effects::READ_LOCAL);
    world
        .answering(crate::support::draft("disk.wipe", Effects::DESTROY_LOCAL), |_| panic!("wiped"));
    let arguments = json!({
        "operation": "disk.wipe", "tool": "disk.wipe", "capability_id": "disk.wipe",
        "_justification": "because"
    });
    let done = world.call(&world.run(), &ana(), &Asked::new("docs.search").with(arguments));
    assert!(succeeded(&done));
    assert_eq!(done.result.unwrap().tool_id.as_str(), "docs.search");
    assert_eq!(world.executed(), 1);
}

#[test]
fn arguments_fit_their_schema_or_are_asked_for() {
    let world = World::new(open_policy());
    let mut spec = crate::support::draft("fs.read", Effects::READ_LOCAL);
    spec.input_schema = Some(
        json!({
            "type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}
        })
        .into(),
    );
    world.register(spec);
    for wrong in [json!({}), json!({"path": 7}), json!([]), json!("path"), json!(null)] {
        let done = world.call(&world.run(), &ana(), &Asked::new("fs.read").with(wrong));
        assert_eq!(answer(&done), (Verdict::Ask, ReasonCode::InvalidArguments));
    }
    assert_eq!(world.executed(), 0);
    let right = Asked::new("fs.read").with(json!({"path": "a"}));
    assert!(succeeded(&world.call(&world.run(), &ana(), &right)));
}

#[test]
fn what_the_host_rejects_is_recorded_and_never_reads_as_allowed() {
    let world = support_desk();
    let (run, who) = (world.run(), ana());
    let said = CheckResult::new(CheckKind::System, Verdict::Allow, ReasonCode::RuleAllow, "no");
    let asked = Asked::new("docs.search");
    let caller = Caller { run: &run, principal: &who };
    let done = block_on(world.kernel.reject(caller, &asked.request, said));
    assert_eq!(done.decision.verdict(), Verdict::Deny);
    assert_eq!(kinds(world.ledger.as_ref()), ["run.started", "call.refused"]);
}

#[test]
fn notes_and_shortlists_are_redacted() {
    let world = support_desk();
    let (run, who) = (world.run(), ana());
    let caller = Caller { run: &run, principal: &who };
    block_on(world.kernel.record_shortlist(caller, "mail jane.roe@corp.example.com", &[])).unwrap();
    let fields = json!({"error": "password=hunter2!"}).as_object().unwrap().clone();
    block_on(world.kernel.record_host_event(EventKind::UpstreamLost, fields)).unwrap();
    let text = format!(
        "{:?}",
        log(world.ledger.as_ref()).iter().map(|e| e.payload.to_string()).collect::<Vec<_>>()
    );
    assert!(text.contains("shortlist") && !text.contains("jane.roe") && !text.contains("hunter2"));
}

#[test]
fn a_principal_keeps_nothing_that_the_policy_in_force_takes_away() {
    let writers = |roles: &[&str]| {
        let mut rule = weaver_policy::Rule::new("writes", weaver_policy::Effect::Allow);
        rule.require.roles = weaver_policy::NameCondition::any(["writer"]);
        Policy::new("roles").with_rule(rule).with_principal(principal("ana", roles))
    };
    let world = World::new(writers(&["writer"]));
    world.tool("notes.write", Effects::WRITE_LOCAL);
    // Read while the first policy was in force, and used under the second.
    let (run, ana) = (world.run(), principal("ana", &["writer"]));
    assert!(succeeded(&world.call(&run, &ana, &Asked::new("notes.write"))));
    block_on(world.kernel.replace_policy(crate::support::set(writers(&[]))));
    let done = world.call(&run, &ana, &Asked::new("notes.write"));
    assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::MissingRole));
    // Nor does a policy add to what the host brought.
    block_on(world.kernel.replace_policy(crate::support::set(writers(&["writer"]))));
    let done = world.call(&run, &principal("ana", &[]), &Asked::new("notes.write"));
    assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::MissingRole));
}

#[test]
fn a_principal_has_no_role_that_the_policy_in_force_does_not_give_it() {
    let text = "kind = \"policy\"\nformat = 1\nid = \"p\"\nversion = 1\n\
        [[rules]]\nname = \"trainees\"\nmatch = { roles = { any = [\"trainee\"] } }\neffect = \"deny\"\n\
        [[rules]]\nname = \"all\"\nmatch = {}\neffect = \"allow\"\n";
    let mut policy = Policy::from_code(text).unwrap();
    let who = crate::support::principal("ana", &["reader", "trainee"]);
    let named = crate::support::principal("ana", &["reader"]);
    policy.principals.insert(who.id.clone(), named);
    let world = World::new(policy);
    world.answering(draft("db.rows", Effects::READ_LOCAL), |_| {
        Ok(weaver_types::RawResult::json((0..60).map(|n| json!({ "n": n })).collect()))
    });
    let run = world.run();
    let done = world.call(&run, &who, &Asked::new("db.rows"));
    assert!(succeeded(&done), "neither at the grant nor at the call: {done:?}");
    let handle = done.frame().unwrap().handle.clone().unwrap().handle_id;
    let query = weaver_firewall::HandleQuery::parse(&json!({ "limit": 2 })).unwrap();
    let caller = Caller { run: &run, principal: &who };
    let view = block_on(world.kernel.expand(caller, &handle, &query));
    assert!(succeeded(&view), "nor at a view: {view:?}");
    let bob = crate::support::principal("bob", &["trainee"]);
    assert!(
        !succeeded(&world.call(&run, &bob, &Asked::new("db.rows"))),
        "who is not named keeps it"
    );
}

#[test]
fn a_rule_may_speak_of_views_alone() {
    let text = "kind = \"policy\"\nformat = 1\nid = \"p\"\nversion = 1\n\
        [[rules]]\nname = \"views\"\nmatch = { operation = \"view\" }\neffect = \"deny\"\n\
        [[rules]]\nname = \"all\"\nmatch = {}\neffect = \"allow\"\n";
    let world = World::new(Policy::from_code(text).unwrap());
    world.answering(draft("db.rows", Effects::READ_LOCAL), |_| {
        Ok(weaver_types::RawResult::json((0..60).map(|n| json!({ "n": n })).collect()))
    });
    let (run, who) = (world.run(), ana());
    let done = world.call(&run, &who, &Asked::new("db.rows"));
    assert!(succeeded(&done), "{done:?}");
    let handle = done.frame().unwrap().handle.clone().unwrap().handle_id;
    let query = weaver_firewall::HandleQuery::parse(&json!({ "limit": 2 })).unwrap();
    let caller = Caller { run: &run, principal: &who };
    let view = block_on(world.kernel.expand(caller, &handle, &query));
    assert_eq!(answer(&view), (Verdict::Deny, ReasonCode::ExplicitDenyRule));
}

#[test]
fn an_event_of_the_host_is_recorded_with_its_fields_redacted() {
    let world = World::new(open_policy());
    let fields = json!({ "server": "mail", "said": "ask jane.roe@corp.example.com", "n": 7 });
    let fields = fields.as_object().unwrap().clone();
    block_on(world.kernel.record_host_event(EventKind::UpstreamLost, fields)).unwrap();
    let told = log(world.ledger.as_ref());
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].kind, EventKind::UpstreamLost.as_str());
    let fields = &told[0].payload["fields"];
    assert_eq!((&fields["server"], &fields["n"]), (&json!("mail"), &json!(7)));
    assert!(!fields.to_string().contains("jane.roe"), "{fields}");
}
