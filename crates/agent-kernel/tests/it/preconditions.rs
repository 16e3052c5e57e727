//! Preconditions: what was true when a call was decided is true when it is made.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};

use serde_json::{Value, json};
use weaver_agent_kernel::{Caller, Ports, PreconditionChecker, PreconditionError, block_on};
use weaver_policy::approval::Phase;
use weaver_types::{PathSource, Precondition, ReasonCode, Verdict};

use crate::approvals::{ALICE, Desk, RULES, documents, push};
use crate::support::{Asked, answer, memory, succeeded};

/// A world of facts that a test moves.
#[derive(Default)]
struct World(Mutex<BTreeMap<String, String>>);

impl World {
    fn set(&self, what: &str, value: &str) {
        self.0.lock().unwrap().insert(what.to_owned(), value.to_owned());
    }
}

impl PreconditionChecker for World {
    fn observe(
        &self,
        precondition: &Precondition,
        arguments: &Value,
    ) -> Result<String, PreconditionError> {
        let unreadable = || PreconditionError::Unreadable {
            what: precondition.to_string(),
            problem: "gone".to_owned(),
        };
        let name = match precondition {
            Precondition::GitHead { .. } => "head".to_owned(),
            Precondition::FileDigest { file: PathSource::Argument(at) } => {
                let path = at.find(arguments).and_then(Value::as_str);
                let pointer = at.as_str().to_owned();
                path.ok_or(PreconditionError::Argument { pointer })?.to_owned()
            }
            _ => panic!("on purpose"),
        };
        self.0.lock().unwrap().get(&name).cloned().ok_or_else(unreadable)
    }
}

const CONTRACTS: &str = r#"
[capabilities."git.push"]
preconditions = [{ check = "git_head", repository = { path = "/repo" } }]

[capabilities."fs.write"]
preconditions = [{ check = "file_digest", file = { argument = "/path" } }]

[capabilities."fs.read"]
preconditions = [{ check = "environment", name = "MODE" }]
"#;

fn desk(world: Option<&Arc<World>>) -> Desk {
    let preconditions = world.map(|world| Arc::clone(world) as Arc<dyn PreconditionChecker>);
    let ports = Ports { preconditions, ..Ports::default() };
    Desk::under(memory(), documents(RULES, CONTRACTS), ports)
}

fn facts(all: &[(&str, &str)]) -> Arc<World> {
    let world = World::default();
    for (what, value) in all {
        world.set(what, value);
    }
    Arc::new(world)
}

/// Cases: APR-05.
#[test]
fn a_world_that_moved_after_the_grant_refuses_the_call() {
    let world = facts(&[("head", "abc")]);
    let desk = desk(Some(&world));
    let open = desk.held(&push());
    assert_eq!(open.request.preconditions[0].value, "abc");
    let id = open.request.id;
    desk.grant(&id, "alice", ALICE);
    world.set("head", "def");
    let done = desk.push();
    assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::PreconditionFailed));
    for said in ["git_head", "expected abc", "observed def"] {
        assert!(done.decision.detail().contains(said), "{}", done.decision.detail());
    }
    assert_eq!(desk.world.executed(), 0);
    assert!(matches!(desk.world.kernel.approval_phase(&id), Some(Phase::Revoked { .. })));
    world.set("head", "abc");
    assert_eq!(desk.push().decision.verdict(), Verdict::Hold, "the grant does not come back");
}

#[test]
fn a_world_that_stayed_as_it_was_lets_the_call_go() {
    let world = facts(&[("head", "abc")]);
    let desk = desk(Some(&world));
    let id = desk.held(&push()).request.id;
    desk.grant(&id, "alice", ALICE);
    assert!(succeeded(&desk.push()));
}

#[test]
fn a_request_nobody_answered_gives_way_to_one_with_the_new_facts() {
    let world = facts(&[("head", "abc")]);
    let desk = desk(Some(&world));
    let old = desk.held(&push()).request.id;
    world.set("head", "def");
    let next = desk.held(&push());
    assert_eq!(next.request.supersedes, Some(old));
    assert_eq!(next.request.preconditions[0].value, "def");
}

#[test]
fn a_token_is_bound_to_the_facts_of_its_grant() {
    let world = facts(&[("a.txt", "one"), ("b.txt", "one")]);
    let desk = desk(Some(&world));
    let caller = Caller { run: &desk.run, principal: &desk.who };
    let asked = Asked::new("fs.write").with(json!({ "path": "a.txt" }));
    let grant = || block_on(desk.world.kernel.grant(caller, asked.call())).token.unwrap();
    let invoke =
        |token| block_on(desk.world.kernel.invoke(caller, &token, &asked.arguments, asked.mode));
    let token = grant();
    world.set("b.txt", "two");
    assert!(succeeded(&invoke(token)), "another file");
    let token = grant();
    world.set("a.txt", "two");
    let done = invoke(token);
    assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::PreconditionFailed));
    assert!(done.decision.detail().contains("expected one, observed two"));
    assert_eq!(desk.world.executed(), 1);
}

#[test]
fn what_cannot_be_observed_is_denied() {
    let none = desk(None);
    assert_eq!(answer(&none.push()), (Verdict::Deny, ReasonCode::PreconditionFailed));
    assert!(none.world.kernel.pending_approvals().is_empty());
    let empty = desk(Some(&facts(&[])));
    assert_eq!(answer(&empty.push()), (Verdict::Deny, ReasonCode::PreconditionFailed));
    let no_path = empty.call(&Asked::new("fs.write").with(json!({ "other": 1 })));
    assert_eq!(answer(&no_path), (Verdict::Deny, ReasonCode::PreconditionFailed));
    let panics = empty.call(&Asked::new("fs.read"));
    assert_eq!(answer(&panics), (Verdict::Deny, ReasonCode::PreconditionFailed));
    assert_eq!(empty.world.executed() + none.world.executed(), 0);
}

#[test]
fn a_fact_about_an_argument_needs_the_arguments() {
    let desk = desk(Some(&facts(&[])));
    let caller = Caller { run: &desk.run, principal: &desk.who };
    let asked = Asked::new("fs.write");
    let call = weaver_agent_kernel::Call { arguments: None, ..asked.call() };
    let grant = block_on(desk.world.kernel.grant(caller, call));
    assert_eq!(grant.decision.verdict(), Verdict::Ask);
    assert_eq!(grant.decision.primary_reason(), ReasonCode::ArgumentsRequired);
}

#[test]
fn an_observation_has_at_most_512_bytes() {
    for (bytes, denied) in [(512, false), (513, true), (514, true)] {
        let long = "x".repeat(bytes);
        let desk = desk(Some(&facts(&[("head", &long)])));
        let done = desk.push();
        let expected = if denied { Verdict::Deny } else { Verdict::Hold };
        assert_eq!(done.decision.verdict(), expected, "{bytes}");
        if denied {
            assert!(done.decision.detail().contains("has more than 512 bytes"), "{done:?}");
        }
    }
}

/// A checker that fails with this text.
struct Failing(String);

impl PreconditionChecker for Failing {
    fn observe(&self, precondition: &Precondition, _: &Value) -> Result<String, PreconditionError> {
        let what = precondition.to_string();
        Err(PreconditionError::Unreadable { what, problem: self.0.clone() })
    }
}

#[test]
fn the_error_of_a_checker_is_redacted() {
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let failing = Failing(format!("GET https://bot:{token}@files.example failed"));
    let ports = Ports { preconditions: Some(Arc::new(failing)), ..Ports::default() };
    let desk = Desk::under(memory(), documents(RULES, CONTRACTS), ports);
    let done = desk.call(&Asked::new("fs.read"));
    assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::PreconditionFailed));
    let said = done.decision.detail();
    assert!(said.contains("files.example failed") && !said.contains(&token), "{said}");
}

/// A checker that waits, once it is armed, until something was done in between.
struct Pausing {
    armed: AtomicBool,
    barrier: Barrier,
}

impl PreconditionChecker for Pausing {
    fn observe(&self, _: &Precondition, _: &Value) -> Result<String, PreconditionError> {
        if self.armed.swap(false, Ordering::SeqCst) {
            self.barrier.wait();
            self.barrier.wait();
        }
        Ok("same".to_owned())
    }
}

#[test]
fn a_policy_that_is_replaced_while_a_call_is_decided_refuses_the_call() {
    let pausing = Arc::new(Pausing { armed: AtomicBool::new(false), barrier: Barrier::new(2) });
    let checker = Arc::clone(&pausing) as Arc<dyn PreconditionChecker>;
    let ports = Ports { preconditions: Some(checker), ..Ports::default() };
    let desk = Desk::under(memory(), documents(RULES, CONTRACTS), ports);
    let (caller, asked) = (Caller { run: &desk.run, principal: &desk.who }, Asked::new("fs.read"));
    let kernel = &desk.world.kernel;
    let token = block_on(kernel.grant(caller, asked.call())).token.unwrap();
    pausing.armed.store(true, Ordering::SeqCst);
    let done = std::thread::scope(|scope| {
        let call =
            scope.spawn(|| block_on(kernel.invoke(caller, &token, &asked.arguments, asked.mode)));
        pausing.barrier.wait();
        let denying = "[[rules]]\nname = \"none\"\nmatch = {}\neffect = \"deny\"\n";
        block_on(kernel.replace_policy(documents(denying, CONTRACTS)));
        pausing.barrier.wait();
        call.join().unwrap()
    });
    assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::PolicyChanged));
    assert_eq!(desk.world.executed(), 0);
}
