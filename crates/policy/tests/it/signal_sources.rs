//! What each source of signals says, word for word, and at which figure it begins to.

use std::sync::Arc;

use weaver_policy::signal::{
    Belief, BeliefClass, BeliefDeclaration, BeliefDependencies, BeliefId, BeliefOrigin,
    CalibrationSample, CalibrationSource, CallContext, Confidence, DecisionId, FinishedCall,
    LowConfidenceSentinel, MAX_BELIEFS, MAX_SIGNALS, MemoryOriginSentinel, ProposedCall,
    RungThresholds, SEQUENCE_WINDOW, Severity, Signal, SignalError, SignalKind, SignalMonitor,
    SignalReport, SignalSource, SignalSubject, SignalTable, ToolSequenceSentinel, WeakBeliefSource,
    check_results,
};
use weaver_types::{CallId, Capability, Effects, Label, Operation, RunId, Rung, Verdict};

use crate::support::host;

pub(crate) fn run(n: usize) -> RunId {
    RunId::parse(format!("run_{n}")).unwrap()
}

pub(crate) fn class(name: &str) -> BeliefClass {
    BeliefClass::parse(name).unwrap()
}

fn confidence(thousandths: u16) -> Confidence {
    Confidence::from_thousandths(thousandths).unwrap()
}

/// A verified belief of the user's.
pub(crate) fn belief(id: &str, thousandths: u16) -> Belief {
    Belief {
        id: BeliefId::parse(id).unwrap(),
        class: class("general"),
        confidence: confidence(thousandths),
        verified: true,
        origin: BeliefOrigin::User,
    }
}

pub(crate) fn sample(name: &str, thousandths: u16, correct: bool) -> CalibrationSample {
    let (class, confidence) = (class(name), confidence(thousandths));
    CalibrationSample { class, confidence, correct, synthetic: false }
}

fn write() -> Capability {
    host("fs.write", Effects::WRITE_LOCAL)
}

/// What a source says of a write with these dependencies, after so many calls of its run.
pub(crate) fn said(
    source: &dyn SignalSource,
    dependencies: &BeliefDependencies,
    finished: u64,
) -> Vec<Signal> {
    let (run, capability) = (run(0), write());
    let (operation, capability) = (Operation::Invoke, &capability);
    let situation = CallContext { run: &run, capability, operation, finished, dependencies };
    source.signals(&situation).unwrap()
}

/// Dependencies of which some were forgotten.
pub(crate) fn incomplete() -> BeliefDependencies {
    let many = (0..=MAX_BELIEFS).map(|n| belief(&format!("b{n}"), 1_000)).collect();
    BeliefDependencies::new(many, None)
}

pub(crate) fn about(id: &str) -> SignalSubject {
    SignalSubject::Belief(BeliefId::parse(id).unwrap())
}

#[track_caller]
pub(crate) fn is(
    found: &[Signal],
    source: &str,
    kind: SignalKind,
    subject: &SignalSubject,
    detail: &str,
) {
    let [one] = found else { panic!("{found:?}") };
    assert_eq!(
        (one.source.as_str(), one.kind, one.severity, &one.subject, one.detail.as_str()),
        (source, kind, Severity::Warning, subject, detail)
    );
}

#[test]
fn words_for_documents_and_events() {
    let severities = [Severity::Info, Severity::Warning, Severity::Critical];
    assert_eq!(severities.map(Severity::as_str), ["info", "warning", "critical"]);
    let kinds =
        [SignalKind::SentinelAlert, SignalKind::CalibrationFlag, SignalKind::LowConfidenceBelief];
    assert_eq!(
        kinds.map(SignalKind::as_str),
        ["sentinel_alert", "calibration_flag", "low_confidence_belief"]
    );
    let origins = [
        BeliefOrigin::User,
        BeliefOrigin::TrustedTool,
        BeliefOrigin::Inference,
        BeliefOrigin::ExternalDocument,
    ];
    assert_eq!(
        origins.map(BeliefOrigin::as_str),
        ["user", "trusted_tool", "inference", "external_document"]
    );
    for (thousandths, words) in [(0, "0.000"), (7, "0.007"), (500, "0.500"), (1_000, "1.000")] {
        assert_eq!(confidence(thousandths).to_string(), words);
    }
    assert_eq!(Confidence::from_thousandths(1_001), None);
    assert_eq!(SignalError::Poisoned.code(), "signal.poisoned");
    assert_eq!(SignalError::Unavailable(String::new()).code(), "signal.unavailable");
    let name = BeliefId::parse("a b").unwrap_err();
    assert_eq!(SignalError::from(name.clone()).code(), name.code());
}

#[test]
fn a_weak_belief_is_one_below_the_floor_or_not_verified() {
    let floor = WeakBeliefSource::default();
    let weak = |belief: Belief| said(&floor, &BeliefDependencies::new(vec![belief], None), 0);
    assert!(weak(belief("b", 500)).is_empty());
    let low = SignalKind::LowConfidenceBelief;
    is(
        &weak(belief("b", 499)),
        "belief-floor",
        low,
        &about("b"),
        "weak: confidence 0.499, verified, from user",
    );
    let unverified = Belief { verified: false, ..belief("b", 900) };
    is(
        &weak(unverified),
        "belief-floor",
        low,
        &about("b"),
        "weak: confidence 0.900, not verified, from user",
    );
    let three = ["a", "b", "c"].map(|id| belief(id, 100)).to_vec();
    is(
        &said(&floor, &BeliefDependencies::new(three, None), 0),
        "belief-floor",
        low,
        &about("a"),
        "weak: confidence 0.100, verified, from user, and 2 more",
    );
    is(
        &said(&floor, &incomplete(), 0),
        "belief-floor",
        low,
        &SignalSubject::ToolSequence,
        "beliefs were forgotten and may be weak",
    );
}

#[test]
fn a_guess_is_a_belief_below_the_floor() {
    let guesses = LowConfidenceSentinel::default();
    let alert = SignalKind::SentinelAlert;
    let depends = |thousandths, decision| {
        BeliefDependencies::new(
            vec![Belief { verified: false, ..belief("b", thousandths) }],
            decision,
        )
    };
    assert!(said(&guesses, &depends(500, None), 0).is_empty());
    let detail = "a guess: confidence 0.499, not verified, from user";
    let name = "low-confidence-action";
    is(&said(&guesses, &depends(499, None), 0), name, alert, &about("b"), detail);
    // Where a decision was declared, the alert is about that.
    let decision = DecisionId::parse("d1").unwrap();
    let found = said(&guesses, &depends(499, Some(decision.clone())), 0);
    is(&found, name, alert, &SignalSubject::Decision(decision), detail);
}

#[test]
fn a_memory_from_an_external_document_is_suspicious() {
    for origin in [BeliefOrigin::User, BeliefOrigin::TrustedTool, BeliefOrigin::Inference] {
        let sound = BeliefDependencies::new(vec![Belief { origin, ..belief("b", 100) }], None);
        assert!(said(&MemoryOriginSentinel, &sound, 0).is_empty());
    }
    let planted = Belief { origin: BeliefOrigin::ExternalDocument, ..belief("b", 900) };
    is(
        &said(&MemoryOriginSentinel, &BeliefDependencies::new(vec![planted], None), 0),
        "suspicious-memory-origin",
        SignalKind::SentinelAlert,
        &about("b"),
        "of doubtful origin: confidence 0.900, verified, from external_document",
    );
}

/// Tells a source of so many writes of a run, from this one on.
pub(crate) fn writes(source: &dyn SignalSource, from: u64, count: usize) {
    let (run, label, write) = (run(0), Label::clean(), write());
    for finished in (from..).take(count) {
        let call = CallId::parse(format!("call_{finished}")).unwrap();
        source.observe(&FinishedCall {
            run: &run,
            call: &call,
            capability: write.id(),
            effects: write.spec().effects,
            label: &label,
            operation: Operation::Invoke,
            finished,
        });
    }
}

#[test]
fn a_window_that_is_full_again_makes_up_for_what_was_forgotten() {
    let nothing = BeliefDependencies::none();
    let after = |from, count| {
        let sequence = ToolSequenceSentinel::new();
        writes(&sequence, from, count);
        said(&sequence, &nothing, from + count as u64)
    };
    assert!(after(0, 3).is_empty());
    for count in [1, SEQUENCE_WINDOW - 1] {
        is(
            &after(5, count),
            "anomalous-tool-sequence",
            SignalKind::SentinelAlert,
            &SignalSubject::ToolSequence,
            "earlier calls of this run were forgotten",
        );
    }
    assert!(after(5, SEQUENCE_WINDOW).is_empty());
    assert!(after(5, SEQUENCE_WINDOW + 1).is_empty());
}

fn reported(monitor: &SignalMonitor) -> SignalReport {
    let (run, capability, declaration) = (run(0), write(), BeliefDeclaration::default());
    monitor.report(&ProposedCall {
        run: &run,
        capability: &capability,
        operation: Operation::Invoke,
        finished: 1,
        declaration: &declaration,
    })
}

#[test]
fn a_monitor_without_sources_is_idle_and_one_with_calibration_is_not() {
    let idle = SignalMonitor::new(Vec::new());
    assert!(idle.is_idle() && idle.calibration().is_none());
    assert!(SignalMonitor::default().is_idle());
    idle.record_belief(&run(0), 0, belief("b", 100)).unwrap();
    assert!(reported(&idle).is_empty());

    let flags = Arc::new(CalibrationSource::default());
    let monitor = SignalMonitor::new(vec![Arc::new(WeakBeliefSource::default())])
        .with_calibration(Arc::clone(&flags));
    assert!(!monitor.is_idle());
    (0..8).for_each(|_| flags.record(&sample("general", 920, false)).unwrap());
    let known = monitor.calibration().unwrap();
    assert_eq!(known.class(&class("general")).unwrap().unwrap().samples, 8);
    monitor.record_belief(&run(0), 0, belief("b", 100)).unwrap();
    let report = reported(&monitor);
    let sources: Vec<_> = report.signals().iter().map(|one| one.source.as_str()).collect();
    assert_eq!(sources.len(), 2);
    assert!(report.signals().iter().all(|one| one.subject == about("b")));
    assert!(sources.contains(&"belief-floor") && sources.contains(&"calibration-flags"));
    let shown = format!("{monitor:?}");
    assert_eq!(shown, "SignalMonitor { sources: [\"belief-floor\", \"calibration-flags\"], .. }");
    monitor.forget(&run(0));
    // What was forgotten counts as the worst.
    let subjects: Vec<_> = reported(&monitor).signals().iter().map(|s| s.subject.clone()).collect();
    assert_eq!(subjects, [SignalSubject::ToolSequence, SignalSubject::ToolSequence]);
}

/// A source under a false name.
struct Claims(Vec<Signal>);

impl SignalSource for Claims {
    fn name(&self) -> &str {
        "claims"
    }

    fn observe(&self, _: &FinishedCall<'_>) {}

    fn signals(&self, _: &CallContext<'_>) -> Result<Vec<Signal>, SignalError> {
        Ok(self.0.clone())
    }
}

fn signal(severity: Severity, subject: SignalSubject, detail: &str) -> Signal {
    let (source, kind) = ("s".to_owned(), SignalKind::SentinelAlert);
    Signal { source, kind, severity, subject, detail: detail.to_owned() }
}

fn gathered(signals: Vec<Signal>) -> SignalReport {
    let sources: [Arc<dyn SignalSource>; 1] = [Arc::new(Claims(signals))];
    let (run, capability, dependencies) = (run(0), write(), BeliefDependencies::none());
    let (operation, finished) = (Operation::Invoke, 0);
    let (run, capability, dependencies) = (&run, &capability, &dependencies);
    SignalReport::collect(
        &sources,
        &CallContext { run, capability, operation, finished, dependencies },
    )
}

#[test]
fn a_signal_bears_the_name_of_its_source_and_a_bounded_text() {
    let of = |length: usize| {
        let report = gathered(vec![signal(
            Severity::Info,
            SignalSubject::ToolSequence,
            &"x".repeat(length),
        )]);
        assert_eq!(report.signals()[0].source, "claims");
        report.signals()[0].detail.len()
    };
    assert_eq!([511, 512, 513, 4_000].map(of), [511, 512, 512, 512]);
}

#[test]
fn signals_of_one_sort_are_counted_beyond_the_bound_on_either_side() {
    let many = |count: usize, subject: &dyn Fn(usize) -> SignalSubject| {
        let all = (0..count).map(|n| signal(Severity::Info, subject(n), &format!("{n}")));
        let report = gathered(all.collect());
        (report.signals().len(), report.unrelated_signals().len(), report.dropped_count())
    };
    let concerns = |_: usize| SignalSubject::ToolSequence;
    let beside = |n: usize| about(&format!("b{n}"));
    assert_eq!(many(MAX_SIGNALS, &concerns), (16, 0, 0));
    assert_eq!(many(MAX_SIGNALS + 3, &concerns), (16, 0, 3));
    assert_eq!(many(MAX_SIGNALS, &beside), (0, 16, 0));
    assert_eq!(many(MAX_SIGNALS + 3, &beside), (0, 16, 3));
}

#[test]
fn a_report_with_anything_in_it_is_not_empty() {
    assert!(SignalReport::none().is_empty());
    let (concerns, beside) = (SignalSubject::ToolSequence, about("b"));
    assert!(!gathered(vec![signal(Severity::Info, concerns, "d")]).is_empty());
    assert!(!gathered(vec![signal(Severity::Info, beside, "d")]).is_empty());
    assert!(!SignalReport::none().with_failure("s", &SignalError::Poisoned).is_empty());
}

#[test]
fn a_signal_is_told_with_what_it_is_about() {
    let call = CallId::parse("call_1").unwrap();
    let decision = DecisionId::parse("d1").unwrap();
    for (subject, words) in [
        (about("b"), "about belief `b`: why"),
        (SignalSubject::Decision(decision), "about decision `d1`: why"),
        (SignalSubject::ToolSequence, "about the sequence of calls: why"),
    ] {
        let report = SignalReport::none().with_signal(signal(Severity::Warning, subject, "why"));
        assert_eq!(report.signals().len(), 1);
        let hold = SignalTable {
            warning: RungThresholds { hold_from: Some(Rung::L0), deny_from: None },
            ..SignalTable::default()
        };
        let said = check_results(&report, &hold, Rung::L4, Operation::Invoke);
        assert_eq!(said[0].detail, format!("warning sentinel_alert of `s` {words}"));
    }
    let over = SignalReport::from_signals(vec![signal(
        Severity::Critical,
        SignalSubject::Action(call),
        "why",
    )]);
    let table = SignalTable::default();
    assert!(check_results(&over, &table, Rung::L4, Operation::Invoke).is_empty());
}

#[test]
fn beyond_sixteen_failures_the_others_speak_together() {
    let table = SignalTable::default();
    let details = |count: usize| {
        let report = (0..count).fold(SignalReport::none(), |report, n| {
            report.with_failure(&format!("s{n:02}"), &SignalError::Unavailable("lost".to_owned()))
        });
        let said = check_results(&report, &table, Rung::L4, Operation::Invoke);
        assert!(said.iter().all(|one| one.verdict == Verdict::Hold));
        (said.len(), said.last().unwrap().detail.clone())
    };
    let last = "the source `s15` failed: lost";
    assert_eq!(details(16), (16, last.to_owned()));
    for (raised, said) in [(17, "1 more of this sort, with"), (20, "4 more of this sort, with")] {
        let (results, last) = details(raised);
        assert!(results == 17 && last.starts_with(said), "{results} {last}");
    }
}

#[test]
fn a_name_has_1_to_528_visible_bytes() {
    let fits = |text: &str| BeliefId::parse(text).is_ok();
    assert!(fits("a") && fits(&"a".repeat(528)) && fits("b\u{e9}lief:1"));
    for text in [
        "",
        " ",
        "a b",
        "a\tb",
        "a\u{a0}b",
        "a\u{200b}b",
        "a\u{202e}b",
        "a\u{0}b",
        "a\u{7f}b",
        "a\u{e0041}b",
        &"a".repeat(529),
        &"a".repeat(2_000),
    ] {
        assert!(!fits(text), "{text:?}");
    }
    let error = DecisionId::parse("a b").unwrap_err();
    assert_eq!((error.kind, error.text.as_str()), ("decision id", "a b"));
    assert_eq!(DecisionId::parse("d1").unwrap().to_string(), "d1");
}
