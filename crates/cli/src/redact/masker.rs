//! The firewall's redactor, set up from the command line.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use weaver_firewall::{Firewall, MaskTable, RuleFileError, Span, StreamRedactor};
use weaver_gateway::bounded_file;

use super::args::{Options, RuleFile};
use crate::{Exit, Failure};

/// The largest file of rules, in bytes.
const MAX_RULES_BYTES: usize = 1 << 20;

/// A text with its values masked, and where they were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RedactedText {
    pub(super) text: String,
    /// In bytes of the input.
    pub(super) spans: Vec<Span>,
}

/// Masks texts with the rules that the command line selects.
pub(super) struct Masker {
    firewall: Firewall,
    sizes: Vec<NonZeroUsize>,
}

impl Masker {
    pub(super) fn new(options: &Options) -> Result<Self, Failure> {
        let masks = options.placeholders.then(|| Arc::new(MaskTable::new()));
        let firewall = firewall(&options.rules, &options.types, masks)?;
        Ok(Self { firewall, sizes: options.stream.clone() })
    }

    /// Masks every value of the text: all at once, or in the pieces of `--stream`.
    pub(super) fn text(&self, text: &str) -> RedactedText {
        if self.sizes.is_empty() {
            let spans = self.firewall.value_spans(text);
            return RedactedText { text: self.firewall.redact_text(text).text, spans };
        }
        let mut stream = self.stream().with_spans();
        let mut out = String::new();
        for piece in pieces(text, &self.sizes) {
            out.push_str(&stream.push(piece));
        }
        out.push_str(&stream.finish());
        RedactedText { text: out, spans: stream.spans().to_vec() }
    }

    /// The sizes of the pieces; empty to redact a text all at once.
    pub(super) fn sizes(&self) -> &[NonZeroUsize] {
        &self.sizes
    }

    /// A redactor for a text that arrives in pieces.
    pub(super) fn stream(&self) -> StreamRedactor {
        self.firewall.stream_redactor()
    }
}

/// A firewall with an operator's rules, restricted to some kinds of values if any are named. With a
/// mask table, values become placeholders.
pub(crate) fn firewall(
    rules: &RuleFile,
    types: &[String],
    masks: Option<Arc<MaskTable>>,
) -> Result<Firewall, Failure> {
    let mut builder = Firewall::builder();
    if let Some(path) = &rules.rules {
        builder = builder.rules(read_rules(path)?);
    }
    for kind in types {
        builder = builder.only_kind(kind);
    }
    if let Some(masks) = masks {
        builder = builder.mask_table(masks);
    }
    builder.build().map_err(|error| rule_file_failure(rules, &error))
}

/// The text of a file of rules.
pub(super) fn read_rules(path: &Path) -> Result<String, Failure> {
    bounded_file::read_text(path, MAX_RULES_BYTES).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        Failure::new(Exit::Invalid, "redact.rules", message).with_next_step("name a file of rules")
    })
}

/// The failure if rules or types cannot be used.
fn rule_file_failure(rules: &RuleFile, error: &RuleFileError) -> Failure {
    if matches!(error, RuleFileError::Kind(_)) {
        return Failure::new(Exit::Usage, error.code(), error)
            .with_next_step("`weaver redact rules` lists the types");
    }
    let file = rules.rules.as_deref().unwrap_or(Path::new("the built-in rules"));
    Failure::new(Exit::Invalid, error.code(), format!("{}: {error}", file.display()))
        .with_next_step("correct the file, then try it with `weaver redact check`")
}

/// Splits the text into pieces of these many characters; the sizes are used in turn.
pub(super) fn pieces<'t>(text: &'t str, sizes: &[NonZeroUsize]) -> impl Iterator<Item = &'t str> {
    let mut sizes = sizes.iter().cycle();
    let mut rest = text;
    std::iter::from_fn(move || {
        let size = sizes.next()?.get();
        let end = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at_checked(end)?;
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_take_the_sizes_in_turn() {
        let sizes = |list: &[usize]| -> Vec<NonZeroUsize> {
            list.iter().map(|size| NonZeroUsize::new(*size).unwrap()).collect()
        };
        let cut = |text: &'static str, list: &[usize]| -> Vec<&str> {
            pieces(text, &sizes(list)).collect()
        };
        assert_eq!(cut("a\u{e9}\u{20ac}defg", &[2, 1]), ["a\u{e9}", "\u{20ac}", "de", "f", "g"]);
        assert_eq!(cut("abc", &[9]), ["abc"]);
        assert!(cut("", &[1]).is_empty() && cut("abc", &[]).is_empty());
    }
}
