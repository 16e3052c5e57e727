//! Tokens: one is one invocation of exactly one thing.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use weaver_agent_kernel::{Caller, FnDriver, Invocation, RevocationSubject, Token, block_on};
use weaver_types::ledger::Namespace;
use weaver_types::{
    Clock, Effects, Principal, RawResult, ReasonCode, ResponseMode, RunContext, Tenant, TokenId,
};

use crate::support::{
    Asked, START, World, ana, draft, open, open_policy, principal, set, succeeded,
};

struct Granted {
    world: World,
    run: RunContext,
    who: Principal,
    token: Token,
    arguments: Value,
}

fn granted() -> Granted {
    let world = World::new(open_policy());
    world.tool("fs.read", Effects::READ_LOCAL);
    let (run, who, arguments) = (world.run(), ana(), json!({"path": "a"}));
    let asked = Asked::new("fs.read").with(arguments.clone());
    let caller = Caller { run: &run, principal: &who };
    let token = block_on(world.kernel.grant(caller, asked.call())).token.unwrap();
    Granted { world, run, who, token, arguments }
}

impl Granted {
    fn invoke(&self) -> Invocation {
        self.by(&self.run, &self.who, &self.arguments)
    }

    fn by(&self, run: &RunContext, who: &Principal, arguments: &Value) -> Invocation {
        let caller = Caller { run, principal: who };
        block_on(self.world.kernel.invoke(caller, &self.token, arguments, ResponseMode::Table))
    }

    fn refused(&self, done: &Invocation) -> ReasonCode {
        assert!(!succeeded(done));
        assert_eq!(self.world.executed(), 0);
        done.decision.primary_reason()
    }
}

/// The record keeps a token from being presented twice. One that was granted and spent in one step
/// nobody has, so its intent in the log is all that is written.
#[test]
fn only_a_token_that_somebody_has_leaves_a_record_of_its_use() {
    let granted = granted();
    let used = || {
        let (tenant, of) = (Tenant::default(), Namespace::TokenUse);
        let ledger = &granted.world.ledger;
        ledger
            .list(&tenant, of, None, 10)
            .unwrap()
            .into_iter()
            .map(|(id, _)| id)
            .collect::<Vec<_>>()
    };
    let done = granted.world.call(&granted.run, &granted.who, &Asked::new("fs.read"));
    assert!(succeeded(&done));
    assert_eq!(used(), Vec::<String>::new());
    assert!(succeeded(&granted.invoke()));
    assert_eq!(used(), [token_id(&granted.token).to_string()]);
}

#[test]
fn a_token_works_once() {
    let granted = granted();
    assert!(succeeded(&granted.invoke()));
    for _ in 0..3 {
        assert_eq!(granted.invoke().decision.primary_reason(), ReasonCode::TokenUsed);
    }
    assert_eq!(granted.world.executed(), 1);
}

#[test]
fn a_token_is_bound_to_all_that_it_names() {
    let granted = granted();
    let (run, who, arguments) = (&granted.run, &granted.who, &granted.arguments);
    let other_run = granted.world.run();
    let other_who = principal("bob", &["reader", "writer", "admin"]);
    let mut other_tenant = who.clone();
    other_tenant.tenant = Tenant::parse("elsewhere").unwrap();
    for done in [
        granted.by(&other_run, who, arguments),
        granted.by(run, &other_who, arguments),
        granted.by(run, &other_tenant, arguments),
        granted.by(run, who, &json!({"path": "b"})),
        granted.by(run, who, &json!({"path": "a", "operation": "write"})),
    ] {
        assert_eq!(granted.refused(&done), ReasonCode::TokenScope);
    }
    assert!(succeeded(&granted.invoke()), "refusals do not use it up");
}

#[test]
fn another_audience_and_another_key_are_refused() {
    let granted = granted();
    let parts = crate::support::parts(
        Arc::clone(&granted.world.ledger),
        Arc::clone(&granted.world.clock) as Arc<dyn Clock>,
        open_policy(),
    );
    let settings = weaver_agent_kernel::Settings {
        audience: "elsewhere".to_owned(),
        ..weaver_agent_kernel::Settings::default()
    };
    let other = parts.with_settings(settings).open().unwrap();
    let caller = Caller { run: &granted.run, principal: &granted.who };
    let done =
        block_on(other.invoke(caller, &granted.token, &granted.arguments, ResponseMode::Table));
    assert_eq!(done.decision.primary_reason(), ReasonCode::TokenScope);

    let forged = Token::from_text(format!("{}AAAA", granted.token.to_text()));
    let done = block_on(granted.world.kernel.invoke(
        caller,
        &forged,
        &granted.arguments,
        ResponseMode::Table,
    ));
    assert_eq!(granted.refused(&done), ReasonCode::TokenInvalid);
}

#[test]
fn a_token_of_before_a_restart_is_void() {
    let granted = granted();
    let clock = Arc::clone(&granted.world.clock) as Arc<dyn Clock>;
    let again = open(Arc::clone(&granted.world.ledger), clock, open_policy());
    let caller = Caller { run: &granted.run, principal: &granted.who };
    let done =
        block_on(again.invoke(caller, &granted.token, &granted.arguments, ResponseMode::Table));
    assert_eq!(done.decision.primary_reason(), ReasonCode::TokenUsed);
}

#[test]
fn another_policy_voids_tokens() {
    let granted = granted();
    block_on(granted.world.kernel.replace_policy(set(weaver_policy::Policy::baseline().unwrap())));
    assert_eq!(granted.refused(&granted.invoke()), ReasonCode::PolicyChanged);
}

#[test]
fn a_capability_that_changed_voids_its_tokens() {
    let granted = granted();
    let mut changed = draft("fs.read", Effects::READ_LOCAL);
    changed.description = "now says something else".to_owned();
    let driver = FnDriver::inline(|_| Ok(RawResult::text("changed")));
    let set =
        vec![(changed.build().unwrap(), Arc::new(driver) as Arc<dyn weaver_agent_kernel::Driver>)];
    assert!(granted.world.kernel.registry().replace_prefix("fs.", set).unwrap().is_empty());
    assert_eq!(granted.refused(&granted.invoke()), ReasonCode::ContractChanged);
}

#[test]
fn a_token_expires_and_no_clock_revives_it() {
    let granted = granted();
    granted.world.clock.advance(Duration::from_secs(3_600));
    assert_eq!(granted.refused(&granted.invoke()), ReasonCode::TokenExpired);
    granted.world.clock.set(START);
    assert_eq!(granted.refused(&granted.invoke()), ReasonCode::TokenExpired);
}

#[test]
fn a_restart_does_not_turn_time_back() {
    let granted = granted();
    granted.world.clock.advance(Duration::from_secs(7_200));
    let fresh = granted.world.run();
    granted.world.call(&fresh, &granted.who, &Asked::new("fs.read"));
    granted.world.clock.set(START);
    let clock = Arc::clone(&granted.world.clock) as Arc<dyn Clock>;
    let again = open(Arc::clone(&granted.world.ledger), clock, open_policy());
    let caller = Caller { run: &granted.run, principal: &granted.who };
    let done =
        block_on(again.invoke(caller, &granted.token, &granted.arguments, ResponseMode::Table));
    assert_eq!(done.decision.primary_reason(), ReasonCode::TokenExpired);
}

#[test]
fn what_is_revoked_stays_revoked() {
    for nth in 0..3 {
        let granted = granted();
        let subject = match nth {
            0 => RevocationSubject::Principal(granted.who.id.clone()),
            1 => RevocationSubject::Run(granted.run.run_id.clone()),
            _ => RevocationSubject::Token(token_id(&granted.token)),
        };
        // A clock that was set back must not let the grant outlive its revocation.
        granted.world.clock.set(START.after(Duration::ZERO));
        block_on(granted.world.kernel.void_grants(subject, &granted.who.id)).unwrap();
        assert_eq!(granted.refused(&granted.invoke()), ReasonCode::TokenRevoked);
        granted.world.clock.advance(Duration::from_secs(1));
        assert_eq!(granted.refused(&granted.invoke()), ReasonCode::TokenRevoked);
        let clock = Arc::clone(&granted.world.clock) as Arc<dyn Clock>;
        let again = open(Arc::clone(&granted.world.ledger), clock, open_policy());
        let caller = Caller { run: &granted.run, principal: &granted.who };
        let done =
            block_on(again.invoke(caller, &granted.token, &granted.arguments, ResponseMode::Table));
        assert_eq!(done.decision.primary_reason(), ReasonCode::TokenRevoked, "after a restart");
    }
}

#[test]
fn what_is_granted_after_a_revocation_holds() {
    let granted = granted();
    let subject = RevocationSubject::Principal(granted.who.id.clone());
    block_on(granted.world.kernel.void_grants(subject, &granted.who.id)).unwrap();
    granted.world.clock.advance(Duration::from_micros(1));
    let done = granted.world.call(&granted.run, &granted.who, &Asked::new("fs.read"));
    assert!(succeeded(&done));
}

#[test]
fn raw_needs_an_admin_now_and_a_token_that_says_so() {
    let world = World::new(open_policy());
    world.tool("fs.read", Effects::READ_LOCAL);
    let run = world.run();
    let (admin, plain) = (principal("ana", &["admin"]), principal("ana", &["reader"]));
    let raw = Asked::new("fs.read").with(json!({"password": "hunter2"})).mode(ResponseMode::Raw);
    let denied = world.call(&run, &plain, &raw);
    assert_eq!(denied.decision.primary_reason(), ReasonCode::MissingRole);

    let table = raw.clone().mode(ResponseMode::Table);
    let grant = |asked: &Asked| {
        let caller = Caller { run: &run, principal: &admin };
        block_on(world.kernel.grant(caller, asked.call())).token.unwrap()
    };
    let invoke = |who: &Principal, token: &Token| {
        let caller = Caller { run: &run, principal: who };
        block_on(world.kernel.invoke(caller, token, &raw.arguments, ResponseMode::Raw))
    };
    assert_eq!(invoke(&admin, &grant(&table)).decision.primary_reason(), ReasonCode::TokenScope);
    assert_eq!(invoke(&plain, &grant(&raw)).decision.primary_reason(), ReasonCode::MissingRole);
    assert_eq!(world.executed(), 0);
    let shown = invoke(&admin, &grant(&raw)).result.unwrap().data.unwrap();
    assert_eq!(shown.raw, Some(raw.arguments.clone()));
    let hidden = world.call(&run, &admin, &table).result.unwrap().data.unwrap();
    assert!(hidden.raw.is_none());
    assert!(!serde_json::to_string(&hidden).unwrap().contains("hunter2"));
}

/// The id in the claims of a token.
pub(crate) fn token_id(token: &Token) -> TokenId {
    use base64::Engine as _;
    let text = token.to_text();
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(text).unwrap();
    // Version, length, then the id of the key and the id of the token, each after its length.
    let key = usize::from(u16::from_be_bytes([bytes[3], bytes[4]]));
    let rest = &bytes[5 + key..];
    let length = usize::from(u16::from_be_bytes([rest[0], rest[1]]));
    TokenId::parse(std::str::from_utf8(&rest[2..2 + length]).unwrap()).unwrap()
}
