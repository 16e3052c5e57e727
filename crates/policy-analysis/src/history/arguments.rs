//! Arguments as the log holds them.

use serde_json::Value;
use weaver_types::Digest;
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::Tag;

/// What the log holds of the arguments of a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum RecordedArguments {
    /// The exact arguments: the commitment proves it.
    Exact(Value),
    /// The arguments with values masked, or with another salt than the commitment's.
    Redacted(Value),
    /// Nothing: the log of then did not record them, they were too large, or they were pruned.
    #[default]
    Missing,
}

impl RecordedArguments {
    /// Reads what an event says under `arguments`.
    #[must_use]
    pub fn of(recorded: Option<&Value>) -> Self {
        let Some(recorded) = recorded else { return Self::Missing };
        let member = |name: &str| recorded.get(name).and_then(Value::as_str);
        let Some(text) = member("text") else { return Self::Missing };
        let Ok(value) = serde_json::from_str::<Value>(text) else { return Self::Missing };
        let salt = member("salt").and_then(bytes_of_hex);
        let commit = member("commit").and_then(|commit| commit.parse::<Digest>().ok());
        let exact = canonical::to_bytes(&value, Profile::Foreign).is_ok_and(|bytes| {
            salt.is_some_and(|salt| {
                Some(Digest::of_parts(Tag::ARGS_COMMIT, &[&salt, &bytes])) == commit
            })
        });
        if exact { Self::Exact(value) } else { Self::Redacted(value) }
    }

    /// The arguments as far as they are known.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Exact(value) | Self::Redacted(value) => Some(value),
            Self::Missing => None,
        }
    }
}

fn bytes_of_hex(text: &str) -> Option<Vec<u8>> {
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
    fn only_what_the_commitment_covers_is_exact() {
        let value = json!({ "b": 1, "a": "x" });
        let salt = [7_u8; 16];
        let bytes = canonical::to_bytes(&value, Profile::Foreign).unwrap();
        let commit = Digest::of_parts(Tag::ARGS_COMMIT, &[&salt, &bytes]);
        let recorded = |text: &str| {
            let text = json!(text);
            json!({ "text": text, "salt": hex(&salt), "commit": commit, "bytes": bytes.len() })
        };
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert_eq!(RecordedArguments::of(Some(&recorded(&text))), RecordedArguments::Exact(value));
        let masked = text.replace("\"x\"", "\"[EMAIL_1]\"");
        let read = RecordedArguments::of(Some(&recorded(&masked)));
        assert_eq!(read, RecordedArguments::Redacted(json!({ "a": "[EMAIL_1]", "b": 1 })));
        assert_eq!(RecordedArguments::of(None), RecordedArguments::Missing);
        let without = json!({ "text": null, "salt": hex(&salt), "commit": commit });
        assert_eq!(RecordedArguments::of(Some(&without)), RecordedArguments::Missing);
    }
}
