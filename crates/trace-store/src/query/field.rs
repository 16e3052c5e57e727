//! The fields of an event that a filter can test.

use weaver_types::{EventKind, ReasonCode};

use super::error::{QueryError, escaped_excerpt};
use super::filter::ValuePattern;

/// A field of an event that a filter compares with text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FilterField {
    /// Who asked.
    Principal,
    /// What was asked for.
    Capability,
    /// The run.
    Run,
    /// The call.
    Call,
    /// The approval request that it belongs to.
    Request,
    /// The handle of a stored result.
    Handle,
    /// The token that was consumed.
    Token,
    /// The kind of the event.
    Event,
    /// How a call ended: success, failure, partial, unknown.
    Outcome,
    /// The reason code: of the decision, of any check in it, or of a failure.
    Reason,
    /// The verdict: allow, ask, hold, deny.
    Verdict,
    /// The confidentiality or integrity of the event's subject.
    Label,
    /// A word in the payload's texts.
    Text,
    /// The session of the host.
    Session,
    /// The session of the end user.
    UserSid,
    /// The agent: of the run, or of the principal.
    Agent,
}

const OUTCOMES: [&str; 4] = ["success", "failure", "partial", "unknown"];
const VERDICTS: [&str; 4] = ["allow", "ask", "hold", "deny"];
const LABELS: [&str; 6] =
    ["public", "internal", "confidential", "restricted", "trusted", "untrusted"];

weaver_types::words! {
    FilterField: "Its name in a filter.",
    all "All of them.",
    parse "Parses its name.";
    Principal = "principal", Capability = "capability", Run = "run", Call = "call",
    Request = "request", Handle = "handle", Token = "token", Event = "event", Outcome = "outcome",
    Reason = "reason", Verdict = "verdict", Label = "label", Text = "text", Session = "session",
    UserSid = "user_sid", Agent = "agent",
}

impl FilterField {
    /// The first character of its terms in an index. It is a private-use character, so that no word
    /// of a text begins with it.
    #[cfg(any(test, feature = "sqlite"))]
    pub(super) fn index_prefix(self) -> char {
        let at = Self::ALL.iter().position(|field| *field == self).unwrap_or_default();
        u32::try_from(at).ok().and_then(|at| char::from_u32(0xE000 + at)).unwrap_or('\u{E0FE}')
    }

    /// Refuses a value that the field never has, so that a misspelt one does not silently match
    /// nothing.
    pub(super) fn check(self, pattern: &ValuePattern) -> Result<(), QueryError> {
        let value = pattern.text.as_str();
        let known: Vec<&str> = match self {
            Self::Event => EventKind::ALL.iter().map(|kind| kind.as_str()).collect(),
            Self::Reason => ReasonCode::ALL.iter().map(|code| code.as_str()).collect(),
            Self::Outcome => OUTCOMES.to_vec(),
            Self::Verdict => VERDICTS.to_vec(),
            Self::Label => LABELS.to_vec(),
            _ if value.is_empty() => {
                let expected = "write what it is to be, such as `files.*`".to_owned();
                return Err(QueryError::Value {
                    field: self.as_str(),
                    value: String::new(),
                    expected,
                });
            }
            _ => return Ok(()),
        };
        if known.iter().any(|known| pattern.matches(known)) {
            return Ok(());
        }
        let near: Vec<&str> = match self {
            Self::Event | Self::Reason => {
                known.into_iter().filter(|known| is_similar(known, value)).take(8).collect()
            }
            _ => known,
        };
        let expected = match near.as_slice() {
            [] if self == Self::Event => "docs/reference/events.md lists them".to_owned(),
            [] => "`weaver reasons` lists them".to_owned(),
            near => format!("it may be {}", near.join(", ")),
        };
        Err(QueryError::Value { field: self.as_str(), value: escaped_excerpt(value), expected })
    }
}

/// Whether two names share a word of at least four letters, or a prefix.
fn is_similar(known: &str, value: &str) -> bool {
    let parts = |text: &str| -> Vec<String> {
        text.split(['.', '_']).filter(|part| part.len() > 3).map(str::to_owned).collect()
    };
    let (ours, theirs) = (parts(known), parts(value));
    theirs.iter().any(|part| ours.iter().any(|own| own.starts_with(part) || part.starts_with(own)))
        || known.split(['.', '_']).any(|part| !value.is_empty() && part.starts_with(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_values_are_refused_with_what_is_near() {
        let check = |field: FilterField, text| field.check(&ValuePattern::read(text));
        let message = |field: FilterField, text| check(field, text).unwrap_err().to_string();
        assert!(message(FilterField::Verdict, "denied").contains("allow, ask, hold, deny"));
        let near = message(FilterField::Event, "call.refuse");
        assert!(near.contains("call.refused") && !near.contains("approval."), "{near}");
        assert!(message(FilterField::Reason, "floor").contains("floor_hold"));
        let few = message(FilterField::Event, "log.unheard");
        assert!(!few.contains("log.key"), "three letters are in too many names: {few}");
        assert!(message(FilterField::Principal, "").contains("write what it is to be"));
        assert_eq!(check(FilterField::Event, "approval.*"), Ok(()));
        assert_eq!(check(FilterField::Principal, "anybody"), Ok(()));
    }

    #[test]
    fn every_field_has_a_name_and_a_mark_of_its_own() {
        for field in FilterField::ALL {
            assert_eq!(FilterField::parse(field.as_str()), Some(field));
            assert!(!field.index_prefix().is_alphanumeric());
        }
        let marks: std::collections::BTreeSet<char> =
            FilterField::ALL.iter().map(|f| f.index_prefix()).collect();
        assert_eq!(marks.len(), FilterField::ALL.len());
    }
}
