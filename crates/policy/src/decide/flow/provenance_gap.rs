//! Why the provenance of its values does not let a call go on.

use crate::provenance::ValueOrigins;

/// Why the provenance of its values does not let a call go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ProvenanceGap {
    #[error("the arguments are not known yet")]
    NoArguments,
    #[error("nobody knows where the arguments come from")]
    NoOrigins,
    /// No argument decides where the call goes.
    #[error("no argument says where the call goes")]
    NoDestination,
    #[error("`{place}` is too long or too deeply encoded to be read")]
    Unreadable { place: String },
    /// A text contains a sensitive value that only the user may pass on.
    #[error("the {kind} in `{place}` is not found in the user's words")]
    SensitiveValue { kind: String, place: String },
    #[error("the {kind} at `{place}` is not found in the user's words")]
    NotFromUser { kind: &'static str, place: String },
    /// An argument of a call that is no sink is an address of another machine, or has one in it that
    /// a reader would fetch from.
    #[error(
        "the argument `{place}` names another machine, which the tool would contact; the address is \
         not found in the user's words or in trusted results"
    )]
    Address { place: String },
    #[error("the {kind} at `{place}` is not found in the user's words or in trusted results")]
    NotVouchedFor { kind: &'static str, place: String },
}

impl ProvenanceGap {
    /// The gap in words. Where no words of the user are known, none are asked for.
    pub(super) fn describe(&self, origins: Option<&dyn ValueOrigins>) -> String {
        const NO_USER_WORDS: &str = "no client passes on what the user says, so nothing here can \
            show that the user wants it";
        let is_told = origins.is_none_or(ValueOrigins::knows_user_words);
        match self {
            Self::NotVouchedFor { kind, place } if !is_told => {
                format!("the {kind} at `{place}` is in no trusted result")
            }
            Self::Address { place } if !is_told => format!(
                "the argument `{place}` names another machine, which the tool would contact; the \
                 address is in no trusted result"
            ),
            Self::NotFromUser { kind, place } if !is_told => {
                format!("the {kind} at `{place}` decides what happens; {NO_USER_WORDS}")
            }
            Self::SensitiveValue { kind, place } if !is_told => {
                format!("`{place}` has a sensitive value ({kind}); {NO_USER_WORDS}")
            }
            gap => gap.to_string(),
        }
    }
}
