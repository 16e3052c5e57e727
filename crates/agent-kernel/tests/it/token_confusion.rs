//! A token works for exactly what it was made for, and nothing else works as a token.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use weaver_agent_kernel::{
    Caller, Driver, FnDriver, Invocation, Kernel, KeyRing, Settings, Token, block_on,
};
use weaver_policy::approval::ResolutionVerdict;
use weaver_types::{
    Capability, Clock, Effects, KeyId, Principal, PrincipalId, RawResult, ReasonCode, ResponseMode,
    Tenant,
};

use crate::approvals::{ALICE, Desk, push, rejected};
use crate::support::{Asked, World, ana, draft, log, memory, open_policy, parts, set, succeeded};

const TENANT: u8 = 1;
const PRINCIPAL: u8 = 2;
const FINGERPRINT: u8 = 4;
const RUN: u8 = 8;
const ARGUMENTS: u8 = 16;
const AUDIENCE: u8 = 32;
const POLICY: u8 = 64;

/// What a use that differs in these is refused for: the first that is looked at.
fn expected(differs: u8) -> Option<ReasonCode> {
    match differs {
        0 => None,
        _ if differs & (TENANT | PRINCIPAL | RUN | AUDIENCE) != 0 => Some(ReasonCode::TokenScope),
        _ if differs & POLICY != 0 => Some(ReasonCode::PolicyChanged),
        _ if differs & FINGERPRINT != 0 => Some(ReasonCode::ContractChanged),
        _ => Some(ReasonCode::TokenScope),
    }
}

fn tool(description: &str) -> (Capability, Arc<dyn Driver>) {
    let mut tool = draft("fs.read", Effects::READ_LOCAL);
    tool.description = description.to_owned();
    (tool.build().unwrap(), Arc::new(FnDriver::inline(|_| Ok(RawResult::text("done")))))
}

/// A kernel like that of a world, for another audience, on a ledger of its own.
fn elsewhere(world: &World) -> Kernel {
    let clock = Arc::clone(&world.clock) as Arc<dyn Clock>;
    let settings = Settings { audience: "elsewhere".to_owned(), ..Settings::default() };
    parts(memory(), clock, open_policy()).with_settings(settings).open().unwrap()
}

/// Uses a token made for one thing for one that differs in these.
fn used(differs: u8) -> (Invocation, u64) {
    let world = World::new(open_policy());
    world.tool("fs.read", Effects::READ_LOCAL);
    let (own_run, own) = (world.run(), ana());
    let asked = Asked::new("fs.read").with(json!({ "path": "a" }));
    let caller = Caller { run: &own_run, principal: &own };
    let token = block_on(world.kernel.grant(caller, asked.call())).token.unwrap();

    let is = |field: u8| differs & field != 0;
    let other = is(AUDIENCE).then(|| elsewhere(&world));
    let kernel = other.as_ref().unwrap_or(&world.kernel);
    if is(AUDIENCE) {
        world.kernel.registry().get(&asked.request.capability_id).unwrap();
        let (capability, driver) = tool("a capability");
        kernel.registry().register(capability, driver).unwrap();
    }
    if is(FINGERPRINT) {
        let changed = vec![tool("another capability")];
        assert!(kernel.registry().replace_prefix("fs.", changed).unwrap().is_empty());
    }
    if is(POLICY) {
        let policy =
            open_policy().with_rule(weaver_policy::Rule::new("more", weaver_policy::Effect::Allow));
        block_on(kernel.replace_policy(set(policy)));
    }
    let mut who: Principal = own.clone();
    if is(TENANT) {
        who.tenant = Tenant::parse("elsewhere").unwrap();
    }
    if is(PRINCIPAL) {
        who.id = PrincipalId::parse("bob").unwrap();
    }
    let run = if is(RUN) { world.run() } else { own_run.clone() };
    let arguments = if is(ARGUMENTS) { json!({ "path": "b" }) } else { asked.arguments.clone() };
    let caller = Caller { run: &run, principal: &who };
    let done = block_on(kernel.invoke(caller, &token, &arguments, ResponseMode::Table));
    let ledger = kernel.ledger();
    let intents = log(ledger.as_ref()).iter().filter(|event| event.kind == "call.intent").count();
    (done, intents as u64)
}

#[test]
fn of_128_combinations_of_what_a_token_binds_one_works() {
    let (mut worked, mut refused) = (0, 0);
    for differs in 0..128_u8 {
        let (done, intents) = used(differs);
        match expected(differs) {
            None => {
                assert!(succeeded(&done) && intents == 1);
                worked += 1;
            }
            Some(reason) => {
                assert_eq!(done.decision.primary_reason(), reason, "{differs:07b}");
                assert!(!succeeded(&done) && intents == 0, "{differs:07b}");
                refused += 1;
            }
        }
    }
    assert_eq!((worked, refused), (1, 127));
}

/// Nothing of it is a token: as it is, as base64url, cut to pieces, or between the parts of one.
fn presented(kernel: &Kernel, world: &World, token: &Token, bytes: &[u8]) {
    let run = world.run();
    let who = ana();
    let caller = Caller { run: &run, principal: &who };
    let genuine = URL_SAFE_NO_PAD.decode(token.to_text()).unwrap();
    let (body, mac) = genuine.split_at(genuine.len() - 32);
    for forged in [
        Token::from_text(String::from_utf8_lossy(bytes)),
        Token::from_text(URL_SAFE_NO_PAD.encode(bytes)),
        Token::from_text(URL_SAFE_NO_PAD.encode([bytes, mac].concat())),
        Token::from_text(URL_SAFE_NO_PAD.encode([body, bytes].concat())),
        Token::from_text(URL_SAFE_NO_PAD.encode([body, bytes, mac].concat())),
    ] {
        let done = block_on(kernel.invoke(caller, &forged, &json!({}), ResponseMode::Table));
        assert_eq!(done.decision.primary_reason(), ReasonCode::TokenInvalid);
        let last = log(world.ledger.as_ref()).pop().unwrap();
        assert_eq!(
            (last.kind.as_str(), &last.payload["reason"]),
            ("call.refused", &json!("token_invalid"))
        );
    }
}

#[test]
fn no_other_signed_form_is_a_token_and_a_token_is_no_approval() {
    let desk = Desk::new();
    let world = &desk.world;
    let id = desk.held(&push()).request.id;
    let approval = desk.say(&id, ResolutionVerdict::Granted, "alice", ALICE);
    let (run, who, asked) = (world.run(), ana(), Asked::new("fs.read"));
    let caller = Caller { run: &run, principal: &who };
    let granted = block_on(world.kernel.grant(caller, asked.call()));
    // Whatever the desk's policy says of reads, a genuine token is at hand.
    let token = granted
        .token
        .unwrap_or_else(|| Token::from_text(include_str!("../data/token.txt").trim_end()));
    for form in [
        approval.as_slice(),
        include_bytes!("../../../policy/tests/data/approvals-v1.json"),
        include_bytes!("../../../weaver-types/tests/data/envelope.json"),
        include_bytes!("../../../trace-store/tests/data/proofs-v1/checkpoint.txt"),
        include_bytes!("../../../trace-store/tests/data/proofs-v1/receipt.json"),
        include_bytes!("../data/token_claims.json"),
        include_bytes!("../data/token_keys.json"),
        &[0; 32],
        &[0xff; 64],
    ] {
        presented(&world.kernel, world, &token, form);
    }
    assert_eq!(world.executed(), 0);
    assert_eq!(rejected(desk.receive(token.to_text().as_bytes())), "malformed");
    let bytes = URL_SAFE_NO_PAD.decode(token.to_text()).unwrap();
    assert_eq!(rejected(desk.receive(&bytes)), "malformed");
}

#[test]
fn another_ring_makes_tokens_of_its_own() {
    let world = World::new(open_policy());
    world.tool("fs.read", Effects::READ_LOCAL);
    let (run, who, asked) = (world.run(), ana(), Asked::new("fs.read"));
    let caller = Caller { run: &run, principal: &who };
    let token = block_on(world.kernel.grant(caller, asked.call())).token.unwrap();
    let invoke = |token: &Token| {
        let done =
            block_on(world.kernel.invoke(caller, token, &asked.arguments, ResponseMode::Table));
        if succeeded(&done) { None } else { Some(done.decision.primary_reason()) }
    };
    let ring =
        |id: &str, secret: u8| KeyRing::new(KeyId::parse(id).unwrap(), &[secret; 32]).unwrap();
    let own = world.kernel.keys();
    // The same name and another key; another name and the same key; neither.
    for other in [ring("k1", 8), ring("k2", 9), ring("k2", 8)] {
        world.kernel.replace_keys(other);
        assert_eq!(invoke(&token), Some(ReasonCode::TokenInvalid));
    }
    // Rotated, the old key still verifies; retired, it does not.
    let mut rotated = KeyRing::clone(&own);
    assert!(rotated.rotate(KeyId::parse("k2").unwrap(), &[8; 32]));
    world.kernel.replace_keys(rotated.clone());
    let second = block_on(world.kernel.grant(caller, asked.call())).token.unwrap();
    assert_eq!(invoke(&token), None);
    assert!(rotated.retire(own.current()));
    world.kernel.replace_keys(rotated);
    assert_eq!(invoke(&token), Some(ReasonCode::TokenInvalid));
    assert_eq!(invoke(&second), None);
    assert_eq!(world.executed(), 2);
}
