//! Why the provenance of its values does not let a call go on.

/// Why the provenance of its values does not let a call go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProvenanceGap {
    /// The arguments are not known yet.
    NoArguments,
    NoOrigins,
    /// No argument decides where the call goes.
    NoDestination,
    Unreadable {
        place: String,
    },
    /// A text contains a sensitive value that only the user may pass on.
    SensitiveValue {
        kind: String,
        place: String,
    },
    NotFromUser {
        kind: &'static str,
        place: String,
    },
    /// An argument of a call that is no sink is an address of another machine, or has one in it that
    /// a reader would fetch from.
    Address {
        place: String,
    },
    /// An argument of a call that is no sink has the words of an operation that fetches or writes outside.
    Operation {
        place: String,
    },
    NotVouchedFor {
        kind: &'static str,
        place: String,
    },
}
