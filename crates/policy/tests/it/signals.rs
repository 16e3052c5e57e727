//! Runtime signals: the arbitration cases of Lodestar, its weaknesses W8 and W9, and the bounds.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use weaver_policy::PolicySet;
use weaver_policy::signal::{
    Belief, BeliefClass, BeliefDeclaration, BeliefDependencies, BeliefId, BeliefOrigin,
    BeliefStore, CalibrationSample, CalibrationSource, CalibrationThresholds, Calibrator,
    CallContext, Confidence, DecisionId, FinishedCall, LowConfidenceSentinel, MAX_BELIEFS,
    MAX_CLASSES, MAX_RUNS, MAX_SIGNALS, MemoryOriginSentinel, ProposedCall, RungThresholds,
    SEQUENCE_WINDOW, Severity, Signal, SignalError, SignalKind, SignalMonitor, SignalReport,
    SignalSource, SignalSubject, SignalTable, ToolSequenceSentinel, WeakBeliefSource,
    check_results,
};
use weaver_types::{
    CallId, Capability, CapabilityId, CheckKind, CheckResult, Decision, Effects, Label, Operation,
    ReasonCode, Remedy, RunId, Rung, Verdict,
};

use crate::support::{Case, draft, host, set};

const RULES: &str = r#"
[[rules]]
name = "git ok"
match = { capability = ["git.*", "fs.*", "web.*"] }
effect = "allow"
[[rules]]
name = "no payments"
match = { capability = "pay.*" }
effect = "deny"
"#;

fn rules() -> PolicySet {
    set(RULES, "")
}

fn on(id: &str, rung: Rung) -> Capability {
    let effects = if rung >= Rung::L3 { Effects::WRITE_LOCAL } else { Effects::READ_LOCAL };
    let mut draft = draft(id, effects);
    draft.rung = Some(rung);
    draft.build().unwrap()
}

fn run(n: usize) -> RunId {
    RunId::parse(format!("run_{n}")).unwrap()
}

fn belief(id: &str, thousandths: u16, verified: bool) -> Belief {
    Belief {
        id: BeliefId::parse(id).unwrap(),
        class: BeliefClass::parse("general").unwrap(),
        confidence: Confidence::from_thousandths(thousandths).unwrap(),
        verified,
        origin: BeliefOrigin::User,
    }
}

fn backed_by(id: &str) -> BeliefDependencies {
    BeliefDependencies::new(vec![belief(id, 900, true)], None)
}

fn about(id: &str) -> SignalSubject {
    SignalSubject::Belief(BeliefId::parse(id).unwrap())
}

/// A source that always says the same.
struct Says(Vec<Signal>);

impl Says {
    fn alert(severity: Severity, subject: SignalSubject) -> Arc<dyn SignalSource> {
        Arc::new(Self(vec![signal(SignalKind::SentinelAlert, severity, subject)]))
    }
}

impl SignalSource for Says {
    fn name(&self) -> &str {
        "says"
    }

    fn observe(&self, _: &FinishedCall<'_>) {}

    fn signals(&self, _: &CallContext<'_>) -> Result<Vec<Signal>, SignalError> {
        Ok(self.0.clone())
    }
}

/// A source that cannot tell.
struct Fails;

impl SignalSource for Fails {
    fn name(&self) -> &str {
        "fails"
    }

    fn observe(&self, _: &FinishedCall<'_>) {}

    fn signals(&self, _: &CallContext<'_>) -> Result<Vec<Signal>, SignalError> {
        Err(SignalError::Unavailable("the disk is\u{202e} full".to_owned()))
    }
}

fn signal(kind: SignalKind, severity: Severity, subject: SignalSubject) -> Signal {
    Signal { source: "s".to_owned(), kind, severity, subject, detail: "d".to_owned() }
}

fn report(
    sources: &[Arc<dyn SignalSource>],
    capability: &Capability,
    dependencies: &BeliefDependencies,
) -> SignalReport {
    let (run, operation) = (run(0), Operation::Invoke);
    let situation = CallContext { run: &run, capability, operation, finished: 0, dependencies };
    SignalReport::collect(sources, &situation)
}

fn decide(capability: &Capability, report: &SignalReport) -> Decision {
    Case::new(capability.clone(), &[]).signalled(report).decide(&rules())
}

fn verdict(
    sources: &[Arc<dyn SignalSource>],
    capability: &Capability,
    dependencies: &BeliefDependencies,
) -> Verdict {
    decide(capability, &report(sources, capability, dependencies)).verdict()
}

// The arbitration cases of Lodestar, by their ids.

/// Cases: ARB-01.
#[test]
fn a_warning_on_a_backing_belief_holds() {
    let tag = on("git.tag", Rung::L2);
    let sources = [Says::alert(Severity::Warning, about("bB"))];
    let decision = decide(&tag, &report(&sources, &tag, &backed_by("bB")));
    assert_eq!(
        (decision.verdict(), decision.primary_reason()),
        (Verdict::Hold, ReasonCode::SignalRaised)
    );
    // Anybody may release it, one person, and the rule that allowed it is still listed.
    let anybody =
        weaver_types::ApprovalAuthority { quorum: 1, ..weaver_types::ApprovalAuthority::default() };
    assert_eq!(*decision.authority(), anybody);
    let listed = |check: CheckKind| decision.check_results().iter().find(move |c| c.check == check);
    assert_eq!(listed(CheckKind::Rule).unwrap().detail, "rule `git ok`");
    assert_eq!(listed(CheckKind::Signal).unwrap().discharge, Remedy::Approval);
}

/// Cases: ARB-02.
#[test]
fn a_warning_on_another_belief_does_not_concern_the_call() {
    let tag = on("git.tag", Rung::L2);
    let sources = [Says::alert(Severity::Warning, about("bB"))];
    let report = report(&sources, &tag, &backed_by("bC"));
    assert_eq!(decide(&tag, &report).verdict(), Verdict::Allow);
    assert_eq!((report.signals().len(), report.unrelated_signals().len()), (0, 1));
}

/// Cases: ARB-03.
#[test]
fn severity_and_subject_settle_what_an_alert_does() {
    let tag = on("git.tag", Rung::L2);
    let call = SignalSubject::Action(CallId::parse("a1").unwrap());
    let table = [
        (Severity::Info, SignalSubject::ToolSequence, Verdict::Allow),
        (Severity::Critical, SignalSubject::ToolSequence, Verdict::Hold),
        (Severity::Critical, call.clone(), Verdict::Allow),
    ];
    for (severity, subject, expected) in table {
        let sources = [Says::alert(severity, subject.clone())];
        assert_eq!(verdict(&sources, &tag, &BeliefDependencies::none()), expected, "{subject:?}");
    }
    // Not even where a report was made by hand.
    let by_hand = SignalReport::from_signals(vec![signal(
        SignalKind::SentinelAlert,
        Severity::Critical,
        call,
    )]);
    assert_eq!(decide(&tag, &by_hand).verdict(), Verdict::Allow);
}

fn miscalibrated(class: &str) -> CalibrationSource {
    let flags = CalibrationSource::default();
    for _ in 0..8 {
        flags.record(&sample(class, 920, false)).unwrap();
    }
    flags
}

fn sample(class: &str, thousandths: u16, correct: bool) -> CalibrationSample {
    CalibrationSample {
        class: BeliefClass::parse(class).unwrap(),
        confidence: Confidence::from_thousandths(thousandths).unwrap(),
        correct,
        synthetic: false,
    }
}

/// Cases: ARB-04.
#[test]
fn a_flagged_class_behind_the_call_holds() {
    let tag = on("git.tag", Rung::L2);
    let sources: [Arc<dyn SignalSource>; 1] = [Arc::new(miscalibrated("over"))];
    let of_class = |class: &str| {
        let class = BeliefClass::parse(class).unwrap();
        BeliefDependencies::new(vec![Belief { class, ..belief("b", 920, true) }], None)
    };
    let report = report(&sources, &tag, &of_class("over"));
    assert_eq!(decide(&tag, &report).verdict(), Verdict::Hold);
    assert_eq!(report.signals()[0].kind, SignalKind::CalibrationFlag);
    assert_eq!(verdict(&sources, &tag, &of_class("other")), Verdict::Allow);
}

/// Cases: ARB-05.
#[test]
fn a_weak_belief_holds_from_l3_on() {
    let table = [
        (Rung::L3, 490, true, Verdict::Hold),
        (Rung::L3, 500, true, Verdict::Allow),
        (Rung::L2, 490, true, Verdict::Allow),
        (Rung::L3, 990, false, Verdict::Hold),
    ];
    for (rung, confidence, verified, expected) in table {
        let sources: [Arc<dyn SignalSource>; 1] = [Arc::new(WeakBeliefSource::default())];
        let dependencies = BeliefDependencies::new(vec![belief("b", confidence, verified)], None);
        let answer = verdict(&sources, &on("git.tag", rung), &dependencies);
        assert_eq!(answer, expected, "{rung:?} {confidence} {verified}");
    }
}

/// Cases: ARB-06.
#[test]
fn a_denial_stays_the_denial_it_was() {
    let send = on("pay.send", Rung::L2);
    let sources = [Says::alert(Severity::Warning, about("b"))];
    let decision = decide(&send, &report(&sources, &send, &backed_by("b")));
    assert_eq!((decision.verdict(), decision.detail()), (Verdict::Deny, "rule `no payments`"));
    assert_eq!(decision.primary_reason(), ReasonCode::ExplicitDenyRule);
}

/// Cases: ARB-07.
#[test]
fn calibration_has_the_figures_of_the_reference() {
    let class = BeliefClass::parse("over").unwrap();
    let mut calibrator = Calibrator::default();
    for count in 1..=8 {
        calibrator.record(&sample("over", 920, false));
        assert_eq!(calibrator.is_flagged(&class), count >= 5, "{count} samples");
    }
    let measured = calibrator.class(&class).unwrap();
    assert!(measured.flagged);
    assert_eq!((measured.gap, measured.brier, measured.ece), (0.92, 0.8464, 0.92));
}

/// Cases: ARB-08.
#[test]
fn what_declares_nothing_is_held_by_a_flag_on_anything_it_saw() {
    let watch = SignalMonitor::new(vec![Arc::new(miscalibrated("general"))]);
    watch.record_belief(&run(0), 0, belief("b", 900, true)).unwrap();
    let write = host("fs.write", Effects::WRITE_LOCAL);
    assert_eq!(write.rung(), Rung::L3);
    assert_eq!(asked(&watch, 0, &write, 1, &BeliefDeclaration::default()), Verdict::Hold);
}

/// Cases: ARB-09.
#[test]
fn after_a_text_reads_go_on_and_a_write_is_held() {
    let watch = sentinels();
    let (read, write) =
        (host("fs.read", Effects::READ_LOCAL), host("fs.write", Effects::WRITE_LOCAL));
    let nothing = BeliefDeclaration::default();
    assert_eq!(asked(&watch, 0, &read, 0, &nothing), Verdict::Allow);
    see(&watch, 0, &read, 0, &Label::undeclared_output());
    assert_eq!(asked(&watch, 0, &read, 1, &nothing), Verdict::Allow);
    assert_eq!(asked(&watch, 0, &write, 1, &nothing), Verdict::Hold);
}

/// The three sentinels, armed.
fn sentinels() -> SignalMonitor {
    SignalMonitor::new(vec![
        Arc::new(LowConfidenceSentinel::default()),
        Arc::new(MemoryOriginSentinel),
        Arc::new(ToolSequenceSentinel::new()),
    ])
}

fn see(
    source: &SignalMonitor,
    run_number: usize,
    capability: &Capability,
    finished: u64,
    label: &Label,
) {
    let (run, call) = (run(run_number), CallId::parse(format!("call_{finished}")).unwrap());
    let seen = FinishedCall {
        run: &run,
        call: &call,
        capability: capability.id(),
        effects: capability.spec().effects,
        label,
        operation: Operation::Invoke,
        finished,
    };
    source.observe(&seen).unwrap();
}

fn reported(
    watch: &SignalMonitor,
    run_number: usize,
    capability: &Capability,
    finished: u64,
    declaration: &BeliefDeclaration,
) -> SignalReport {
    let (run, operation) = (run(run_number), Operation::Invoke);
    watch.report(&ProposedCall { run: &run, capability, operation, finished, declaration })
}

fn asked(
    watch: &SignalMonitor,
    run_number: usize,
    capability: &Capability,
    finished: u64,
    declaration: &BeliefDeclaration,
) -> Verdict {
    decide(capability, &reported(watch, run_number, capability, finished, declaration)).verdict()
}

// The weaknesses of Lodestar that signals answer.

/// Cases: W8.
#[test]
fn leaving_the_decision_out_escapes_nothing() {
    let flags = miscalibrated("general");
    let watch = SignalMonitor::new(vec![Arc::new(flags), Arc::new(WeakBeliefSource::default())]);
    watch.record_belief(&run(0), 0, belief("weak", 100, false)).unwrap();
    watch
        .record_belief(
            &run(0),
            0,
            Belief { class: BeliefClass::parse("sound").unwrap(), ..belief("strong", 990, true) },
        )
        .unwrap();
    let write = host("fs.write", Effects::WRITE_LOCAL);
    let answer = |declaration: &BeliefDeclaration| asked(&watch, 0, &write, 1, declaration);
    let rests_on = |id: &str| BeliefDeclaration {
        decision: None,
        beliefs: [BeliefId::parse(id).unwrap()].into(),
    };
    // Nothing declared, or a decision without its beliefs: every belief of the run counts.
    assert_eq!(answer(&BeliefDeclaration::default()), Verdict::Hold);
    let decision = Some(DecisionId::parse("d1").unwrap());
    assert_eq!(
        answer(&BeliefDeclaration { decision, ..BeliefDeclaration::default() }),
        Verdict::Hold
    );
    // Declared, it counts for what it is; a belief nobody knows counts as the worst.
    assert_eq!(answer(&rests_on("strong")), Verdict::Allow);
    assert_eq!(answer(&rests_on("weak")), Verdict::Hold);
    assert_eq!(answer(&rests_on("invented")), Verdict::Hold);
    // Another run has seen nothing.
    assert_eq!(asked(&watch, 1, &write, 0, &BeliefDeclaration::default()), Verdict::Allow);
}

/// Cases: W9.
#[test]
fn one_tainted_text_holds_no_later_read() {
    let watch = sentinels();
    let read = host("fs.read", Effects::READ_LOCAL);
    let fetch = host("web.fetch", Effects::READ_OPEN);
    let write = host("fs.write", Effects::WRITE_LOCAL);
    let nothing = BeliefDeclaration::default();
    see(&watch, 0, &fetch, 0, &Label::undeclared_output());
    for finished in 1..300 {
        let capability = if finished % 3 == 0 { &fetch } else { &read };
        assert_eq!(asked(&watch, 0, capability, finished, &nothing), Verdict::Allow, "{finished}");
        assert!(asked(&watch, 0, &write, finished, &nothing) >= Verdict::Hold, "{finished}");
        see(&watch, 0, capability, finished, &Label::undeclared_output());
    }
}

// What a failure does.

#[test]
fn a_source_that_fails_holds_what_writes_and_lets_reads_go_on() {
    let answered = |set: &PolicySet, rung: Rung, operation: Operation| {
        let capability = on("git.tag", rung);
        let report = report(&[Arc::new(Fails)], &capability, &BeliefDependencies::none());
        let mut case = Case::new(capability.clone(), &[]).signalled(&report);
        case.operation = operation;
        case.decide(set)
    };
    for rung in [Rung::L0, Rung::L1] {
        assert!(answered(&rules(), rung, Operation::Invoke).is_allowed(), "{rung:?}");
    }
    for rung in [Rung::L2, Rung::L3] {
        let held = answered(&rules(), rung, Operation::Invoke);
        assert_eq!(held.primary_reason(), ReasonCode::SignalUnavailable);
        assert_eq!(held.verdict(), Verdict::Hold);
        assert!(held.detail().contains("the disk is\\u{202e} full"), "{}", held.detail());
        assert!(answered(&rules(), rung, Operation::View).is_allowed());
    }
    // A signed policy may ask for more.
    let strict = set(&format!("{RULES}[signals]\nunavailable = {{ deny_from = \"L0\" }}\n"), "");
    for operation in [Operation::Invoke, Operation::View] {
        let denied = answered(&strict, Rung::L0, operation);
        let answer = (denied.verdict(), denied.primary_reason());
        assert_eq!(answer, (Verdict::Deny, ReasonCode::SignalUnavailable));
    }
}

#[test]
fn a_failure_beside_a_source_that_answers_still_holds() {
    let tag = on("git.tag", Rung::L3);
    let quiet: Arc<dyn SignalSource> = Arc::new(WeakBeliefSource::default());
    let sources = [quiet, Arc::new(Fails)];
    assert_eq!(verdict(&sources, &tag, &BeliefDependencies::none()), Verdict::Hold);
}

// The table.

#[test]
fn the_defaults_of_the_table() {
    let rungs = [Rung::L0, Rung::L1, Rung::L2, Rung::L3, Rung::L4, Rung::L5];
    use Verdict::{Allow as A, Hold as H};
    let expected = [
        (SignalKind::SentinelAlert, Severity::Info, [A, A, A, A, A, A]),
        (SignalKind::SentinelAlert, Severity::Warning, [A, A, H, H, H, H]),
        (SignalKind::CalibrationFlag, Severity::Warning, [A, A, H, H, H, H]),
        (SignalKind::SentinelAlert, Severity::Critical, [A, H, H, H, H, H]),
        (SignalKind::LowConfidenceBelief, Severity::Warning, [A, A, A, H, H, H]),
    ];
    let table = SignalTable::default();
    for (kind, severity, verdicts) in expected {
        let signal = signal(kind, severity, SignalSubject::ToolSequence);
        let answer = rungs.map(|rung| table.verdict(&signal, rung, Operation::Invoke));
        assert_eq!(answer, verdicts, "{kind:?} {severity:?}");
        let viewed = rungs.map(|rung| table.verdict(&signal, rung, Operation::View));
        assert_eq!(viewed, [A; 6]);
    }
}

#[test]
fn a_table_cannot_make_a_graver_signal_milder() {
    let reach = |hold_from| RungThresholds { hold_from, deny_from: None };
    let table = SignalTable {
        info: reach(Some(Rung::L0)),
        warning: RungThresholds { hold_from: None, deny_from: Some(Rung::L3) },
        critical: reach(None),
        ..SignalTable::default()
    };
    let critical =
        signal(SignalKind::SentinelAlert, Severity::Critical, SignalSubject::ToolSequence);
    let answer = |rung| table.verdict(&critical, rung, Operation::Invoke);
    assert_eq!((answer(Rung::L0), answer(Rung::L3)), (Verdict::Hold, Verdict::Deny));
}

#[test]
fn the_table_and_the_authority_of_the_policy_are_the_ones_that_count() {
    let head = "[signals]\nwarning = { hold_from = \"L0\" }\ncritical = { hold_from = \"never\" }\n\
                [approvals]\nsignal = { min_trust = 700 }\n";
    let set = set(&(head.to_owned() + RULES), "");
    let read = on("git.tag", Rung::L0);
    for severity in [Severity::Warning, Severity::Critical] {
        let raised = signal(SignalKind::SentinelAlert, severity, SignalSubject::ToolSequence);
        let case =
            Case::new(read.clone(), &[]).signalled(&SignalReport::from_signals(vec![raised]));
        let decision = case.decide(&set);
        assert_eq!(decision.verdict(), Verdict::Hold);
        assert_eq!(decision.authority().min_trust, Some(700));
    }
}

// The sequence of calls.

fn walk(steps: &[&Capability], then: &Capability) -> Verdict {
    let watch = SignalMonitor::new(vec![Arc::new(ToolSequenceSentinel::new())]);
    for (finished, step) in (0..).zip(steps) {
        see(&watch, 0, step, finished, &Label::clean());
    }
    asked(&watch, 0, then, steps.len() as u64, &BeliefDeclaration::default())
}

#[test]
fn a_write_after_a_read_and_a_call_outside_is_held_before_it_happens() {
    let read = host("fs.read", Effects::READ_LOCAL);
    let fetch = host("web.fetch", Effects::READ_OPEN);
    let write = host("fs.write", Effects::WRITE_LOCAL);
    assert_eq!(walk(&[&read, &fetch], &write), Verdict::Hold);
    assert_eq!(walk(&[&read, &write, &fetch, &read], &write), Verdict::Hold);
    // Another order, or only a part of it, is nothing.
    assert_eq!(walk(&[&fetch, &read], &write), Verdict::Allow);
    assert_eq!(walk(&[&read, &read], &write), Verdict::Allow);
    assert_eq!(walk(&[], &write), Verdict::Allow);
    // What is no write goes on.
    assert_eq!(walk(&[&read, &fetch], &read), Verdict::Allow);
    assert_eq!(walk(&[&read, &fetch], &fetch), Verdict::Allow);
    // What left the window is forgotten, and that is known to be harmless.
    let mut long = vec![&read, &fetch];
    long.extend(vec![&write; SEQUENCE_WINDOW - 2]);
    assert_eq!(walk(&long, &write), Verdict::Hold);
    long.push(&write);
    assert_eq!(walk(&long, &write), Verdict::Allow);
}

#[test]
fn a_view_is_no_step() {
    let sentinel = ToolSequenceSentinel::new();
    let (run, call, label) = (run(0), CallId::parse("c").unwrap(), Label::clean());
    let write = host("fs.write", Effects::WRITE_LOCAL);
    let alerts = |second: Operation, third: Operation| {
        let steps = [
            ("fs.read", Effects::READ_LOCAL, Operation::Invoke),
            ("web.fetch", Effects::READ_OPEN, second),
        ];
        for (finished, (id, effects, operation)) in (0..).zip(steps) {
            let capability = CapabilityId::parse(id).unwrap();
            let capability = &capability;
            let label = &label;
            let call = &call;
            let run = &run;
            sentinel.observe(&FinishedCall {
                run,
                call,
                capability,
                effects,
                label,
                operation,
                finished,
            });
        }
        let (capability, operation, dependencies) = (&write, third, &BeliefDependencies::none());
        let situation = CallContext { run: &run, capability, operation, finished: 2, dependencies };
        let count = sentinel.signals(&situation).unwrap().len();
        sentinel.forget(&run);
        count
    };
    assert_eq!(alerts(Operation::Invoke, Operation::Invoke), 1);
    assert_eq!(alerts(Operation::View, Operation::Invoke), 0);
    assert_eq!(alerts(Operation::Invoke, Operation::View), 0);
}

// Bounds, and what is forgotten.

#[test]
fn memory_is_bounded_under_a_hundred_thousand_observations() {
    let book = BeliefStore::new();
    let sequence = ToolSequenceSentinel::new();
    let (label, call) = (Label::undeclared_output(), CallId::parse("c").unwrap());
    for n in 0..100_000_usize {
        // Half of them in runs of their own, half in one run, each of another capability.
        let run = if n % 2 == 0 { run(n) } else { run(1) };
        let capability = CapabilityId::parse(format!("tool.{n}")).unwrap();
        let seen = FinishedCall {
            run: &run,
            call: &call,
            capability: &capability,
            effects: Effects::READ_OPEN,
            label: &label,
            operation: Operation::Invoke,
            finished: if n % 2 == 0 { 0 } else { n as u64 / 2 },
        };
        book.observe(&seen).unwrap();
        sequence.observe(&seen);
    }
    assert_eq!((book.run_count(), sequence.runs()), (MAX_RUNS, MAX_RUNS));
    assert_eq!(book.belief_count(), MAX_RUNS - 1 + MAX_BELIEFS);
    let all = book.dependencies(&run(1), 50_000, &BeliefDeclaration::default()).unwrap();
    assert_eq!((all.beliefs().len(), all.is_complete()), (MAX_BELIEFS, false));
    // A run that was pushed out is not mistaken for a fresh one.
    let gone = book.dependencies(&run(0), 1, &BeliefDeclaration::default()).unwrap();
    assert_eq!((gone.beliefs().len(), gone.is_complete()), (0, false));
    let fresh = book.dependencies(&run(3), 0, &BeliefDeclaration::default()).unwrap();
    assert!(fresh.is_complete());
}

#[test]
fn pushing_a_run_out_of_memory_frees_nothing() {
    let watch = SignalMonitor::new(vec![
        Arc::new(WeakBeliefSource::default()),
        Arc::new(MemoryOriginSentinel),
        Arc::new(ToolSequenceSentinel::new()),
    ]);
    let (read, write) =
        (host("fs.read", Effects::READ_LOCAL), host("fs.write", Effects::WRITE_LOCAL));
    let nothing = BeliefDeclaration::default();
    see(&watch, 0, &read, 0, &Label::undeclared_output());
    assert_eq!(asked(&watch, 0, &write, 1, &nothing), Verdict::Hold);
    for n in 1..=MAX_RUNS {
        see(&watch, n, &read, 0, &Label::clean());
    }
    assert_eq!(asked(&watch, 0, &write, 1, &nothing), Verdict::Hold);
    // Not even when the run goes on with something harmless.
    see(&watch, 0, &read, 1, &Label::clean());
    assert_eq!(asked(&watch, 0, &write, 2, &nothing), Verdict::Hold);
    assert_eq!(asked(&watch, 0, &read, 2, &nothing), Verdict::Allow);
    // A fresh run is free.
    assert_eq!(asked(&watch, MAX_RUNS + 7, &write, 0, &nothing), Verdict::Allow);
}

#[test]
fn flooding_a_run_with_beliefs_hides_none() {
    let watch = SignalMonitor::new(vec![Arc::new(WeakBeliefSource::default())]);
    for n in 0..=MAX_BELIEFS {
        watch.record_belief(&run(0), 0, belief(&format!("b{n}"), 990, true)).unwrap();
    }
    let write = host("fs.write", Effects::WRITE_LOCAL);
    assert_eq!(asked(&watch, 0, &write, 0, &BeliefDeclaration::default()), Verdict::Hold);
    let flagged = [Says::alert(Severity::Warning, about("elsewhere"))];
    let book = BeliefStore::new();
    for n in 0..=MAX_BELIEFS {
        book.record_belief(&run(0), 0, belief(&format!("b{n}"), 990, true)).unwrap();
    }
    let all = book.dependencies(&run(0), 0, &BeliefDeclaration::default()).unwrap();
    assert_eq!(verdict(&flagged, &write, &all), Verdict::Hold);
}

#[test]
fn a_belief_only_gets_worse_within_its_run() {
    let book = BeliefStore::new();
    book.record_belief(&run(0), 0, belief("b", 100, false)).unwrap();
    book.record_belief(&run(0), 0, belief("b", 990, true)).unwrap();
    let all = book.dependencies(&run(0), 0, &BeliefDeclaration::default()).unwrap();
    assert_eq!(all.beliefs(), [belief("b", 100, false)]);
}

#[test]
fn classes_beyond_the_bound_count_as_flagged() {
    let mut calibrator = Calibrator::new(CalibrationThresholds::default());
    let class = |n: usize| BeliefClass::parse(format!("c{n}")).unwrap();
    for n in 0..MAX_CLASSES {
        calibrator.record(&sample(&format!("c{n}"), 1_000, true));
    }
    assert!(!calibrator.is_flagged(&class(MAX_CLASSES)) && !calibrator.is_full());
    calibrator.record(&sample(&format!("c{MAX_CLASSES}"), 1_000, true));
    assert!(calibrator.is_flagged(&class(MAX_CLASSES)) && calibrator.is_full());
    assert!(!calibrator.is_flagged(&class(0)));
}

#[test]
fn synthetic_outcomes_do_not_count_and_errors_do_not_cancel_across_bins() {
    let class = BeliefClass::parse("c").unwrap();
    let mut calibrator = Calibrator::default();
    for _ in 0..50 {
        calibrator.record(&CalibrationSample { synthetic: true, ..sample("c", 1_000, false) });
    }
    assert_eq!(calibrator.class(&class), None);
    for _ in 0..5 {
        calibrator.record(&sample("c", 1_000, false));
        calibrator.record(&sample("c", 0, true));
    }
    let measured = calibrator.class(&class).unwrap();
    assert_eq!((measured.gap, measured.ece, measured.brier), (0.0, 1.0, 1.0));
    assert!(measured.flagged);
}

#[test]
fn too_many_signals_are_counted_and_the_gravest_stays() {
    let many = (0..1_000)
        .map(|n| signal(SignalKind::SentinelAlert, Severity::Warning, about(&format!("b{n}"))));
    let grave = signal(SignalKind::SentinelAlert, Severity::Critical, about("z"));
    let report = SignalReport::from_signals(many.chain([grave]).collect());
    assert_eq!(report.signals().len(), MAX_SIGNALS + 1);
    assert_eq!(report.dropped_count(), 1_000 - MAX_SIGNALS);
    assert_eq!(decide(&on("git.tag", Rung::L1), &report).verdict(), Verdict::Hold);
}

#[test]
fn names_hold_nothing_that_cannot_be_seen() {
    for text in ["", "a b", "a\u{200b}", "a\u{202e}b", "a\n", &"x".repeat(600)] {
        assert!(BeliefId::parse(text).is_err(), "{text:?}");
    }
    assert!(BeliefId::parse(format!("tool:{}", "x".repeat(512))).is_ok());
    assert_eq!(Confidence::from_thousandths(1_001), None);
}

fn any_signal() -> impl Strategy<Value = Signal> {
    let kinds =
        [SignalKind::SentinelAlert, SignalKind::CalibrationFlag, SignalKind::LowConfidenceBelief];
    let severities = [Severity::Info, Severity::Warning, Severity::Critical];
    let subjects = [
        about("b"),
        SignalSubject::ToolSequence,
        SignalSubject::Action(CallId::parse("c").unwrap()),
    ];
    (select(kinds.to_vec()), select(severities.to_vec()), select(subjects.to_vec()))
        .prop_map(|(kind, severity, subject)| signal(kind, severity, subject))
}

fn any_table() -> impl Strategy<Value = SignalTable> {
    let rungs = vec![Rung::L0, Rung::L1, Rung::L2, Rung::L3, Rung::L4, Rung::L5];
    let from = move || option::of(select(rungs.clone()));
    let reach = (from.clone()(), from())
        .prop_map(|(hold_from, deny_from)| RungThresholds { hold_from, deny_from });
    vec(reach, 5).prop_map(|all| SignalTable {
        info: all[0],
        warning: all[1],
        critical: all[2],
        low_confidence: all[3],
        unavailable: all[4],
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn signals_speak_for_themselves_and_only_tighten(
        table in any_table(), signals in vec(any_signal(), 0..6), graver in any::<bool>(),
        rungs in (0..6_usize, 0..6_usize),
    ) {
        let all = [Rung::L0, Rung::L1, Rung::L2, Rung::L3, Rung::L4, Rung::L5];
        let strictest = |signals: &[Signal], rung: usize| {
            let report = SignalReport::from_signals(signals.to_vec());
            let said = check_results(&report, &table, all[rung], Operation::Invoke);
            let well = |c: &CheckResult| match c.verdict {
                Verdict::Hold => c.discharge == Remedy::Approval,
                Verdict::Deny => c.discharge == Remedy::Nothing,
                Verdict::Allow | Verdict::Ask => false,
            };
            assert!(said.iter().all(|c| c.check == CheckKind::Signal && well(c)));
            said.iter().map(|c| c.verdict).max().unwrap_or(Verdict::Allow)
        };
        let (low, high) = (rungs.0.min(rungs.1), rungs.0.max(rungs.1));
        prop_assert!(strictest(&signals, low) <= strictest(&signals, high));
        let mut worse = signals.clone();
        if graver && let Some(first) = worse.first_mut() {
            first.severity = Severity::Critical;
        }
        prop_assert!(strictest(&signals, high) <= strictest(&worse, high));
    }

    #[test]
    fn the_order_of_sources_and_samples_does_not_show(
        signals in vec(any_signal(), 0..30),
        samples in vec((0..=1_000_u16, any::<bool>()), 1..40),
    ) {
        let tag = on("git.tag", Rung::L2);
        let one: Vec<Arc<dyn SignalSource>> =
            signals.iter().map(|s| Arc::new(Says(vec![s.clone()])) as Arc<dyn SignalSource>).collect();
        let other: Vec<_> = one.iter().rev().cloned().collect();
        let depends = backed_by("b");
        prop_assert_eq!(report(&one, &tag, &depends), report(&other, &tag, &depends));

        let (mut here, mut there) = (Calibrator::default(), Calibrator::default());
        samples.iter().for_each(|(c, right)| here.record(&sample("c", *c, *right)));
        samples.iter().rev().for_each(|(c, right)| there.record(&sample("c", *c, *right)));
        let class = BeliefClass::parse("c").unwrap();
        let (one, other) = (here.class(&class).unwrap(), there.class(&class).unwrap());
        prop_assert_eq!(one, other);
        // The error over bins is at least the gap over all, and both are shares.
        prop_assert!(one.gap.abs() <= one.ece + 1e-12 && one.ece <= 1.0 && one.brier <= 1.0);
    }
}
