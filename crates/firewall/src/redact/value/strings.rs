//! Strings inside a value: masked, or read as JSON of their own.

use std::borrow::Cow;

use super::nested_json::{self, RedactedJsonText};
use super::postprocess::NoPostprocess;
use super::{
    Bounds, FieldName, MAX_IN_CONTEXT, Postprocess, ValueRedactor, in_context, is_token, join,
};
use crate::redact::{Redactor, json_text};

impl<F: Postprocess> ValueRedactor<'_, F> {
    /// A string under a name: redacted, then finished.
    pub(crate) fn string<'t>(
        &mut self,
        text: &'t str,
        key: Option<FieldName<'_>>,
        depth: usize,
    ) -> Cow<'t, str> {
        if !self.hides_in(text, depth) {
            return self.text(self.redactor, text, key);
        }
        let again = self.redactor.again();
        if let Some(kept) = self.in_place(text, &again, depth) {
            return self.postprocess.string(Cow::Owned(kept), &mut self.omitted);
        }
        let Some(RedactedJsonText { text, masked, omitted }) = self.unpacked(text, depth) else {
            return self.text(self.redactor, text, key);
        };
        join(&mut self.masked, masked);
        for (kind, n) in omitted {
            *self.omitted.entry(kind).or_default() += n;
        }
        Cow::Owned(self.text(&again, &text, key).into_owned())
    }

    /// The same for a text that was masked before: the masks in it stay.
    pub(crate) fn masked_string<'t>(&mut self, text: &'t str, depth: usize) -> Cow<'t, str> {
        let again = self.redactor.again();
        let masked = self.within(&again, |walk| walk.string(text, None, depth));
        self.postprocess.string(masked, &mut self.omitted)
    }

    /// Whether a text is JSON in which something is hidden by its name, or which is too deep.
    pub(super) fn hides_in(&mut self, text: &str, depth: usize) -> bool {
        if !nested_json::may_be_json(text) {
            return false;
        }
        // No mask is given out for what is only looked at.
        let without_masks = self.redactor.without_masks();
        self.within(&without_masks, |walk| walk.unpacked(text, depth).is_some())
    }

    /// A text of JSON with its hidden fields masked where they stand, so that its layout stays;
    /// nothing where a field would still be seen.
    pub(super) fn in_place(
        &mut self,
        text: &str,
        again: &Redactor,
        depth: usize,
    ) -> Option<String> {
        let before = self.masked.clone();
        let kept = self.json_text(text).into_owned();
        let is_complete = self.within(again, |walk| walk.unpacked(&kept, depth).is_none());
        if !is_complete {
            self.masked = before;
        }
        is_complete.then_some(kept)
    }

    /// What another walk finds with these rules, which is as deep as this one and keeps no counts.
    pub(super) fn within<T>(
        &mut self,
        redactor: &Redactor,
        look: impl FnOnce(&mut ValueRedactor<'_, NoPostprocess>) -> T,
    ) -> T {
        let mut walk = ValueRedactor::new(
            redactor,
            std::mem::take(&mut self.names),
            Bounds::WHOLE,
            NoPostprocess,
        );
        (walk.left, walk.level) = (self.left, self.level);
        let out = look(&mut walk);
        self.left = walk.left;
        self.names = walk.names;
        out
    }

    /// A text with values of fields masked where it is JSON, and whatever a rule finds; its layout
    /// stays.
    pub(crate) fn json_text<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let fields = json_text::hidden_fields(text, self);
        self.redactor.text_with_fields(text, fields, &mut self.masked)
    }

    pub(super) fn text<'t>(
        &mut self,
        redactor: &Redactor,
        text: &'t str,
        key: Option<FieldName<'_>>,
    ) -> Cow<'t, str> {
        let named = key.filter(|key| {
            let looks = text.len() <= MAX_IN_CONTEXT && (3..=128).contains(&key.name.len());
            looks && (key.meaning.context || is_token(text))
        });
        let redacted = match named {
            Some(key) => match in_context(redactor, key.name, text) {
                Some((masked, counts)) => {
                    join(&mut self.masked, counts);
                    Cow::Owned(masked)
                }
                None => Cow::Borrowed(text),
            },
            None => match redactor.plain_words(text) {
                Some(how) => return self.postprocess.plain_words(text, how, &mut self.omitted),
                None => redactor.long_text(text, &mut self.masked),
            },
        };
        self.postprocess.string(redacted, &mut self.omitted)
    }
}
