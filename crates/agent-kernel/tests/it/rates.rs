//! Limits: how many calls in how many seconds.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, OnceLock};
use std::time::Duration;

use serde_json::Value;
use weaver_agent_kernel::{Caller, Ports, PreconditionChecker, PreconditionError, block_on};
use weaver_types::{
    Clock, Effects, ManualClock, Precondition, Principal, ReasonCode, Remedy, Tenant, Verdict,
};

use crate::approvals::{Desk, documents};
use crate::races::together;
use crate::support::{Asked, START, World, answer, memory, principal, sqlite, succeeded};

/// Three calls in a minute, by principal and capability.
const LIMITS: &str = r#"
[[rules]]
name = "all"
match = {}
effect = "allow"

[[limits]]
name = "few"
match = {}
max_calls = 3
window_s = 60
"#;

fn desk() -> Desk {
    Desk::under(memory(), documents(LIMITS, ""), Ports::default())
}

fn limited(desk: &Desk, id: &str) -> bool {
    let done = desk.call(&Asked::new(id));
    if succeeded(&done) {
        return false;
    }
    assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::RateLimited), "{done:?}");
    true
}

#[test]
fn the_window_slides() {
    let desk = desk();
    for second in 0..3 {
        assert!(!limited(&desk, "fs.read"), "{second}");
        desk.world.clock.advance(Duration::from_secs(10));
    }
    let done = desk.call(&Asked::new("fs.read"));
    let said = done.decision.obstacles().next().unwrap().discharge.clone();
    assert_eq!(said, Remedy::Wait { retry_after_ms: 30_000 });
    assert!(!limited(&desk, "fs.write"), "another capability is counted by itself");
    let bob = principal("bob", &[]);
    assert!(succeeded(&desk.world.call(&desk.run, &bob, &Asked::new("fs.read"))));
    desk.world.clock.advance(Duration::from_secs(30));
    assert!(!limited(&desk, "fs.read"), "the first has left the window");
    assert!(limited(&desk, "fs.read"));
}

#[test]
fn only_calls_that_are_made_count() {
    let desk = desk();
    for _ in 0..5 {
        assert_eq!(desk.push().decision.verdict(), Verdict::Hold);
    }
    for _ in 0..3 {
        let caller = weaver_agent_kernel::Caller { run: &desk.run, principal: &desk.who };
        let asked = Asked::new("fs.read");
        let grant = weaver_agent_kernel::block_on(desk.world.kernel.grant(caller, asked.call()));
        assert!(grant.token.is_some());
    }
    for _ in 0..3 {
        assert!(!limited(&desk, "fs.read"));
    }
    assert!(limited(&desk, "fs.read"));
}

#[test]
fn of_64_calls_at_once_no_more_are_made_than_the_limit_allows() {
    let folder = tempfile::tempdir().unwrap();
    for ledger in [memory(), sqlite(&folder.path().join("ledger.db"))] {
        let desk = Desk::under(ledger, documents(LIMITS, ""), Ports::default());
        let done = together(|_| limited(&desk, "fs.read"));
        assert_eq!(done.iter().filter(|limited| !**limited).count(), 3);
        assert_eq!(desk.world.executed(), 3);
    }
}

#[test]
fn a_restart_gives_no_calls_back() {
    let desk = desk();
    for _ in 0..3 {
        assert!(!limited(&desk, "fs.read"));
    }
    desk.world.clock.advance(Duration::from_secs(20));
    let desk = desk.restarted(documents(LIMITS, ""));
    assert!(limited(&desk, "fs.read"));
    assert!(!limited(&desk, "fs.write"));
    desk.world.clock.advance(Duration::from_secs(40));
    assert!(!limited(&desk, "fs.read"));
    assert!(desk.world.clock.now() > crate::support::START);
}

/// A checker at which two threads meet, once it is armed: after the limits were looked at, and
/// before the call is counted.
struct Meeting {
    guests: AtomicUsize,
    barrier: Barrier,
}

impl PreconditionChecker for Meeting {
    fn observe(&self, _: &Precondition, _: &Value) -> Result<String, PreconditionError> {
        let expected = |guests: usize| guests.checked_sub(1);
        if self.guests.fetch_update(Ordering::SeqCst, Ordering::SeqCst, expected).is_ok() {
            self.barrier.wait();
        }
        Ok("same".to_owned())
    }
}

#[test]
fn two_calls_decided_at_once_do_not_share_the_last_of_a_limit() {
    let meeting = Arc::new(Meeting { guests: AtomicUsize::new(0), barrier: Barrier::new(2) });
    let checker = Arc::clone(&meeting) as Arc<dyn PreconditionChecker>;
    let ports = Ports { preconditions: Some(checker), ..Ports::default() };
    let one = LIMITS.replace("max_calls = 3", "max_calls = 1");
    let contracts =
        "[capabilities.\"fs.read\"]\npreconditions = [{ check = \"environment\", name = \"A\" }]\n";
    let desk = Desk::under(memory(), documents(&one, contracts), ports);
    let caller = Caller { run: &desk.run, principal: &desk.who };
    let asked = Asked::new("fs.read");
    let grant = || block_on(desk.world.kernel.grant(caller, asked.call())).token.unwrap();
    let tokens = [grant(), grant()];
    meeting.guests.store(2, Ordering::SeqCst);
    let done: Vec<_> = std::thread::scope(|scope| {
        let threads = tokens.each_ref().map(|token| {
            let (desk, asked) = (&desk, &asked);
            scope.spawn(move || {
                let arguments = &asked.arguments;
                block_on(desk.world.kernel.invoke(caller, token, arguments, asked.mode))
            })
        });
        threads.map(|thread| thread.join().unwrap()).into()
    });
    let lost: Vec<_> = done.iter().filter(|done| !succeeded(done)).map(answer).collect();
    assert_eq!(lost, [(Verdict::Deny, ReasonCode::RateLimited)]);
    assert_eq!(desk.world.executed(), 1);
}

/// A checker that takes twelve seconds each time, once it is given the clock.
#[derive(Default)]
struct Slow(OnceLock<Arc<ManualClock>>);

impl PreconditionChecker for Slow {
    fn observe(&self, _: &Precondition, _: &Value) -> Result<String, PreconditionError> {
        if let Some(clock) = self.0.get() {
            clock.advance(Duration::from_secs(12));
        }
        Ok("same".to_owned())
    }
}

#[test]
fn what_is_looked_at_for_a_decision_takes_time_of_nothing() {
    let slow = Arc::new(Slow::default());
    let checker = Arc::clone(&slow) as Arc<dyn PreconditionChecker>;
    let ports = Ports { preconditions: Some(checker), ..Ports::default() };
    let one = LIMITS.replace("max_calls = 3", "max_calls = 1").replace("= 60", "= 10");
    let contracts =
        "[capabilities.\"fs.read\"]\npreconditions = [{ check = \"environment\", name = \"A\" }]\n";
    let desk = Desk::under(memory(), documents(&one, contracts), ports);
    let caller = Caller { run: &desk.run, principal: &desk.who };
    let asked = Asked::new("fs.read");
    let life = || {
        let token = block_on(desk.world.kernel.grant(caller, asked.call())).token.unwrap();
        let claims = desk.world.kernel.keys().verify(&token).unwrap().claims;
        claims.expires_at.since(claims.issued_at)
    };
    let quick = life();
    slow.0.set(Arc::clone(&desk.world.clock)).unwrap();
    assert_eq!(life(), quick + Duration::from_secs(12), "a token lives from when it is handed out");
    assert!(!limited(&desk, "fs.read"));
    assert!(limited(&desk, "fs.read"), "the call before was counted when it was made");
}

/// A desk with a limit of one call in a minute on what this says of them.
fn limited_to_one(limit: &str) -> Desk {
    let rules = format!(
        "[[rules]]\nname = \"all\"\nmatch = {{}}\neffect = \"allow\"\n\
         [[limits]]\nname = \"one\"\nmax_calls = 1\nwindow_s = 60\n{limit}\n"
    );
    Desk::under(memory(), documents(&rules, ""), Ports::default())
}

#[test]
fn a_limit_may_count_each_run_by_itself() {
    let desk = limited_to_one("match = {}\nby = [\"run\"]");
    assert!(!limited(&desk, "fs.read") && limited(&desk, "fs.read"));
    let other = desk.world.run();
    let again = || desk.world.call(&other, &desk.who, &Asked::new("fs.read"));
    assert!(succeeded(&again()) && !succeeded(&again()));
}

#[test]
fn a_limit_may_count_calls_of_one_mode_alone() {
    let mut desk = limited_to_one("match = { mode = \"STRICT\" }");
    assert!(!limited(&desk, "fs.read") && !limited(&desk, "fs.read"));
    desk.run.settings.safety_mode = weaver_types::SafetyMode::Strict;
    assert!(!limited(&desk, "fs.read"));
    assert!(limited(&desk, "fs.read"));
}

#[test]
fn a_limit_may_count_calls_by_where_a_value_came_from() {
    let arguments = "{ at = \"/query\", provenance = [\"user\"] }";
    let mut desk = limited_to_one(&format!("match = {{ arguments = {arguments} }}"));
    desk.run.record_user_text("Look for the Blue Lagoon");
    let ask = |query: &str| {
        let asked = Asked::new("fs.read").with(serde_json::json!({ "query": query }));
        succeeded(&desk.call(&asked))
    };
    assert!(ask("Red Lagoon") && ask("Red Lagoon"));
    assert!(ask("Blue Lagoon"));
    assert!(!ask("Blue Lagoon") && ask("Red Lagoon"));
}

#[test]
fn what_was_refused_before_a_restart_is_no_call_that_was_made() {
    let desk = desk();
    assert!(!limited(&desk, "fs.read"));
    for _ in 0..5 {
        let asked = Asked::new("fs.read").with(serde_json::json!([]));
        assert!(!succeeded(&desk.call(&asked)));
    }
    let desk = desk.restarted(documents(LIMITS, ""));
    assert!(!limited(&desk, "fs.read") && !limited(&desk, "fs.read"));
    assert!(limited(&desk, "fs.read"), "the one before the restart counts");
}

#[test]
fn a_limit_by_run_goes_on_after_a_restart() {
    let limit = "match = {}\nby = [\"run\"]";
    let desk = limited_to_one(limit);
    assert!(!limited(&desk, "fs.read"));
    let policy = desk.world.kernel.policy();
    let desk = desk.restarted(policy);
    assert!(limited(&desk, "fs.read"), "the same run");
    let other = desk.world.run();
    assert!(succeeded(&desk.world.call(&other, &desk.who, &Asked::new("fs.read"))));
}

#[test]
fn what_a_limit_counted_goes_with_the_limit() {
    let desk = limited_to_one("match = {}");
    let with = desk.world.kernel.policy();
    assert!(!limited(&desk, "fs.read") && limited(&desk, "fs.read"));
    let none = "[[rules]]\nname = \"all\"\nmatch = {}\neffect = \"allow\"\n";
    block_on(desk.world.kernel.replace_policy(documents(none, "")));
    assert!(!limited(&desk, "fs.read"));
    block_on(desk.world.kernel.replace_policy(with));
    assert!(!limited(&desk, "fs.read"), "it begins anew");
    assert!(limited(&desk, "fs.read"));
}

#[test]
fn a_dry_run_says_that_a_limit_by_run_is_used_up() {
    let desk = limited_to_one("match = {}\nby = [\"run\"]");
    let asked = Asked::new("fs.read");
    let caller = Caller { run: &desk.run, principal: &desk.who };
    let verdict = || desk.world.kernel.dry_run(caller, asked.call()).verdict();
    assert_eq!(verdict(), Verdict::Allow);
    assert!(!limited(&desk, "fs.read"));
    assert_eq!(verdict(), Verdict::Deny);
}

#[test]
fn what_the_log_does_not_say_of_a_call_counts_as_the_limit_has_it() {
    for matches in [
        "roles = { any = [\"reader\"] }",
        "label = { integrity = \"untrusted\" }",
        "not = { mode = [\"NORMAL\"] }",
        "any = [{ intent = [\"*\"] }, { capability = \"fs.*\", attributes = { team = \"x\" } }]",
    ] {
        let desk = limited_to_one(&format!("match = {{ {matches} }}"));
        assert!(succeeded(&desk.call(&Asked::new("fs.read"))), "{matches}");
        let policy = desk.world.kernel.policy();
        let mut desk = desk.restarted(policy);
        desk.who.attributes.insert("team".to_owned(), "x".to_owned());
        let again = desk.call(&Asked::new("fs.read"));
        let applies = !matches.starts_with("not");
        assert_eq!(!succeeded(&again), applies, "{matches}: {again:?}");
    }
}

#[test]
fn calls_of_another_tenant_of_the_ledger_are_not_counted() {
    let desk = limited_to_one("match = {}\nby = [\"capability\"]");
    assert!(!limited(&desk, "fs.read"));
    let tenant = Tenant::parse("other").unwrap();
    let (ledger, policy) = (Arc::clone(&desk.world.ledger), desk.world.kernel.policy());
    let other = World::of_tenant(&tenant, ledger, policy);
    other.tool("fs.read", Effects::READ_LOCAL);
    let who = Principal { tenant, ..desk.who.clone() };
    let done = other.call(&other.run(), &who, &Asked::new("fs.read"));
    assert!(succeeded(&done), "{done:?}");
}

#[test]
fn past_calls_of_a_tool_that_is_not_registered_yet_count_already() {
    let rules = "[[rules]]\nname = \"all\"\nmatch = {}\neffect = \"allow\"\n\
                 [[limits]]\nname = \"one\"\nmatch = {}\nby = [\"principal\"]\n\
                 max_calls = 1\nwindow_s = 60\n";
    let (ledger, policy) = (memory(), documents(rules, ""));
    let world = World::with(
        Arc::clone(&ledger),
        Arc::new(ManualClock::new(START)),
        Arc::clone(&policy),
        Ports::default(),
    );
    world.tool("b.x", Effects::READ_LOCAL);
    let call = |world: &World, id| {
        succeeded(&world.call(&world.run(), &principal("ana", &[]), &Asked::new(id)))
    };
    assert!(call(&world, "b.x"));
    let clock = Arc::clone(&world.clock);
    drop(world);
    let world = World::with(ledger, clock, policy, Ports::default());
    world.tool("a.y", Effects::READ_LOCAL);
    assert!(!call(&world, "a.y"), "the call of `b.x` counts");
    world.tool("b.x", Effects::READ_LOCAL);
    world.clock.advance(Duration::from_secs(61));
    assert!(call(&world, "a.y") && !call(&world, "b.x"));
}
