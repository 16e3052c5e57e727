//! Information flow: what was read steers what may leave.

use std::sync::Arc;

use weaver_agent_kernel::block_on;
use weaver_policy::{Contract, Contracts, Pattern, PolicySet};
use weaver_types::{
    CapabilityDraft, Confidentiality, Effects, Integrity, Label, ReasonCode, Rung, SinkKind,
    Verdict,
};

use crate::support::{Asked, World, ana, answer, draft, open_policy, succeeded};

/// A world with an outgoing tool that the operator put on a rung below the floor, so that only
/// flow can hold it.
fn world() -> World {
    let world = World::new(open_policy());
    let contract = Contract {
        rung: Some(Rung::L3),
        lower_rung: true,
        sink: Some(SinkKind::ExternalSend),
        ..Contract::default()
    };
    let contracts = Contracts::new("sinks").with(Pattern::parse("mail.send").unwrap(), contract);
    let set = PolicySet::from_code(open_policy(), contracts).unwrap();
    block_on(world.kernel.replace_policy(Arc::new(set)));
    world.tool("mail.send", Effects::WRITE_OPEN);
    world
}

#[test]
fn after_untrusted_output_nothing_leaves_and_the_rest_goes_on() {
    let world = world();
    world
        .tool("web.read", Effects::READ_OPEN)
        .tool("fs.read", Effects::READ_LOCAL)
        .tool("fs.write", Effects::WRITE_LOCAL);
    let run = world.run();
    assert!(succeeded(&world.call(&run, &ana(), &Asked::new("mail.send"))), "nothing read yet");
    let fresh = world.run();
    let read = world.call(&fresh, &ana(), &Asked::new("web.read"));
    let held = world.call(&fresh, &ana(), &Asked::new("mail.send"));
    assert_eq!(answer(&held), (Verdict::Hold, ReasonCode::UntrustedInfluence));
    assert!(held.decision.detail().contains(read.call.as_str()), "it names what tainted");
    assert!(held.decision.detail().contains("no argument says where the call goes"));
    for id in ["web.read", "fs.read", "fs.write"] {
        assert!(succeeded(&world.call(&fresh, &ana(), &Asked::new(id))), "{id}");
    }
    assert_eq!(world.executed(), 5);
}

#[test]
fn trusted_output_taints_nothing_and_secrets_stay_inside() {
    let world = world();
    let trusted = Label::new(Confidentiality::Internal, Integrity::Trusted);
    let sensitive = Label::new(Confidentiality::Restricted, Integrity::Trusted);
    world
        .register(CapabilityDraft {
            output_label: trusted,
            ..draft("fs.read", Effects::READ_LOCAL)
        })
        .register(CapabilityDraft {
            output_label: sensitive,
            ..draft("key.read", Effects::READ_LOCAL)
        });
    let run = world.run();
    world.call(&run, &ana(), &Asked::new("fs.read"));
    assert!(succeeded(&world.call(&run, &ana(), &Asked::new("mail.send").justified())));
    let run = world.run();
    world.call(&run, &ana(), &Asked::new("key.read"));
    let held = world.call(&run, &ana(), &Asked::new("mail.send"));
    assert_eq!(answer(&held), (Verdict::Hold, ReasonCode::ClearanceExceeded));
}
