//! Arguments as recorded in the log.

use serde_json::Value;
use weaver_policy::critical::{self, ArgumentRole};
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::DomainTag;
use weaver_types::{Digest, JsonPointer};

use crate::program_arguments;

/// What the log contains of a call's arguments.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum RecordedArguments {
    /// The exact arguments, as proved by the commitment.
    Exact(Value),
    /// The arguments with masked values, or a text that does not match the commitment.
    Redacted(Value),
    /// None: they were not recorded, were too large, or were pruned.
    #[default]
    Missing,
}

impl RecordedArguments {
    /// Parses the `arguments` of an event.
    #[must_use]
    pub fn from_event(recorded: Option<&Value>) -> Self {
        let Some(recorded) = recorded else { return Self::Missing };
        let member = |name: &str| recorded.get(name).and_then(Value::as_str);
        let Some(text) = member("text") else { return Self::Missing };
        let Ok(value) = serde_json::from_str::<Value>(text) else { return Self::Missing };
        let salt = member("salt").and_then(parse_hex);
        let commit = member("commit").and_then(|commit| commit.parse::<Digest>().ok());
        let exact = canonical::to_bytes(&value, Profile::Foreign).is_ok_and(|bytes| {
            salt.is_some_and(|salt| {
                Some(Digest::of_parts(DomainTag::ARGS_COMMIT, &[&salt, &bytes])) == commit
            })
        });
        if exact { Self::Exact(value) } else { Self::Redacted(value) }
    }

    /// The arguments, as far as they are known.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Exact(value) | Self::Redacted(value) => Some(value),
            Self::Missing => None,
        }
    }
}

/// A value that is masked, at least in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MaskedArgument {
    /// Its JSON pointer.
    pub(crate) at: String,
    /// The name of its field, or of the field of its list.
    name: String,
}

impl MaskedArgument {
    /// Whether it is text for people, which does not decide where a call goes.
    pub(crate) fn is_prose(&self) -> bool {
        critical::argument_role(&self.name) == ArgumentRole::Text
            && !critical::names_path(&self.name)
            && !program_arguments::takes_program(&self.name)
    }
}

impl RecordedArguments {
    /// The values that redaction changed; all others are exact. `None` if that is not known.
    pub(crate) fn masked_values(&self) -> Option<Vec<MaskedArgument>> {
        let mut masked = Vec::new();
        match self {
            Self::Exact(_) => Some(masked),
            Self::Redacted(value) => {
                let all = collect_masked_values("", "", value, &mut masked);
                (all && !masked.is_empty()).then_some(masked)
            }
            Self::Missing => None,
        }
    }

    /// Whether all values that decide where the call goes are exact.
    pub(crate) fn has_exact_destination(&self) -> bool {
        self.masked_values().is_some_and(|masked| masked.iter().all(MaskedArgument::is_prose))
    }
}

/// Collects the masked values inside a value. False if the name of a field is masked.
fn collect_masked_values(
    at: &str,
    name: &str,
    value: &Value,
    out: &mut Vec<MaskedArgument>,
) -> bool {
    match value {
        Value::String(text) => {
            if contains_mask(text) {
                out.push(MaskedArgument { at: at.to_owned(), name: name.to_owned() });
            }
            true
        }
        Value::Array(items) => items.iter().enumerate().all(|(number, item)| {
            collect_masked_values(&format!("{at}/{number}"), name, item, out)
        }),
        Value::Object(members) => members.iter().all(|(name, value)| {
            let step = JsonPointer::escape_step(name);
            !contains_mask(name) && collect_masked_values(&format!("{at}/{step}"), name, value, out)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

/// Whether a text contains something that looks like a mask: a capitalised word in brackets.
fn contains_mask(text: &str) -> bool {
    text.match_indices('[').any(|(open, _)| {
        let rest = text.get(open + 1..).unwrap_or_default();
        let capitals =
            |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
        let length = rest.bytes().take_while(|byte| capitals(byte)).count();
        rest.starts_with(|c: char| c.is_ascii_uppercase())
            && rest.as_bytes().get(length) == Some(&b']')
    })
}

fn parse_hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let pair = |pair: &[u8; 2]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    rest.is_empty().then(|| pairs.iter().map(pair).collect::<Option<_>>()).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weaver_types::hex;

    use super::*;

    #[test]
    fn what_was_masked_in_prose_leaves_the_rest_exact() {
        let redacted = |value: Value| RecordedArguments::Redacted(value);
        let prose = json!({ "path": "/a", "edits": [{ "newText": "x [EMAIL_1]" }] });
        let masked = redacted(prose).masked_values().unwrap();
        assert_eq!(
            masked.iter().map(|one| one.at.as_str()).collect::<Vec<_>>(),
            ["/edits/0/newText"]
        );
        for (value, exact) in [
            (json!({ "path": "/a", "content": "[REDACTED]" }), true),
            (json!({ "path": "/a/[SECRET_1]", "content": "x" }), false),
            (json!({ "query": "insert into t values ('[PHONE_1]')" }), false),
            (json!({ "path": "/a", "[EMAIL_1]": "x", "content": "[EMAIL_1]" }), false),
            // Nothing looks masked, yet the bytes differ.
            (json!({ "path": "/a", "content": "list[0], [see]" }), false),
        ] {
            assert_eq!(redacted(value.clone()).has_exact_destination(), exact, "{value}");
        }
        assert!(RecordedArguments::Exact(json!({})).has_exact_destination());
        assert!(!RecordedArguments::Missing.has_exact_destination());
    }

    #[test]
    fn only_what_the_commitment_covers_is_exact() {
        let value = json!({ "b": 1, "a": "x" });
        let salt = [7_u8; 16];
        let bytes = canonical::to_bytes(&value, Profile::Foreign).unwrap();
        let commit = Digest::of_parts(DomainTag::ARGS_COMMIT, &[&salt, &bytes]);
        let recorded = |text: &str| {
            let text = json!(text);
            json!({ "text": text, "salt": hex(&salt), "commit": commit, "bytes": bytes.len() })
        };
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert_eq!(
            RecordedArguments::from_event(Some(&recorded(&text))),
            RecordedArguments::Exact(value)
        );
        let masked = text.replace("\"x\"", "\"[EMAIL_1]\"");
        let read = RecordedArguments::from_event(Some(&recorded(&masked)));
        assert_eq!(read, RecordedArguments::Redacted(json!({ "a": "[EMAIL_1]", "b": 1 })));
        assert_eq!(RecordedArguments::from_event(None), RecordedArguments::Missing);
        let without = json!({ "text": null, "salt": hex(&salt), "commit": commit });
        assert_eq!(RecordedArguments::from_event(Some(&without)), RecordedArguments::Missing);
    }
}
