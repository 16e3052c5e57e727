//! Tokens that were handed on: they narrow, share the root's one use, and die with it.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use weaver_agent_kernel::{Caller, Caveat, Invocation, RevocationSubject, Token, block_on};
use weaver_types::{AgentId, Effects, Principal, ReasonCode, ResponseMode, RunContext, Timestamp};

use crate::races::together;
use crate::support::{
    Asked, START, World, ana, kinds, memory, open_policy, principal, sqlite, succeeded,
};
use crate::tokens::token_id;

fn agent(name: &str) -> Caveat {
    Caveat::Agent(AgentId::parse(name).unwrap())
}

fn with_agent(name: &str) -> Principal {
    let agent = Some(AgentId::parse(name).unwrap());
    Principal { agent, ..ana() }
}

fn until(seconds: u64) -> Caveat {
    Caveat::ExpiresAt(START.after(Duration::from_secs(seconds)))
}

/// A token that leaves the arguments open.
fn granted(world: &World, run: &RunContext) -> Token {
    let who = ana();
    let asked = Asked::new("fs.write");
    let call = weaver_agent_kernel::Call { arguments: None, ..asked.call() };
    let caller = Caller { run, principal: &who };
    block_on(world.kernel.grant(caller, call)).token.unwrap()
}

fn world() -> (World, RunContext, Token) {
    let world = World::new(open_policy());
    world.tool("fs.write", Effects::WRITE_LOCAL);
    let run = world.run();
    let token = granted(&world, &run);
    (world, run, token)
}

fn invoke(
    world: &World,
    run: &RunContext,
    who: &Principal,
    (token, arguments): (&Token, &Value),
) -> Invocation {
    let caller = Caller { run, principal: who };
    block_on(world.kernel.invoke(caller, token, arguments, ResponseMode::Table))
}

#[test]
fn a_child_is_taken_only_as_its_caveats_say() {
    let (world, run, root) = world();
    let (a, b) = (json!({ "path": "a" }), json!({ "path": "b" }));
    let child = root.attenuate(&agent("worker")).unwrap();
    let child = child.attenuate(&Caveat::arguments(&a).unwrap()).unwrap();
    let child = child.attenuate(&until(60)).unwrap();
    let reason = |who: &Principal, arguments: &Value| {
        invoke(&world, &run, who, (&child, arguments)).decision.primary_reason()
    };
    assert_eq!(reason(&ana(), &a), ReasonCode::TokenScope, "the agent of the run is another");
    assert_eq!(reason(&with_agent("other"), &a), ReasonCode::TokenScope);
    assert_eq!(reason(&with_agent("worker"), &b), ReasonCode::TokenScope);
    let other = Principal { agent: with_agent("worker").agent, ..principal("bob", &["writer"]) };
    assert_eq!(reason(&other, &a), ReasonCode::TokenScope, "the principal is the root's");
    assert_eq!(world.executed(), 0);
    let mut named = run.clone();
    named.agent = AgentId::parse("worker").unwrap();
    assert!(succeeded(&invoke(&world, &named, &ana(), (&child, &a))), "the run's agent is meant");
}

#[test]
fn a_child_ends_when_it_says_and_never_after_its_root() {
    let (world, run, root) = world();
    let early = root.attenuate(&until(60)).unwrap();
    let late = root.attenuate(&until(1_000_000)).unwrap();
    let reason =
        |token: &Token| invoke(&world, &run, &ana(), (token, &json!({}))).decision.primary_reason();
    world.clock.advance(Duration::from_secs(60));
    assert_eq!(reason(&early), ReasonCode::TokenExpired);
    world.clock.advance(Duration::from_secs(3_600));
    assert_eq!(reason(&late), ReasonCode::TokenExpired);
    assert_eq!(world.executed(), 0);
}

#[test]
fn caveats_that_exclude_each_other_leave_nothing() {
    let (world, run, root) = world();
    let child = root.attenuate(&agent("a")).unwrap().attenuate(&agent("b")).unwrap();
    for name in ["a", "b"] {
        let done = invoke(&world, &run, &with_agent(name), (&child, &json!({})));
        assert_eq!(done.decision.primary_reason(), ReasonCode::TokenScope);
    }
    assert!(succeeded(&invoke(&world, &run, &ana(), (&root, &json!({})))), "the root is untouched");
}

#[test]
fn of_a_token_and_all_its_children_one_is_used_once() {
    let folder = tempfile::tempdir().unwrap();
    for ledger in [memory(), sqlite(&folder.path().join("ledger.db"))] {
        let world = World::on(ledger, open_policy());
        world.tool("fs.write", Effects::WRITE_LOCAL);
        let (run, who) = (world.run(), ana());
        let root = granted(&world, &run);
        let child = root.attenuate(&until(60)).unwrap();
        let grandchild = child.attenuate(&agent("default")).unwrap();
        let family = [root, child, grandchild];
        let done =
            together(|n| invoke(&world, &run, &who, (&family[n % 3], &json!({ "path": n }))));
        assert_eq!(done.iter().filter(|done| succeeded(done)).count(), 1);
        assert_eq!(world.executed(), 1);
        for refused in done.iter().filter(|done| !succeeded(done)) {
            assert_eq!(refused.decision.primary_reason(), ReasonCode::TokenUsed);
        }
        let intents = kinds(world.ledger.as_ref());
        assert_eq!(intents.iter().filter(|kind| *kind == "call.intent").count(), 1);
    }
}

#[test]
fn revoking_the_root_revokes_its_children() {
    let (world, run, root) = world();
    let child = root.attenuate(&until(60)).unwrap();
    let grandchild = child.attenuate(&agent("default")).unwrap();
    assert_eq!(token_id(&grandchild), token_id(&root), "they are one token");
    let subject = RevocationSubject::Token(token_id(&root));
    block_on(world.kernel.void_grants(subject, &ana().id)).unwrap();
    for token in [&root, &child, &grandchild] {
        let done = invoke(&world, &run, &ana(), (token, &json!({})));
        assert_eq!(done.decision.primary_reason(), ReasonCode::TokenRevoked);
    }
    assert_eq!(world.executed(), 0);
}

#[derive(Debug, Clone)]
enum Added {
    Agent(usize),
    Arguments(usize),
    Until(u64),
}

fn added() -> impl Strategy<Value = Added> {
    prop_oneof![
        (0..2_usize).prop_map(Added::Agent),
        (0..2_usize).prop_map(Added::Arguments),
        (0..4_u64).prop_map(|n| Added::Until(n * 30)),
    ]
}

const AGENTS: [&str; 2] = ["a", "b"];

impl Added {
    fn caveat(&self) -> Caveat {
        match self {
            Self::Agent(n) => agent(AGENTS[*n]),
            Self::Arguments(n) => Caveat::arguments(&json!({ "path": n })).unwrap(),
            Self::Until(seconds) => until(*seconds),
        }
    }

    /// The condition, read plainly.
    fn holds(&self, agent: usize, arguments: usize, seconds: u64) -> bool {
        match self {
            Self::Agent(n) => *n == agent,
            Self::Arguments(n) => *n == arguments,
            Self::Until(end) => seconds < *end,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// What is accepted with more caveats is accepted with fewer, for the same use; and exactly
    /// when all conditions hold.
    #[test]
    fn what_a_child_may_its_parent_may(
        chain in proptest::collection::vec(added(), 0..6),
        acting in 0..2_usize,
        arguments in 0..2_usize,
        seconds in 0..100_u64,
        bob in proptest::bool::weighted(0.1),
    ) {
        let (world, run, root) = world();
        // Nothing is executed, so that each token can be asked in turn.
        let mut run = run;
        run.dry_run = true;
        world.clock.set(Timestamp::from_micros(START.micros() + seconds as i64 * 1_000_000));
        let mut who = with_agent(AGENTS[acting]);
        if bob {
            who.id = principal("bob", &[]).id;
        }
        let value = json!({ "path": arguments });
        let accepted =
            |token: &Token| invoke(&world, &run, &who, (token, &value)).decision.is_allowed();
        let mut token = root.clone();
        let mut before = accepted(&root);
        prop_assert_eq!(before, !bob);
        for (n, added) in chain.iter().enumerate() {
            token = token.attenuate(&added.caveat()).unwrap();
            let now = accepted(&token);
            prop_assert!(before || !now, "caveat {n} widened the token");
            let holds = chain.iter().take(n + 1).all(|c| c.holds(acting, arguments, seconds));
            prop_assert_eq!(now, holds && !bob);
            before = now;
        }
        prop_assert_eq!(world.executed(), 0);
    }
}
