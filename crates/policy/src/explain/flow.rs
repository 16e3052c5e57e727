//! What the check of flow found, in words. No decision reads them.

use weaver_types::{Confidentiality, Label};

use crate::decide::ProvenanceGap;
use crate::provenance::ValueOrigins;

/// Describes the calls that brought in untrusted data: the first by name, the others as a count.
/// The record of the call lists all of them.
pub(crate) fn describe_tainting_calls(label: &Label) -> String {
    match (label.taints.iter().next(), label.taints.len()) {
        (None, _) => "unnamed calls".to_owned(),
        (Some(call), 1) => format!("`{call}`"),
        (Some(call), 2) => format!("`{call}` and 1 more call"),
        (Some(call), all) => format!("`{call}` and {} more calls", all - 1),
    }
}

pub(crate) fn confidentiality_word(confidentiality: Confidentiality) -> &'static str {
    match confidentiality {
        Confidentiality::Public => "public",
        Confidentiality::Internal => "internal",
        Confidentiality::Confidential => "confidential",
        Confidentiality::Restricted => "restricted",
    }
}

impl ProvenanceGap {
    /// The gap in words. Where no words of the user are known, none are asked for.
    pub(crate) fn describe(&self, origins: Option<&dyn ValueOrigins>) -> String {
        const NO_USER_WORDS: &str = "no client passes on what the user says, so nothing here can \
            show that the user wants it";
        let is_told = origins.is_none_or(ValueOrigins::knows_user_words);
        let (is_unknown, not_in_words) = match is_told {
            true => ("is not found in the user's words or in trusted results", None),
            false => ("is in no trusted result", Some(NO_USER_WORDS)),
        };
        match self {
            Self::NoArguments => "the arguments are not known yet".to_owned(),
            Self::NoOrigins => "nobody knows where the arguments come from".to_owned(),
            Self::NoDestination => "no argument says where the call goes".to_owned(),
            Self::Unreadable { place } => {
                format!("`{place}` is too long or too deeply encoded to be read")
            }
            Self::SensitiveValue { kind, place } => match not_in_words {
                None => format!("the {kind} in `{place}` is not found in the user's words"),
                Some(why) => format!("`{place}` has a sensitive value ({kind}); {why}"),
            },
            Self::NotFromUser { kind, place } => match not_in_words {
                None => format!("the {kind} at `{place}` is not found in the user's words"),
                Some(why) => format!("the {kind} at `{place}` decides what happens; {why}"),
            },
            Self::Address { place } => format!(
                "the argument `{place}` names another machine, which the tool would contact; the \
                 address {is_unknown}"
            ),
            Self::Operation { place } => format!(
                "`{place}` has the tool fetch or write something outside, or start what may; it \
                 {is_unknown}"
            ),
            Self::NotVouchedFor { kind, place } => {
                format!("the {kind} at `{place}` {is_unknown}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use weaver_types::CallId;

    use super::*;

    #[test]
    fn one_tainting_call_is_named_and_the_others_counted() {
        let cases = [
            (0, "unnamed calls"),
            (1, "`call_1`"),
            (2, "`call_1` and 1 more call"),
            (4, "`call_1` and 3 more calls"),
        ];
        for (calls, words) in cases {
            let calls = (1..=calls).map(|n| CallId::parse(format!("call_{n}")).unwrap());
            let label =
                calls.fold(Label::undeclared_output(), |label, call| label.tainted_by(&call));
            assert_eq!(describe_tainting_calls(&label), words);
        }
    }
}
