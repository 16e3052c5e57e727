//! How outcomes are counted, and what is remembered and forgotten of beliefs.

use weaver_policy::signal::{
    Belief, BeliefDeclaration, BeliefDependencies, BeliefId, BeliefOrigin, BeliefStore,
    CalibrationSource, CalibrationThresholds, Calibrator, ClassOutcomes, Confidence, DecisionId,
    FinishedCall, MAX_BELIEFS, MAX_CLASSES, SignalKind, SignalSubject, ToolSequenceSentinel,
};
use weaver_types::{CallId, Effects, Label, Operation};

use crate::signal_sources::{about, belief, class, incomplete, is, run, said, sample, writes};
use crate::support::host;

#[test]
fn a_class_is_flagged_from_the_bounds_on() {
    let flagged = |thousandths, right: usize, wrong: usize, bounds: CalibrationThresholds| {
        let mut outcomes = ClassOutcomes::default();
        for n in 0..right + wrong {
            outcomes.add(&sample("c", thousandths, n < right));
        }
        outcomes.calibration(&bounds).flagged
    };
    let bounds = CalibrationThresholds::default();
    // Ten samples, half of them right: a gap of 0.1 is reached at a confidence of 0.6 and 0.4.
    assert!(flagged(600, 5, 5, bounds) && flagged(400, 5, 5, bounds));
    assert!(!flagged(599, 5, 5, bounds) && !flagged(401, 5, 5, bounds));
    assert!(flagged(1_000, 0, 5, bounds) && !flagged(1_000, 0, 4, bounds));
    assert!(!flagged(1_000, 0, 4, CalibrationThresholds { min_samples: 5, ..bounds }));
    assert!(!flagged(1_000, 0, 0, CalibrationThresholds { min_samples: 0, ..bounds }));
    // Either bound alone flags.
    assert!(flagged(600, 5, 5, CalibrationThresholds { ece: 1_000, ..bounds }));
    assert!(flagged(600, 5, 5, CalibrationThresholds { gap: 1_000, ..bounds }));
    assert!(!flagged(600, 5, 5, CalibrationThresholds { ece: 1_000, gap: 1_000, ..bounds }));
}

#[test]
fn confidences_fall_into_ten_bins() {
    // One right and one wrong: their errors cancel in one bin, and add up in two.
    let error = |right: u16, wrong: u16| {
        let mut outcomes = ClassOutcomes::default();
        outcomes.add(&sample("c", right, true));
        outcomes.add(&sample("c", wrong, false));
        let measured = outcomes.calibration(&CalibrationThresholds::default());
        (measured.samples, measured.ece)
    };
    assert_eq!(error(500, 599), (2, 0.0495));
    assert_eq!(error(500, 600), (2, 0.55));
    assert_eq!(error(499, 500), (2, 0.5005));
    assert_eq!(error(99, 100), (2, 0.5005));
    assert_eq!(error(900, 1_000), (2, 0.45));
}

#[test]
fn what_was_stored_of_a_class_takes_the_place_of_what_is_known() {
    let flags = CalibrationSource::default();
    let mut stored = ClassOutcomes::default();
    (0..6).for_each(|_| stored.add(&sample("c", 1_000, false)));
    assert_eq!(flags.class(&class("c")).unwrap(), None);
    flags.record(&sample("c", 1_000, true)).unwrap();
    assert_eq!(flags.class(&class("c")).unwrap().unwrap().samples, 1);
    flags.restore(class("c"), stored).unwrap();
    let measured = flags.class(&class("c")).unwrap().unwrap();
    assert_eq!((measured.samples, measured.gap, measured.flagged), (6, 1.0, true));
}

#[test]
fn classes_beyond_the_bound_are_not_taken_over() {
    let mut calibrator = Calibrator::default();
    let stored = |thousandths| {
        let mut outcomes = ClassOutcomes::default();
        outcomes.add(&sample("c", thousandths, true));
        outcomes
    };
    for n in 0..MAX_CLASSES {
        calibrator.restore(class(&format!("c{n}")), stored(500));
        assert!(!calibrator.is_full());
    }
    // One that is kept may still change.
    calibrator.restore(class("c7"), stored(900));
    assert!(!calibrator.is_full());
    assert_eq!(calibrator.class(&class("c7")).unwrap().gap, -0.1);
    calibrator.restore(class("new"), stored(500));
    assert!(calibrator.is_full());
    assert_eq!(calibrator.class(&class("new")), None);
    assert!(calibrator.is_flagged(&class("new")));
}

#[test]
fn where_beliefs_were_forgotten_any_flagged_class_may_be_behind_the_call() {
    let flag = SignalKind::CalibrationFlag;
    let detail = "beliefs were forgotten, and there are badly calibrated classes";
    let complete = BeliefDependencies::new(vec![belief("b", 900)], None);
    let flags = CalibrationSource::default();
    assert!(said(&flags, &incomplete(), 0).is_empty());
    // A flagged class of which the call is not known to have a belief.
    (0..8).for_each(|_| flags.record(&sample("other", 920, false)).unwrap());
    is(
        &said(&flags, &incomplete(), 0),
        "calibration-flags",
        flag,
        &SignalSubject::ToolSequence,
        detail,
    );
    assert!(said(&flags, &complete, 0).is_empty());
    // Classes whose samples were lost.
    let full = CalibrationSource::default();
    for n in 0..MAX_CLASSES {
        let name = if n == 0 { "general".to_owned() } else { format!("c{n}") };
        full.record(&sample(&name, 500, true)).unwrap();
    }
    assert!(said(&full, &incomplete(), 0).is_empty());
    full.record(&sample("lost", 500, true)).unwrap();
    is(
        &said(&full, &incomplete(), 0),
        "calibration-flags",
        flag,
        &SignalSubject::ToolSequence,
        detail,
    );
    let lost =
        BeliefDependencies::new(vec![Belief { class: class("lost"), ..belief("b", 900) }], None);
    is(
        &said(&full, &lost, 0),
        "calibration-flags",
        flag,
        &about("b"),
        "class `lost` is badly calibrated: its samples were lost",
    );
    let over = CalibrationSource::default();
    (0..8).for_each(|_| over.record(&sample("general", 920, false)).unwrap());
    // What was measured is left out: a grant names the hold by its details.
    for _ in 0..2 {
        is(
            &said(&over, &complete, 0),
            "calibration-flags",
            flag,
            &about("b"),
            "class `general` is badly calibrated",
        );
        over.record(&sample("general", 920, false)).unwrap();
    }
}

#[test]
fn more_beliefs_than_are_kept_are_declared_in_vain() {
    let book = BeliefStore::new();
    let declared = |count: usize| {
        let beliefs = (0..count).map(|n| BeliefId::parse(format!("b{n}")).unwrap()).collect();
        let declaration = BeliefDeclaration { decision: None, beliefs };
        let found = book.dependencies(&run(0), 0, &declaration).unwrap();
        (found.beliefs().len(), found.is_complete())
    };
    assert_eq!(declared(MAX_BELIEFS), (256, true));
    assert_eq!(declared(MAX_BELIEFS + 1), (256, false));
}

#[test]
fn a_run_that_is_over_is_forgotten() {
    let book = BeliefStore::new();
    book.record_belief(&run(0), 0, belief("a", 500)).unwrap();
    book.record_belief(&run(1), 0, belief("b", 500)).unwrap();
    book.forget(&run(0));
    assert_eq!((book.run_count(), book.belief_count()), (1, 1));
    let left = |n| {
        let found = book.dependencies(&run(n), 1, &BeliefDeclaration::default()).unwrap();
        (found.beliefs().len(), found.is_complete())
    };
    assert_eq!((left(0), left(1)), ((0, false), (1, true)));
    let sequence = ToolSequenceSentinel::new();
    writes(&sequence, 0, 1);
    assert_eq!(sequence.runs(), 1);
    sequence.forget(&run(0));
    assert_eq!(sequence.runs(), 0);
}

#[test]
fn a_decision_concerns_the_calls_that_were_declared_under_it() {
    let decision = |name: &str| DecisionId::parse(name).unwrap();
    let under = BeliefDependencies::new(vec![belief("b", 900)], Some(decision("d1")));
    assert!(under.is_affected_by(&SignalSubject::Decision(decision("d1"))));
    assert!(!under.is_affected_by(&SignalSubject::Decision(decision("d2"))));
    assert!(!BeliefDependencies::none().is_affected_by(&SignalSubject::Decision(decision("d1"))));
    assert!(under.is_affected_by(&about("b")) && !under.is_affected_by(&about("c")));
    assert!(incomplete().is_affected_by(&about("c")));
    assert!(under.is_affected_by(&SignalSubject::ToolSequence));
    let over = SignalSubject::Action(CallId::parse("call_1").unwrap());
    assert!(!under.is_affected_by(&over));
}

#[test]
fn a_finished_call_gives_a_belief_by_the_label_of_what_it_showed() {
    let of = |label: &Label| {
        let (run, call, read) =
            (run(0), CallId::parse("c").unwrap(), host("docs.read", Effects::READ_LOCAL));
        let belief = Belief::from_call(&FinishedCall {
            run: &run,
            call: &call,
            capability: read.id(),
            effects: read.spec().effects,
            label,
            operation: Operation::Invoke,
            finished: 0,
        });
        belief.unwrap()
    };
    let trusted = of(&Label::clean());
    assert_eq!((trusted.id.as_str(), trusted.class.as_str()), ("tool:docs.read", "docs.read"));
    assert_eq!((trusted.confidence, trusted.verified), (Confidence::FULL, true));
    assert_eq!(trusted.origin, BeliefOrigin::TrustedTool);
    let untrusted = of(&Label::undeclared_output());
    assert_eq!((untrusted.confidence, untrusted.verified), (Confidence::HALF, false));
    assert_eq!(untrusted.origin, BeliefOrigin::ExternalDocument);
}
