//! What a look at a stored result vouches for, and what the words of a user are recorded for.

use serde_json::json;
use weaver_agent_kernel::{Caller, block_on};
use weaver_firewall::HandleQuery;
use weaver_types::ledger::{Namespace, RecordKey};
use weaver_types::{
    CapabilityDraft, Confidentiality, Effects, Integrity, Label, RawResult, ResponseMode,
    RunContext, SinkKind, Tenant, Verdict,
};

use crate::support::{Asked, World, ana, contracts, draft, kinds, sink, succeeded};

/// A world with a trusted list and an untrusted one, both with the channel `backoffice`, and a tool
/// that posts to a channel.
fn world() -> World {
    let world = World::under(contracts([("chat.post", sink(SinkKind::ExternalSend))]));
    for (id, integrity) in [("crm.list", Integrity::Trusted), ("web.list", Integrity::Untrusted)] {
        let output_label = Label::new(Confidentiality::Internal, integrity);
        let list = CapabilityDraft { output_label, ..draft(id, Effects::READ_LOCAL) };
        world.answering(list, |_| {
            let row = |n: u32| json!({ "n": n, "channel": "backoffice" });
            Ok(RawResult::json((0..9).map(row).collect()))
        });
    }
    world.tool("web.read", Effects::READ_OPEN);
    world.register(CapabilityDraft {
        input_schema: Some(json!({ "properties": { "channel": {}, "content": {} } }).into()),
        ..draft("chat.post", Effects::WRITE_OPEN)
    });
    world
}

fn posted(world: &World, run: &RunContext) -> Verdict {
    let asked = Asked::new("chat.post").with(json!({ "channel": "backoffice" }));
    world.call(run, &ana(), &asked).decision.verdict()
}

/// Stores a list behind a handle and, where `looks`, looks at it.
fn stored(world: &World, run: &RunContext, id: &str, looks: bool) {
    let done = world.call(run, &ana(), &Asked::new(id).mode(ResponseMode::HandleOnly));
    let handle = done.frame().unwrap().handle.clone().unwrap().handle_id;
    if looks {
        let query = HandleQuery::parse(&json!({ "limit": 2 })).unwrap();
        let who = ana();
        let caller = Caller { run, principal: &who };
        let view = block_on(world.kernel.expand(caller, &handle, &query));
        assert_eq!(view.frame().unwrap().table.len(), 2, "{view:?}");
    }
}

#[test]
fn what_was_seen_of_a_trusted_result_is_vouched_for_and_nothing_that_was_not_seen() {
    for (list, looks, told, verdict) in [
        ("crm.list", true, false, Verdict::Allow),
        ("crm.list", false, false, Verdict::Hold),
        ("web.list", true, false, Verdict::Hold),
        // Asked by a run that untrusted input may steer, it vouches for nothing.
        ("crm.list", true, true, Verdict::Hold),
    ] {
        let world = world();
        let run = world.run();
        if told {
            assert!(succeeded(&world.call(&run, &ana(), &Asked::new("web.read"))));
            let steered = Asked::new("crm.list").with(json!({ "query": "evil" }));
            let done = world.call(&run, &ana(), &steered.mode(ResponseMode::HandleOnly));
            let handle = done.frame().unwrap().handle.clone().unwrap().handle_id;
            let query = HandleQuery::parse(&json!({ "limit": 2 })).unwrap();
            let who = ana();
            let caller = Caller { run: &run, principal: &who };
            assert!(succeeded(&block_on(world.kernel.expand(caller, &handle, &query))));
        } else {
            stored(&world, &run, list, looks);
            assert!(succeeded(&world.call(&run, &ana(), &Asked::new("web.read"))));
        }
        assert_eq!(posted(&world, &run), verdict, "{list} {looks} {told}");
    }
}

#[test]
fn what_a_steered_call_stored_is_vouched_for_in_no_other_run_either() {
    for (tainted, verdict) in [(true, Verdict::Hold), (false, Verdict::Allow)] {
        let world = world();
        let (first, other, who) = (world.run(), world.run(), ana());
        if tainted {
            assert!(succeeded(&world.call(&first, &who, &Asked::new("web.read"))));
        }
        let asked = Asked::new("crm.list").with(json!({ "query": "evil" }));
        let done = world.call(&first, &who, &asked.mode(ResponseMode::HandleOnly));
        let handle = done.frame().unwrap().handle.clone().unwrap().handle_id;
        let query = HandleQuery::parse(&json!({ "limit": 2 })).unwrap();
        let caller = Caller { run: &other, principal: &who };
        assert!(succeeded(&block_on(world.kernel.expand(caller, &handle, &query))));
        assert!(succeeded(&world.call(&other, &who, &Asked::new("web.read"))));
        assert_eq!(posted(&world, &other), verdict, "{tainted}");
    }
}

#[test]
fn a_call_of_a_clean_run_may_ask_for_anything_and_its_answer_is_vouched_for() {
    for (steered, verdict) in [(false, Verdict::Allow), (true, Verdict::Hold)] {
        let world = world();
        let run = world.run();
        let ask = || {
            let asked = Asked::new("crm.list").with(json!({ "query": "backoffice" }));
            assert!(succeeded(&world.call(&run, &ana(), &asked)));
        };
        let read = || assert!(succeeded(&world.call(&run, &ana(), &Asked::new("web.read"))));
        if steered {
            read();
            ask();
        } else {
            ask();
            read();
        }
        assert_eq!(posted(&world, &run), verdict, "{steered}");
    }
}

#[test]
fn a_view_of_an_untrusted_result_taints_the_run_that_looks_at_it() {
    let world = world();
    let (first, other, who) = (world.run(), world.run(), ana());
    let done = world.call(&first, &who, &Asked::new("web.list").mode(ResponseMode::HandleOnly));
    let handle = done.frame().unwrap().handle.clone().unwrap().handle_id;
    let query = HandleQuery::parse(&json!({ "limit": 2 })).unwrap();
    let caller = Caller { run: &other, principal: &who };
    assert!(succeeded(&block_on(world.kernel.expand(caller, &handle, &query))));
    let state = crate::support::snapshot(world.ledger.as_ref(), &other.run_id).unwrap();
    assert_eq!(state.label.integrity, Integrity::Untrusted);
    assert_eq!(state, crate::support::fold(world.ledger.as_ref(), &other.run_id));
}

#[test]
fn the_key_of_a_run_is_written_once() {
    let world = world();
    let run = world.run();
    let steered = Asked::new("crm.list").with(json!({ "query": "evil" }));
    for asked in [Asked::new("crm.list"), Asked::new("web.read"), steered] {
        assert!(succeeded(&world.call(&run, &ana(), &asked)));
    }
    let name = format!("{} !key", run.run_id);
    let key = RecordKey::new(Tenant::default(), Namespace::Provenance, name);
    assert_eq!(world.ledger.read(&key).unwrap().unwrap().version, 1);
}

#[test]
fn what_was_said_in_a_dry_run_is_recorded_by_the_first_call_that_is_made() {
    let world = world();
    let mut run = world.run();
    run.record_user_text("Post it to backoffice");
    let mut dry = run.clone();
    dry.dry_run = true;
    let said =
        || kinds(world.ledger.as_ref()).iter().filter(|kind| *kind == "run.user_said").count();
    world.call(&dry, &ana(), &Asked::new("web.read"));
    assert_eq!(said(), 0);
    for _ in 0..2 {
        assert!(succeeded(&world.call(&run, &ana(), &Asked::new("web.read"))));
        assert_eq!(said(), 1, "and once");
    }
}

#[test]
fn a_token_whose_call_is_held_by_then_names_its_request() {
    let world = world();
    let (run, who) = (world.run(), ana());
    let asked = Asked::new("chat.post").with(json!({ "channel": "elsewhere" }));
    let caller = Caller { run: &run, principal: &who };
    let token = block_on(world.kernel.grant(caller, asked.call())).token.unwrap();
    assert!(succeeded(&world.call(&run, &who, &Asked::new("web.read"))));
    let done = block_on(world.kernel.invoke(caller, &token, &asked.arguments, asked.mode));
    assert_eq!(done.decision.verdict(), Verdict::Hold, "{done:?}");
    let open: Vec<_> =
        world.kernel.pending_approvals().into_iter().map(|pending| pending.request.id).collect();
    assert_eq!(done.request.as_ref(), open.first());
    assert_eq!(open.len(), 1);
}
