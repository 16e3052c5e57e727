//! Redacts strings of a value, as text or as nested JSON.

use std::borrow::Cow;

use super::nested_json::{self, RedactedJsonText};
use super::postprocess::NoPostprocess;
use super::{
    FieldName, MAX_NAMED_SCAN_BYTES, Postprocess, ValueRedactor, WalkBounds, looks_like_key,
    merge_counts, redact_with_name,
};
use crate::redact::secrets::{self, SecretKind};
use crate::redact::{MASK, Redactor, count_kind, json_text};

impl<F: Postprocess> ValueRedactor<'_, F> {
    /// A string under a field name: redacted, then finished.
    pub(crate) fn string<'t>(
        &mut self,
        text: &'t str,
        key: Option<FieldName<'_>>,
        depth: usize,
    ) -> Cow<'t, str> {
        if !self.hides_nested_field(text, depth) {
            return match self.redact_json_parts(self.redactor, text) {
                Some(masked) => self.postprocess.string(masked, &mut self.omitted),
                None => self.text(self.redactor, text, key),
            };
        }
        let second_pass = self.redactor.for_redacted_text();
        if let Some(kept) = self.mask_in_place(text, &second_pass, depth) {
            return self.postprocess.string(Cow::Owned(kept), &mut self.omitted);
        }
        let Some(RedactedJsonText { text, masked, omitted }) = self.redact_nested_json(text, depth)
        else {
            return self.text(self.redactor, text, key);
        };
        merge_counts(&mut self.masked, masked);
        for (kind, n) in omitted {
            *self.omitted.entry(kind).or_default() += n;
        }
        Cow::Owned(self.text(&second_pass, &text, key).into_owned())
    }

    /// Finishes a text that was masked before; the masks in it are kept.
    pub(crate) fn redact_masked_string<'t>(&mut self, text: &'t str, depth: usize) -> Cow<'t, str> {
        let second_pass = self.redactor.for_redacted_text();
        let masked = self.with_redactor(&second_pass, |walk| walk.string(text, None, depth));
        self.postprocess.string(masked, &mut self.omitted)
    }

    /// True if a text is JSON in which a field name hides a value, or which is nested too deeply.
    pub(super) fn hides_nested_field(&mut self, text: &str, depth: usize) -> bool {
        if !nested_json::may_be_json(text) {
            return false;
        }
        // A dry run must not assign mask numbers.
        let without_masks = self.redactor.without_masks();
        self.with_redactor(&without_masks, |walk| walk.redact_nested_json(text, depth).is_some())
    }

    /// A JSON text with hidden fields masked in place, so that its layout is preserved; `None` if
    /// that would leave a hidden field visible.
    pub(super) fn mask_in_place(
        &mut self,
        text: &str,
        second_pass: &Redactor,
        depth: usize,
    ) -> Option<String> {
        let before = self.masked.clone();
        let masked_text = self.redact_json_text(text).into_owned();
        let is_complete = self.with_redactor(second_pass, |walk| {
            walk.redact_nested_json(&masked_text, depth).is_none()
        });
        if !is_complete {
            self.masked = before;
        }
        is_complete.then_some(masked_text)
    }

    /// Runs a walk with another redactor at the same depth; its counts are discarded.
    pub(super) fn with_redactor<T>(
        &mut self,
        redactor: &Redactor,
        look: impl FnOnce(&mut ValueRedactor<'_, NoPostprocess>) -> T,
    ) -> T {
        let mut value_redactor = ValueRedactor::new(
            redactor,
            std::mem::take(&mut self.names),
            WalkBounds::WHOLE_VALUE,
            NoPostprocess,
        );
        (value_redactor.remaining_values, value_redactor.json_string_depth) =
            (self.remaining_values, self.json_string_depth);
        let out = look(&mut value_redactor);
        self.remaining_values = value_redactor.remaining_values;
        self.names = value_redactor.names;
        out
    }

    /// A text, redacted, that holds JSON in which a field name hides a value; `None` for others.
    pub(crate) fn redact_json_parts<'t>(
        &mut self,
        redactor: &Redactor,
        text: &'t str,
    ) -> Option<Cow<'t, str>> {
        let mut fields = json_text::hidden_fields_of_parts(text, self);
        fields.retain(|field| {
            let value = text.get(field.range.clone()).unwrap_or_default().trim_matches('"');
            value != MASK && !redactor.is_mask_of_run(value)
        });
        let is_hidden = !fields.is_empty();
        is_hidden.then(|| redactor.redact_text_with_fields(text, fields, &mut self.masked))
    }

    /// A text with hidden fields masked if it is JSON, and everything that a rule matches; layout
    /// is preserved.
    pub(crate) fn redact_json_text<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let fields = json_text::hidden_fields(text, self);
        self.redactor.redact_text_with_fields(text, fields, &mut self.masked)
    }

    /// The mask of a text that is a secret because of the name of its field.
    fn mask_named_secret<'t>(
        &mut self,
        redactor: &Redactor,
        text: &'t str,
        kind: SecretKind,
    ) -> Cow<'t, str> {
        count_kind(&mut self.masked, secrets::kind_of_value(kind));
        let mask = redactor.mask_named_secret(text, kind).unwrap_or_else(|| MASK.to_owned());
        self.postprocess.string(Cow::Owned(mask), &mut self.omitted)
    }

    pub(super) fn text<'t>(
        &mut self,
        redactor: &Redactor,
        text: &'t str,
        key: Option<FieldName<'_>>,
    ) -> Cow<'t, str> {
        // What the text of the field would show as a secret, `"db_pass": "starlight"`, is one.
        let secret_kind = key.and_then(|key| key.meaning.secret_kind);
        if let Some(kind) = secret_kind
            && text.len() <= MAX_NAMED_SCAN_BYTES
            && secrets::is_secret_text(text, kind)
        {
            return self.mask_named_secret(redactor, text, kind);
        }
        let named = key.filter(|key| {
            let has_scannable_size =
                text.len() <= MAX_NAMED_SCAN_BYTES && (3..=128).contains(&key.name.len());
            has_scannable_size && (key.meaning.has_context_word || looks_like_key(text))
        });
        let redacted = match named {
            Some(key) => match redact_with_name(redactor, key.name, text) {
                Some((masked, counts)) => {
                    merge_counts(&mut self.masked, counts);
                    Cow::Owned(masked)
                }
                None => Cow::Borrowed(text),
            },
            None => match redactor.plain_words(text) {
                Some(how) => return self.postprocess.plain_words(text, how, &mut self.omitted),
                None => redactor.redact_long_text(text, &mut self.masked),
            },
        };
        self.postprocess.string(redacted, &mut self.omitted)
    }
}
