//! Outcomes are counted in the ledger, outlast the process, and hold what rests on a tool that is
//! wrong too often.

use std::sync::Arc;

use weaver_agent_kernel::{Ports, SignedFileOutcome, block_on};
use weaver_policy::approval::{BeliefOutcome, OperatorAction};
use weaver_policy::signal::{CalibrationSource, CalibrationThresholds, SignalMonitor};
use weaver_types::{CallId, PrincipalId, ReasonCode, Verdict};

use crate::approval_words::word;
use crate::approvals::{Desk, RULES, documents};
use crate::support::{Asked, World, answer, log, memory, succeeded};

fn ports() -> Ports {
    let watch = SignalMonitor::default().with_calibration(Arc::new(CalibrationSource::default()));
    Ports { signals: Arc::new(watch), ..Ports::default() }
}

fn wrong(class: &str) -> BeliefOutcome {
    let call = CallId::parse("call_1").ok();
    BeliefOutcome { class: class.to_owned(), confidence: 500, correct: false, call }
}

fn write_after_a_read(desk: &Desk) -> (Verdict, ReasonCode) {
    let run = desk.world.run();
    assert!(succeeded(&desk.world.call(&run, &desk.who, &Asked::new("fs.read"))));
    answer(&desk.world.call(&run, &desk.who, &Asked::new("fs.write")))
}

#[test]
fn outcomes_of_a_host_hold_what_rests_on_their_class_also_after_a_restart() {
    let ledger = memory();
    let desk = Desk::under(Arc::clone(&ledger), documents(RULES, ""), ports());
    let host = PrincipalId::parse("host").unwrap();
    for count in 1..=5 {
        assert_eq!(write_after_a_read(&desk).0, Verdict::Allow, "{count}");
        block_on(desk.world.kernel.record_outcome(&host, &wrong("fs.read"))).unwrap();
    }
    assert_eq!(write_after_a_read(&desk), (Verdict::Hold, ReasonCode::SignalRaised));
    let recorded: Vec<_> = log(ledger.as_ref())
        .into_iter()
        .filter(|event| event.kind == "calibration.recorded")
        .collect();
    assert_eq!(recorded.len(), 5);
    assert_eq!(recorded[0].call.as_deref(), Some("call_1"));
    assert_eq!(recorded[0].payload["class"], "fs.read");
    assert_eq!(recorded[0].payload["by"], "host");
    let World { kernel, .. } = desk.world;
    drop(kernel);
    let desk = Desk::under(ledger, documents(RULES, ""), ports());
    assert_eq!(write_after_a_read(&desk), (Verdict::Hold, ReasonCode::SignalRaised));
    let known = desk.world.kernel.outcomes().unwrap();
    assert_eq!(known.len(), 1);
    let measured = known[0].1.calibration(&CalibrationThresholds::default());
    assert_eq!((known[0].0.as_str(), measured.samples, measured.flagged), ("fs.read", 5, true));
}

#[test]
fn an_operator_records_an_outcome_and_nobody_else() {
    let desk = Desk::under(memory(), documents(RULES, ""), ports());
    let said = OperatorAction::Outcome(wrong("fs.read"));
    let received = desk.receive(&word(&desk, said));
    assert_eq!(received, SignedFileOutcome::OutcomeRecorded { class: "fs.read".to_owned() });
    assert_eq!(desk.world.kernel.outcomes().unwrap().len(), 1);
    for flawed in [
        BeliefOutcome { class: "a b".to_owned(), ..wrong("x") },
        BeliefOutcome { confidence: 1_001, ..wrong("x") },
    ] {
        let received = desk.receive(&word(&desk, OperatorAction::Outcome(flawed)));
        assert!(
            matches!(received, SignedFileOutcome::Rejected { code: "malformed", .. }),
            "{received:?}"
        );
    }
    assert_eq!(desk.world.kernel.outcomes().unwrap().len(), 1);
}

#[test]
fn outcomes_at_once_are_all_counted() {
    let desk = Desk::under(memory(), documents(RULES, ""), ports());
    let host = PrincipalId::parse("host").unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..8 {
                    block_on(desk.world.kernel.record_outcome(&host, &wrong("web.fetch"))).unwrap();
                }
            });
        }
    });
    let known = desk.world.kernel.outcomes().unwrap();
    assert_eq!(known[0].1.calibration(&CalibrationThresholds::default()).samples, 64);
}
