//! Processing of texts after redaction: cutting, escaping, or nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::redact::PlainWords;

/// How many things were omitted, by kind.
pub(crate) type OmissionCounts = BTreeMap<&'static str, u64>;

/// What happens to a string after redaction, and which fields take precedence.
pub(crate) trait Postprocess {
    /// Finishes a redacted string.
    fn string<'t>(&mut self, redacted: Cow<'t, str>, omitted: &mut OmissionCounts) -> Cow<'t, str>;
    /// Finishes a text of plain words.
    fn plain_words<'t>(
        &mut self,
        text: &'t str,
        how: PlainWords,
        omitted: &mut OmissionCounts,
    ) -> Cow<'t, str>;
    /// True if a name of plain words is shown unchanged and has no findings, so that the answer can
    /// be cached.
    fn is_plain(&self, how: PlainWords) -> bool;
    /// Finishes a redacted field name. The second value is true if the name is shown unchanged and
    /// always will be, so that the answer can be cached.
    fn key<'t>(&mut self, redacted: Cow<'t, str>) -> (Cow<'t, str>, bool);
    /// True for a field that takes precedence if there are too many.
    fn is_priority_field(&self, key: &str) -> bool;
}

/// No postprocessing; the whole value is kept.
pub(super) struct NoPostprocess;

impl Postprocess for NoPostprocess {
    fn string<'t>(&mut self, redacted: Cow<'t, str>, _: &mut OmissionCounts) -> Cow<'t, str> {
        redacted
    }

    fn plain_words<'t>(
        &mut self,
        text: &'t str,
        _: PlainWords,
        _: &mut OmissionCounts,
    ) -> Cow<'t, str> {
        Cow::Borrowed(text)
    }

    /// Nothing is looked for, so nothing can be cached.
    fn is_plain(&self, _: PlainWords) -> bool {
        false
    }

    fn key<'t>(&mut self, redacted: Cow<'t, str>) -> (Cow<'t, str>, bool) {
        (redacted, false)
    }

    fn is_priority_field(&self, _: &str) -> bool {
        false
    }
}
