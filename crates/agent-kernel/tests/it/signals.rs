//! Signals: watched, asked before each decision, told in the log.

use std::sync::Arc;

use weaver_agent_kernel::Ports;
use weaver_policy::signal::{
    CallContext, FinishedCall, LowConfidenceSentinel, MemoryOriginSentinel, Severity, Signal,
    SignalError, SignalKind, SignalMonitor, SignalSource, SignalSubject, ToolSequenceSentinel,
    WeakBeliefSource,
};
use weaver_types::{Effects, ReasonCode, Verdict};

use crate::approvals::{ALICE, Desk, RULES, documents};
use crate::support::{Asked, World, answer, log, memory, succeeded};

fn desk(sources: Vec<Arc<dyn SignalSource>>) -> Desk {
    let ports = Ports { signals: Arc::new(SignalMonitor::new(sources)), ..Ports::default() };
    let desk = Desk::under(memory(), documents(RULES, ""), ports);
    desk.world.tool("web.fetch", Effects::READ_OPEN);
    desk
}

fn sentinels() -> Vec<Arc<dyn SignalSource>> {
    vec![
        Arc::new(ToolSequenceSentinel::new()),
        Arc::new(LowConfidenceSentinel::default()),
        Arc::new(MemoryOriginSentinel),
    ]
}

fn read(desk: &Desk) -> bool {
    succeeded(&desk.call(&Asked::new("fs.read")))
}

/// Cases: W9.
#[test]
fn one_tainted_text_holds_a_later_write_and_no_later_read() {
    let desk = desk(sentinels());
    assert!(read(&desk), "brings an untrusted text into the run");
    for _ in 0..300 {
        assert!(read(&desk));
    }
    let done = desk.call(&Asked::new("fs.write"));
    assert_eq!(answer(&done), (Verdict::Hold, ReasonCode::SignalRaised), "{done:?}");
    let raised = log(desk.world.ledger.as_ref());
    let raised: Vec<_> = raised.iter().filter(|event| event.kind == "signal.raised").collect();
    assert!(!raised.is_empty() && raised.len() < 10, "{}", raised.len());
    assert!(raised[0].payload["signals"][0]["source"].is_string());
    assert!(read(&desk));
}

/// Cases: W8.
#[test]
fn who_declares_nothing_depends_on_everything_of_the_run() {
    let desk = desk(vec![Arc::new(WeakBeliefSource::default())]);
    assert!(succeeded(&desk.call(&Asked::new("fs.write"))), "the run rests on nothing yet");
    assert!(read(&desk), "a weak belief");
    let done = desk.call(&Asked::new("fs.write"));
    assert_eq!(answer(&done), (Verdict::Hold, ReasonCode::SignalRaised), "{done:?}");
}

#[test]
fn a_read_a_call_outside_and_a_write_are_stopped() {
    let desk = desk(vec![Arc::new(ToolSequenceSentinel::new())]);
    assert!(succeeded(&desk.call(&Asked::new("fs.write"))), "nothing came before");
    assert!(read(&desk));
    assert!(succeeded(&desk.call(&Asked::new("web.fetch"))));
    let done = desk.call(&Asked::new("fs.write"));
    assert_eq!(answer(&done), (Verdict::Hold, ReasonCode::SignalRaised));
    let other = desk.world.run();
    let fresh = desk.world.call(&other, &desk.who, &Asked::new("fs.write"));
    assert!(succeeded(&fresh), "another run is another sequence");
}

#[test]
fn a_run_that_is_met_in_its_middle_is_not_taken_for_a_fresh_one() {
    let before = desk(sentinels());
    assert!(read(&before));
    let World { kernel, ledger, .. } = before.world;
    drop(kernel);
    let ports = Ports { signals: Arc::new(SignalMonitor::new(sentinels())), ..Ports::default() };
    let after = Desk::under(ledger, documents(RULES, ""), ports);
    let done = after.world.call(&before.run, &before.who, &Asked::new("fs.write"));
    assert_eq!(answer(&done), (Verdict::Hold, ReasonCode::SignalRaised));
}

/// Says one thing, or fails, or panics.
struct Fixed(fn() -> Result<Vec<Signal>, SignalError>);

impl SignalSource for Fixed {
    fn name(&self) -> &str {
        "fixed"
    }

    fn observe(&self, _: &FinishedCall<'_>) {}

    fn signals(&self, _: &CallContext<'_>) -> Result<Vec<Signal>, SignalError> {
        (self.0)()
    }
}

#[test]
fn a_source_that_fails_or_panics_holds_what_writes_and_lets_reads_go_on() {
    let fails: fn() -> Result<Vec<Signal>, SignalError> =
        || Err(SignalError::Unavailable("gone".to_owned()));
    for says in [fails, || panic!("on purpose")] {
        let desk = desk(vec![Arc::new(Fixed(says))]);
        assert!(read(&desk));
        let asked = Asked::new("fs.write");
        let run = desk.world.run();
        let held = desk.world.call(&run, &desk.who, &asked);
        assert_eq!(answer(&held), (Verdict::Hold, ReasonCode::SignalUnavailable));
        assert_eq!(desk.world.executed(), 1);
        desk.grant(&held.request.unwrap(), "alice", ALICE);
        assert!(succeeded(&desk.world.call(&run, &desk.who, &asked)));
    }
}

#[test]
fn what_a_signal_holds_somebody_can_release() {
    let warning = || {
        Ok(vec![Signal {
            source: String::new(),
            kind: SignalKind::SentinelAlert,
            severity: Severity::Warning,
            subject: SignalSubject::ToolSequence,
            detail: "password=hunter2!".to_owned(),
        }])
    };
    let desk = desk(vec![Arc::new(Fixed(warning))]);
    assert!(read(&desk));
    let asked = Asked::new("fs.write");
    let desk_run = desk.world.run();
    let held = desk.world.call(&desk_run, &desk.who, &asked);
    assert_eq!(answer(&held), (Verdict::Hold, ReasonCode::SignalRaised));
    desk.grant(&held.request.unwrap(), "alice", ALICE);
    assert!(succeeded(&desk.world.call(&desk_run, &desk.who, &asked)));
    let told = log(desk.world.ledger.as_ref());
    assert!(told.iter().any(|event| event.kind == "signal.raised"));
    assert!(told.iter().all(|event| !event.payload.to_string().contains("hunter2")));
}
