//! The secrets that a server was started with, to be hidden in what it says.

use std::fmt;

use weaver_types::{RawResult, StructuredContent};

use crate::http::media;

/// A shorter value is too often an ordinary word.
const MIN_BYTES: usize = 8;
/// What the model is told of them.
const NOTE: &str =
    "`[secret]` stands where the server's own secrets were; their values are hidden.";

/// The secrets of one server. Its `Debug` form shows how many there are.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct KnownSecrets(Vec<String>);

impl KnownSecrets {
    /// These values, except those too short to be told from ordinary words.
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut values: Vec<String> =
            values.into_iter().filter(|value| value.len() >= MIN_BYTES).collect();
        // One may contain another.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self(values)
    }

    /// The result with `[secret]` in place of each secret.
    pub(crate) fn hide_in(&self, mut raw: RawResult) -> RawResult {
        if self.0.is_empty() {
            return raw;
        }
        let secrets: Vec<&str> = self.0.iter().map(String::as_str).collect();
        let mut found = media::mask_content(&mut raw.content, &secrets);
        if let Some(laid_out) = &mut raw.blocks {
            let values = laid_out.blocks.iter_mut().chain(&mut laid_out.structured);
            found |= values.fold(false, |found, value| media::mask_json(value, &secrets) | found);
        }
        if let StructuredContent::Beside(value) = &mut raw.structured {
            found |= media::mask_json(value, &secrets);
        }
        if found {
            raw.findings.push(media::SECRET_MASKED);
            raw.notes.push(NOTE.to_owned());
        }
        raw
    }

    /// The text with `[secret]` in place of each secret.
    pub(crate) fn hide_in_text(&self, mut text: String) -> String {
        let secrets: Vec<&str> = self.0.iter().map(String::as_str).collect();
        media::mask_text(&mut text, &secrets);
        text
    }
}

impl fmt::Debug for KnownSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KnownSecrets({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weaver_types::{ContentBlocks, RawContent};

    use super::*;

    #[test]
    fn a_secret_is_hidden_wherever_a_result_has_it() {
        let secrets = KnownSecrets::new(["tok-12345".to_owned(), "short".to_owned()]);
        assert_eq!(format!("{secrets:?}"), "KnownSecrets(1)");
        let block = json!({ "type": "text", "text": "I am tok-12345, short" });
        let structured = json!({ "tok-12345": ["tok-12345"] });
        let raw = RawResult {
            blocks: Some(ContentBlocks {
                blocks: vec![block.clone()],
                structured: Some(structured.clone()),
            }),
            structured: StructuredContent::Beside(structured),
            ..RawResult::json(json!([block]))
        };
        let hidden = secrets.hide_in(raw);
        assert!(!format!("{hidden:?}").contains("tok-12345"), "{hidden:?}");
        assert!(
            hidden.content
                == RawContent::Json(json!([
                    { "type": "text", "text": "I am [secret], short" }
                ]))
        );
        assert_eq!(hidden.notes, [NOTE]);
        assert!(secrets.hide_in(RawResult::text("nothing")).notes.is_empty());
        assert_eq!(secrets.hide_in_text("no tok-12345".to_owned()), "no [secret]");
    }
}
