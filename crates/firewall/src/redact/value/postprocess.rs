//! Processes texts after their redaction: cuts them, escapes them, or leaves them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::redact::PlainWords;

/// What was left out, by kind.
pub(crate) type OmissionCounts = BTreeMap<&'static str, u64>;

/// What becomes of a string after it was redacted, and the order in which fields are taken.
pub(crate) trait Postprocess {
    /// A redacted string, as it goes into the result.
    fn string<'t>(&mut self, redacted: Cow<'t, str>, omitted: &mut OmissionCounts) -> Cow<'t, str>;
    /// The same for a brief text.
    fn plain_words<'t>(
        &mut self,
        text: &'t str,
        how: PlainWords,
        omitted: &mut OmissionCounts,
    ) -> Cow<'t, str>;
    /// Of a brief name: true when it goes into the result as it is, with nothing to tell of it, so
    /// that there is no need to ask again.
    fn is_plain(&self, how: PlainWords) -> bool;
    /// A redacted key, as it goes into the result; and true where it is as it was and always will
    /// be, so that there is no need to ask again.
    fn key<'t>(&mut self, redacted: Cow<'t, str>) -> (Cow<'t, str>, bool);
    /// True for a field that is taken before others when there are too many.
    fn first(&self, key: &str) -> bool;
}

/// The whole value, nothing finished.
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

    /// What others ask of a name is not asked here.
    fn is_plain(&self, _: PlainWords) -> bool {
        false
    }

    fn key<'t>(&mut self, redacted: Cow<'t, str>) -> (Cow<'t, str>, bool) {
        (redacted, false)
    }

    fn first(&self, _: &str) -> bool {
        false
    }
}
