//! The redactor of the firewall, set up as the command line says.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use weaver_firewall::{Firewall, MaskTable, RuleFileError, Span, StreamRedactor};
use weaver_gateway::bounded_file;

use super::args::{Options, RuleFile};
use crate::{Exit, Failure};

/// The largest file of rules, in bytes.
const MAX_RULES: usize = 1 << 20;

/// A text without its values, and where they stood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Output {
    pub(super) text: String,
    /// In bytes of the input.
    pub(super) spans: Vec<Span>,
}

/// What masks.
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

    /// The text with every value masked: in one piece, or fed in the pieces that were asked for.
    pub(super) fn text(&self, text: &str) -> Output {
        if self.sizes.is_empty() {
            let spans = self.firewall.spans(text);
            return Output { text: self.firewall.redact_text(text).text, spans };
        }
        let mut stream = self.stream().with_spans();
        let mut out = String::new();
        for piece in pieces(text, &self.sizes) {
            out.push_str(&stream.push(piece));
        }
        out.push_str(&stream.finish());
        Output { text: out, spans: stream.spans().to_vec() }
    }

    /// The sizes in which a text is to be fed; none for whole.
    pub(super) fn sizes(&self) -> &[NonZeroUsize] {
        &self.sizes
    }

    /// A redactor of a text that comes in pieces.
    pub(super) fn stream(&self) -> StreamRedactor {
        self.firewall.stream()
    }
}

/// A firewall with an operator's rules, for some kinds of values, or as it is; with a table
/// of masks, values become placeholders.
pub(crate) fn firewall(
    rules: &RuleFile,
    types: &[String],
    masks: Option<Arc<MaskTable>>,
) -> Result<Firewall, Failure> {
    let mut builder = Firewall::builder();
    if let Some(path) = &rules.rules {
        builder = builder.rules(read(path)?);
    }
    for kind in types {
        builder = builder.kind(kind);
    }
    if let Some(masks) = masks {
        builder = builder.masks(masks);
    }
    builder.build().map_err(|error| refused(rules, &error))
}

/// The text of a file of rules.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    bounded_file::text(path, MAX_RULES).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        Failure::new(Exit::Invalid, "redact.rules", message).next("name a file of rules")
    })
}

/// Rules or types that cannot be used.
fn refused(rules: &RuleFile, error: &RuleFileError) -> Failure {
    if matches!(error, RuleFileError::Kind(_)) {
        return Failure::new(Exit::Usage, error.code(), error)
            .next("`weaver redact rules` lists the types");
    }
    let file = rules.rules.as_deref().unwrap_or(Path::new("the built-in rules"));
    Failure::new(Exit::Invalid, error.code(), format!("{}: {error}", file.display()))
        .next("correct the file, then try it with `weaver redact check`")
}

/// The text in pieces of these many characters, the sizes in turn.
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
