//! What a text carries to a receiver whom the user named: cards, identity numbers and secrets are
//! sent where the user said them, and held where untrusted input may have asked for them.

use serde_json::json;
use weaver_types::{Effects, ReasonCode, RunContext, SinkKind, Verdict};

use crate::support::{Asked, World, ana, contracts, sink, taking};

const PROMPT: &str =
    "Send the news to bob@example.com, and my card 4539 1488 0343 6467 to him too.";

fn world() -> World {
    let world = World::under(contracts([("mail.send", sink(SinkKind::ExternalSend))]));
    world.register(taking("mail.send", Effects::WRITE_OPEN, json!({ "to": {}, "body": {} })));
    world.tool("web.read", Effects::READ_OPEN);
    world
}

fn run(world: &World, tainted: bool) -> RunContext {
    let mut run = world.run();
    assert!(run.record_user_text(PROMPT));
    if tainted {
        world.call(&run, &ana(), &Asked::new("web.read"));
    }
    run
}

const CARRIED: [&str; 7] = [
    "His card: 5425 2334 3010 9903",
    "card 4539148803436468 and 5425233430109903",
    "SSN 536-22-1847",
    "her passport: GL0836476",
    "the key is AKIAQ3EGRIUVZ5TJ7K2M",
    "password: Tr0ub4dor&3-horse",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy\n-----END RSA PRIVATE KEY-----",
];

#[test]
fn what_untrusted_input_may_have_asked_for_is_held() {
    let world = world();
    let run = run(&world, true);
    for body in CARRIED {
        let asked = Asked::new("mail.send").with(json!({ "to": "bob@example.com", "body": body }));
        let done = world.call(&run, &ana(), &asked);
        assert_eq!(done.decision.verdict(), Verdict::Hold, "{body}");
        assert_eq!(done.decision.primary_reason(), ReasonCode::UntrustedInfluence, "{body}");
        // The whole number: four of its digits may stand in the random id of the hold.
        let told: String = done.decision.detail().split([' ', '-']).collect();
        assert!(!told.contains("5425233430109903"), "the value is not told");
    }
}

#[test]
fn what_the_user_said_and_what_is_none_of_it_goes() {
    let world = world();
    let tainted = run(&world, true);
    for body in [
        "The news: it rains.",
        "my card 4539148803436467",
        "4539-1488-0343-6467",
        "call 415 555 2134, order 4539148803436468",
    ] {
        let asked = Asked::new("mail.send").with(json!({ "to": "bob@example.com", "body": body }));
        let done = world.call(&tainted, &ana(), &asked);
        assert_eq!(done.decision.verdict(), Verdict::Allow, "{body}: {}", done.decision.detail());
    }
    let clean = run(&world, false);
    let asked =
        Asked::new("mail.send").with(json!({ "to": "eve@example.com", "body": CARRIED[0] }));
    assert_eq!(world.call(&clean, &ana(), &asked).decision.verdict(), Verdict::Allow, "no taint");
}
