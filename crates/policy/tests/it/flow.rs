//! Information flow: what a run has taken in, against where a call would send it.

use weaver_types::{
    CallId, Confidentiality, Effects, Integrity, Label, Operation, ReasonCode, SinkKind, Verdict,
};

use crate::support::{Case, draft, host, set};

const ALLOW_ALL: &str = "[[rules]]\nname = \"r\"\nmatch = {}\neffect = \"allow\"\n";

/// A sink below L4, so that the floor does not speak.
fn sink(label: Label) -> Case {
    let mut draft = draft("mail.draft", Effects::WRITE_LOCAL);
    draft.sink = Some(SinkKind::ExternalSend);
    let mut case = Case::new(draft.build().unwrap(), &[]);
    case.label = label;
    case
}

fn label(confidentiality: Confidentiality, integrity: Integrity) -> Label {
    Label::of(confidentiality, integrity)
}

#[test]
fn untrusted_influence_holds_a_sink_and_names_the_calls() {
    let call = CallId::parse("call_7").unwrap();
    let tainted = label(Confidentiality::Public, Integrity::Untrusted).tainted_by(&call);
    let decision = sink(tainted).decide(&set(ALLOW_ALL, ""));
    assert_eq!(decision.verdict(), Verdict::Hold);
    assert_eq!(decision.primary(), ReasonCode::UntrustedInfluence);
    assert!(decision.detail().contains("`call_7`"));
}

#[test]
fn one_tainted_text_does_not_stop_later_reads_or_local_writes() {
    let set = set(ALLOW_ALL, "");
    for effects in [Effects::READ_LOCAL, Effects::READ_OPEN, Effects::WRITE_LOCAL] {
        let mut case = Case::new(host("x", effects), &[]);
        case.label = label(Confidentiality::Restricted, Integrity::Untrusted);
        assert_eq!(case.answer(&set).0, Verdict::Allow, "{effects:?}");
    }
}

#[test]
fn data_above_the_clearance_of_a_sink_is_held() {
    let set = set(ALLOW_ALL, "");
    let answer = |confidentiality| sink(label(confidentiality, Integrity::Trusted)).answer(&set);
    assert_eq!(answer(Confidentiality::Internal).0, Verdict::Allow);
    assert_eq!(
        answer(Confidentiality::Confidential),
        (Verdict::Hold, ReasonCode::ClearanceExceeded)
    );
}

#[test]
fn a_view_sends_nothing() {
    let mut case = sink(label(Confidentiality::Restricted, Integrity::Untrusted));
    case.operation = Operation::View;
    assert_eq!(case.answer(&set(ALLOW_ALL, "")).0, Verdict::Allow);
}
