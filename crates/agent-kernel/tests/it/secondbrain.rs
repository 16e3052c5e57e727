//! The given/when/then cases of the SecondBrain kernel and of Lodestar's runtime gate, and recorded
//! cases of agent-kernel (Python) on tokens and on what a model may choose. Where we differ, the
//! case stands in `docs/conformance/vector-deviations.md`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use weaver_agent_kernel::{
    Caller, DriverError, FnDriver, Invocation, Registry, RevocationSubject, Token, block_on,
};
use weaver_firewall::HandleQuery;
use weaver_types::{
    AgentId, AllowedAgents, CapabilityDraft, Effects, OsRandom, RawResult, ReasonCode,
    ResponseMode, RunBudget, RunContext, RunSettings, SafetyClass, SafetyMode, SystemClock,
    ToolErrorCode, ToolSpec, Verdict,
};

use crate::recorded::recorded;
use crate::support::{
    Asked, World, ana, draft, kinds, log, open_policy, principal, snapshot, succeeded,
};

fn code(done: &Invocation) -> ToolErrorCode {
    done.result.as_ref().unwrap().error_code.unwrap()
}

fn hexadecimal(text: &str, prefix: &str, digits: usize) -> bool {
    text.strip_prefix(prefix).is_some_and(|rest| {
        rest.len() == digits && rest.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Cases: SBK-01.
#[test]
fn a_run_begins_with_the_recorded_names_and_caps() {
    let then = &recorded("SBK-01")["then"];
    let run = RunContext::create(RunSettings::default(), &SystemClock::default(), &OsRandom);
    let run = run.unwrap();
    assert!(hexadecimal(run.run_id.as_str(), "run_", 16), "{}", then["run_id"]);
    assert!(hexadecimal(&run.trace_id, "", 32), "{}", then["trace_id"]);
    assert_eq!(then["agent_name_default"], run.agent.as_str());
    assert_eq!(then["locale"], json!(run.settings.locale));
    assert_eq!(then["safety_mode"], json!(run.settings.safety_mode));
    let (budget, caps) = (&run.settings.budget, &then["budget"]);
    assert_eq!(caps["max_tool_calls"], json!(budget.max_tool_calls));
    assert_eq!(caps["max_retries_per_tool"], json!(budget.max_retries_per_tool));
    assert_eq!(caps["max_prompt_tokens"], json!(budget.max_prompt_tokens));
    assert_eq!(caps["max_latency_ms"], json!(budget.max_latency_ms));
    let cents = budget.max_cost.unwrap().0 / 1_000;
    assert_eq!(caps["max_cost_usd_cents"].as_f64(), Some(cents as f64));
}

/// Cases: SBK-04.
#[test]
fn the_third_call_of_two_is_refused_and_charges_nothing() {
    assert!(recorded("SBK-04")["then"].as_str().unwrap().contains("tool_calls_used stays 2"));
    let world = World::new(open_policy());
    world.tool("x.y", Effects::READ_LOCAL);
    let budget = RunBudget { max_tool_calls: Some(2), ..RunBudget::unlimited() };
    let run = world.run_with(budget, SafetyMode::Normal);
    let calls: Vec<Invocation> =
        (0..3).map(|_| world.call(&run, &ana(), &Asked::new("x.y"))).collect();
    assert!(succeeded(&calls[0]) && succeeded(&calls[1]));
    assert_eq!(code(&calls[2]), ToolErrorCode::BudgetExceeded);
    assert_eq!(world.executed(), 2);
    let meters = snapshot(world.ledger.as_ref(), &run.run_id).unwrap().meters;
    assert_eq!(meters.tool_calls, 2);
}

/// How often a tool that fails `failures` times was called, and what came of it.
fn flaky(idempotent: bool, failures: u32, error: DriverError) -> (u32, Invocation, u64) {
    let world = World::new(open_policy());
    let tried = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&tried);
    let spec = CapabilityDraft { idempotent, max_retries: 2, ..draft("x.y", Effects::READ_LOCAL) };
    world.driven(
        spec,
        FnDriver::inline(move |_| {
            if count.fetch_add(1, Ordering::SeqCst) < failures {
                return Err(error.clone());
            }
            Ok(RawResult::text("done"))
        }),
    );
    let run = world.run();
    let done = world.call(&run, &ana(), &Asked::new("x.y"));
    let meters = snapshot(world.ledger.as_ref(), &run.run_id).unwrap().meters;
    (tried.load(Ordering::SeqCst), done, meters.tool_calls)
}

/// Cases: SBK-05.
#[test]
fn what_always_fails_is_tried_three_times_and_charged_once() {
    assert!(recorded("SBK-05")["then"].as_str().unwrap().contains("invoked 3 times"));
    let passing = || DriverError::Unavailable("not now".to_owned());
    let (tried, done, charged) = flaky(true, u32::MAX, passing());
    let result = done.result.unwrap();
    assert_eq!((tried, result.retries, result.success, charged), (3, 2, false, 1));
    // An error that does not pass is not tried again.
    let (tried, ..) = flaky(true, u32::MAX, DriverError::Failed("broken".to_owned()));
    assert_eq!(tried, 1);
}

/// Cases: SBK-06.
#[test]
fn what_is_not_idempotent_is_called_once() {
    assert!(recorded("SBK-06")["then"].as_str().unwrap().starts_with("invoked once"));
    let passing = || DriverError::Unavailable("not now".to_owned());
    let (tried, done, _) = flaky(false, 1, passing());
    assert_eq!((tried, done.result.unwrap().success), (1, false));
    let (tried, done, _) = flaky(true, 1, passing());
    assert_eq!((tried, done.result.unwrap().success), (2, true));
}

/// Cases: SBK-07.
#[test]
fn ids_and_bounds_are_those_of_the_pattern() {
    assert!(recorded("SBK-07")["given"].as_str().unwrap().contains("'a.b-c_d'"));
    let built = |id: &str| ToolSpec::new(id, "A tool").build().is_ok();
    assert_eq!(["Bad.Tool", "a", "1x", "a.b-c_d"].map(built), [false, false, false, true]);
    let mut retries = ToolSpec::new("a.b", "A tool");
    retries.max_retries = 6;
    assert!(retries.build().is_err());
    let mut timeout = ToolSpec::new("a.b", "A tool");
    timeout.timeout_ms = 99;
    assert!(timeout.build().is_err());
}

/// Cases: SBK-08.
#[test]
fn what_is_unknown_is_not_found_and_what_is_known_has_a_driver() {
    assert!(recorded("SBK-08")["then"].as_str().unwrap().starts_with("NOT_FOUND at step 1"));
    let world = World::new(open_policy());
    let done = world.call(&world.run(), &ana(), &Asked::new("no.such"));
    assert_eq!(code(&done), ToolErrorCode::NotFound);
    assert_eq!(done.decision.primary_reason(), ReasonCode::NotFound);
}

/// Cases: SBK-14.
#[test]
fn lists_go_by_class_and_by_agent() {
    assert!(recorded("SBK-14")["when"].as_str().unwrap().contains("filter_by_safety(NETWORK)"));
    let registry = Registry::new();
    let copilot = AgentId::parse("meeting_copilot").unwrap();
    let only = |names: &[&str]| {
        AllowedAgents::Only(names.iter().map(|name| AgentId::parse(name).unwrap()).collect())
    };
    let tools = [
        ("d.destroy", Effects::DESTROY_LOCAL, AllowedAgents::Any),
        ("c.network", Effects::READ_OPEN, only(&["meeting_copilot"])),
        ("b.write", Effects::WRITE_LOCAL, only(&["other"])),
        ("a.read", Effects::READ_LOCAL, AllowedAgents::Any),
    ];
    for (id, effects, agents) in tools {
        let capability = CapabilityDraft { agents, ..draft(id, effects) }.build().unwrap();
        registry.register_fn(capability, |_| Ok(RawResult::text(""))).unwrap();
    }
    let ids = |found: Vec<Arc<weaver_agent_kernel::RegisteredCapability>>| -> Vec<String> {
        found.iter().map(|entry| entry.capability().id().to_string()).collect()
    };
    let network = ids(registry.filter_by_safety(SafetyClass::Network));
    assert_eq!(network, ["a.read", "b.write", "c.network"]);
    let agents = ids(registry.filter_for_agent(&copilot));
    assert_eq!(agents, ["a.read", "c.network", "d.destroy"]);
}

/// Cases: RTG-01.
#[test]
fn what_was_never_registered_is_refused_and_recorded() {
    assert!(recorded("RTG-01")["then"].as_str().unwrap().contains("unregistered_tool"));
    let world = World::new(open_policy());
    let done = world.call(&world.run(), &ana(), &Asked::new("no.such"));
    assert_eq!(done.decision.verdict(), Verdict::Deny);
    assert_eq!(kinds(world.ledger.as_ref()), ["run.started", "call.refused"]);
    assert_eq!(log(world.ledger.as_ref())[1].payload["reason"], "not_found");
}

/// Cases: RTG-02.
#[test]
fn what_nobody_releases_never_runs_and_its_request_expires() {
    assert!(recorded("RTG-02")["then"].as_str().unwrap().contains("body never runs"));
    let world = World::new(open_policy());
    world.tool("x.send", Effects::WRITE_OPEN);
    let (run, asked) = (world.run(), Asked::new("x.send"));
    let held = world.call(&run, &ana(), &asked);
    assert_eq!(held.decision.verdict(), Verdict::Hold);
    let first = held.request.unwrap();
    assert_eq!(world.call(&run, &ana(), &asked).request, Some(first.clone()), "still the same");
    world.clock.advance(Duration::from_secs(901));
    let again = world.call(&run, &ana(), &asked);
    assert_eq!(again.decision.verdict(), Verdict::Hold);
    assert_ne!(again.request, Some(first));
    assert_eq!(world.executed(), 0);
    assert!(kinds(world.ledger.as_ref()).contains(&"approval.expired".to_owned()));
}

/// Cases: RTG-03.
#[test]
fn what_never_answers_fails_alone_and_says_timeout() {
    assert!(recorded("RTG-03")["then"].as_str().unwrap().contains("reason names timeout"));
    let world = World::new(open_policy());
    let spec = CapabilityDraft { timeout_ms: 100, ..draft("x.wait", Effects::READ_LOCAL) };
    world.driven(spec, FnDriver::asynchronous(|_| std::future::pending()));
    world.tool("x.read", Effects::READ_LOCAL);
    let run = world.run();
    let done = world.call(&run, &ana(), &Asked::new("x.wait"));
    assert_eq!(code(&done), ToolErrorCode::Timeout);
    assert!(done.result.unwrap().error_message.contains("timeout"));
    assert!(succeeded(&world.call(&run, &ana(), &Asked::new("x.read"))));
}

// Recorded cases of agent-kernel.

struct Granted {
    world: World,
    run: RunContext,
    token: Token,
}

fn granted() -> Granted {
    let world = World::new(open_policy());
    world.tool("c.x", Effects::READ_LOCAL).tool("c.y", Effects::READ_LOCAL);
    let run = world.run();
    let caller = Caller { run: &run, principal: &ana() };
    let token = block_on(world.kernel.grant(caller, Asked::new("c.x").call())).token.unwrap();
    Granted { world, run, token }
}

impl Granted {
    fn invoke(&self, token: &Token, who: &str) -> ReasonCode {
        let who = principal(who, &["reader", "writer"]);
        let caller = Caller { run: &self.run, principal: &who };
        let kernel = &self.world.kernel;
        let done = block_on(kernel.invoke(caller, token, &json!({}), ResponseMode::Table));
        if succeeded(&done) { ReasonCode::TokenVerified } else { done.decision.primary_reason() }
    }
}

/// The token's bytes, changed.
fn tampered(token: &Token, change: impl Fn(&mut Vec<u8>)) -> Token {
    use base64::Engine as _;
    let base64 = base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let mut bytes = base64.decode(token.to_text()).unwrap();
    change(&mut bytes);
    Token::from_text(base64.encode(bytes))
}

/// Another capability of the same length under the old MAC.
fn other_capability(bytes: &mut [u8]) {
    let at = bytes.windows(3).position(|three| three == b"c.x").unwrap();
    bytes[at + 2] = b'y';
}

/// A bit of the claims, so far before the MAC.
fn flipped(before: usize) -> impl Fn(&mut Vec<u8>) {
    move |bytes| {
        let at = bytes.len() - 32 - before;
        bytes[at] ^= 1;
    }
}

/// Cases: T02.
#[test]
fn a_token_is_good_for_what_it_names_and_for_nothing_else() {
    let case = recorded("T02");
    let recorded: Vec<&str> = case["output"]["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["error"]["type"].as_str().unwrap_or("ok"))
        .collect();
    let invoked = |who: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let granted = granted();
        granted.invoke(&tampered(&granted.token, change), who)
    };
    let revoked = {
        let granted = granted();
        let subject = RevocationSubject::Principal(ana().id);
        block_on(granted.world.kernel.void_grants(subject, &ana().id)).unwrap();
        granted.invoke(&tampered(&granted.token, flipped(20)), "ana")
    };
    let ours = [
        invoked("ana", &|_| {}),
        invoked("ana", &flipped(20)),
        invoked("ana", &|bytes| bytes.truncate(bytes.len() - 32)),
        invoked("ana", &flipped(1)),
        revoked,
        invoked("bob", &|_| {}),
        invoked("ana", &|bytes| other_capability(bytes)),
        invoked("bob", &|bytes| other_capability(bytes)),
    ];
    let theirs = |code: ReasonCode| match code {
        ReasonCode::TokenVerified => "ok",
        ReasonCode::TokenInvalid => "TokenInvalid",
        ReasonCode::TokenExpired => "TokenExpired",
        ReasonCode::TokenRevoked => "TokenRevoked",
        ReasonCode::TokenScope => "TokenScopeError",
        other => panic!("{other}"),
    };
    let ours = ours.map(theirs);
    for (at, (ours, theirs)) in ours.iter().zip(&recorded).enumerate() {
        match at {
            // The signature is looked at before anything that it covers is believed.
            3 | 4 | 6 | 7 => assert_eq!(*ours, "TokenInvalid", "case {at}, there {theirs}"),
            _ => assert_eq!(ours, theirs, "case {at}"),
        }
    }
    assert_eq!(recorded.len(), ours.len());
}

/// Cases: X03.
#[test]
fn an_argument_named_operation_is_data() {
    assert_eq!(recorded("X03")["output"]["result"], json!(["DELETED"]), "that is the defect");
    let world = World::new(open_policy());
    world.tool("b.list", Effects::READ_LOCAL);
    let deleted = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&deleted);
    world.answering(draft("b.delete_all", Effects::DESTROY_LOCAL), move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        Ok(RawResult::text("DELETED"))
    });
    let arguments = json!({ "operation": "b.delete_all" });
    let done = world.call(&world.run(), &ana(), &Asked::new("b.list").with(arguments));
    assert!(succeeded(&done));
    assert_eq!(deleted.load(Ordering::SeqCst), 0);
}

/// Cases: X07.
#[test]
fn a_stored_result_is_closed_with_the_grant_that_made_it() {
    let defect = recorded("X07");
    assert_eq!(defect["output"]["expanded_rows_after_exhaustion_and_revocation"], 50);
    let world = World::new(open_policy());
    let rows: Value = (0..200).map(|n| json!({ "id": n })).collect();
    world.answering(draft("db.list", Effects::READ_LOCAL), move |_| {
        Ok(RawResult::json(rows.clone()))
    });
    let (run, who) = (world.run(), ana());
    let done = world.call(&run, &who, &Asked::new("db.list").mode(ResponseMode::Summary));
    let handle = done.result.unwrap().data.unwrap().handle.unwrap().handle_id;
    let expand = || {
        let query = HandleQuery::parse(&json!({ "limit": 5 })).unwrap();
        let caller = Caller { run: &run, principal: &who };
        block_on(world.kernel.expand(caller, &handle, &query))
    };
    assert!(succeeded(&expand()));
    let subject = RevocationSubject::Principal(who.id.clone());
    block_on(world.kernel.void_grants(subject, &who.id)).unwrap();
    let refused = expand();
    assert!(!succeeded(&refused));
    assert_eq!(refused.decision.primary_reason(), ReasonCode::HandleRevoked);
}

/// Every case of these groups is answered for here or, as named, elsewhere.
#[test]
fn every_case_of_these_groups_has_its_test() {
    let all: Value = serde_json::from_str(include_str!("../data/kernel_vectors.json")).unwrap();
    let ids: BTreeSet<&str> =
        all["cases"].as_object().unwrap().keys().map(String::as_str).collect();
    let here = [
        "SBK-01", "SBK-04", "SBK-05", "SBK-06", "SBK-07", "SBK-08", "SBK-14", "RTG-01", "RTG-02",
        "RTG-03", "T02", "X03", "X07",
    ];
    // The policies in weaver-policy, the contracts in `contracts`, the runs of agents in
    // `agent_runtime`, the search in `registry_search`, the trace in `trace_vectors`, raw results
    // in `tokens`; T01 is a form of bytes that is not ours.
    let elsewhere = [
        "SBK-02", "SBK-03", "SBK-09", "SBK-10", "SBK-11", "SBK-12", "SBK-15", "C01", "K03", "T01",
        "X06",
    ];
    let known: BTreeSet<&str> = here.into_iter().chain(elsewhere).collect();
    assert_eq!(ids, known);
}
