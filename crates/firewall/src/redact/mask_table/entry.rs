//! One mask and its value.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use weaver_types::{Label, ValueFamily};
use zeroize::Zeroizing;

use super::ValueSource;

/// The most servers remembered as origins of a value.
const MAX_ORIGINS: usize = 8;

/// A shorter secret, in bytes, could be found by trying all values.
const MIN_UNGUESSABLE_BYTES: usize = 10;

/// How a value appeared where it was masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ValueForm {
    /// As a text or part of one.
    Text,
    /// As a JSON value other than a string, or as a JSON token in a text. Its mask is quoted there.
    Json,
}

/// A value to be masked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValueToMask<'a> {
    pub(crate) kind: &'a Arc<str>,
    pub(crate) family: ValueFamily,
    pub(crate) form: ValueForm,
    /// The text, or the JSON token.
    pub(crate) text: &'a str,
}

impl ValueToMask<'_> {
    /// A JSON string without escapes as the text in its quotes, so that it has one mask wherever it
    /// appears.
    pub(crate) fn without_quotes(self) -> Self {
        let quoted = self.text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        match quoted.filter(|text| self.form == ValueForm::Json && !text.contains('\\')) {
            Some(text) => Self { form: ValueForm::Text, text, ..self },
            None => self,
        }
    }

    /// The value as JSON.
    pub(crate) fn to_json(self) -> Option<Value> {
        match self.form {
            ValueForm::Text => Some(Value::String(self.text.to_owned())),
            ValueForm::Json => serde_json::from_str(self.text).ok(),
        }
    }
}

/// A mask and what it stands for.
#[derive(Debug)]
pub(super) struct MaskEntry {
    pub(super) mask: String,
    pub(super) kind: Arc<str>,
    pub(super) family: ValueFamily,
    pub(super) form: ValueForm,
    value: Option<Zeroizing<String>>,
    pub(super) origins: BTreeSet<String>,
    pub(super) label: Label,
    /// True for a guessable secret that several servers returned.
    is_shared: bool,
    /// True once a call received the value in place of the mask.
    pub(super) is_disclosed: bool,
}

impl MaskEntry {
    pub(super) fn new(mask: String, value: &ValueToMask<'_>) -> Self {
        Self {
            mask,
            kind: Arc::clone(value.kind),
            family: value.family,
            form: value.form,
            value: None,
            origins: BTreeSet::new(),
            label: Label::clean(),
            is_shared: false,
            is_disclosed: false,
        }
    }

    pub(super) fn store_value(&mut self, text: &str) {
        self.value = Some(Zeroizing::new(text.to_owned()));
    }

    /// The value with what it was taken for.
    pub(super) fn to_value(&self) -> Option<ValueToMask<'_>> {
        let text = self.value.as_ref()?;
        Some(ValueToMask { kind: &self.kind, family: self.family, form: self.form, text })
    }

    pub(super) fn forget_value(&mut self) {
        self.value = None;
    }

    /// Adds a source of the value. A server that received the value does not become its source by
    /// returning it.
    pub(super) fn add_source(&mut self, source: Option<&ValueSource>) {
        let Some(source) = source.filter(|_| !self.is_disclosed) else { return };
        self.join_label(&source.label);
        if self.origins.contains(source.origin.as_ref()) {
            return;
        }
        // A server that returns another server's short secret may have guessed it. Then the value
        // is released to neither of them, since both could learn it that way.
        let guessable = self.family == ValueFamily::Secret
            && self.text().is_none_or(|text| text.len() < MIN_UNGUESSABLE_BYTES);
        self.is_shared |= guessable && !self.origins.is_empty();
        if self.is_shared {
            self.origins.clear();
        } else if self.origins.len() < MAX_ORIGINS {
            self.origins.insert(source.origin.to_string());
        }
    }

    /// Takes over the origins of the original value.
    pub(super) fn inherit_sources(&mut self, origins: BTreeSet<String>, label: &Label) {
        self.is_disclosed = true;
        self.origins.extend(origins);
        self.join_label(label);
    }

    fn join_label(&mut self, label: &Label) {
        let previous = std::mem::replace(&mut self.label, Label::clean());
        self.label = previous.join(label);
    }

    /// The value as it appeared: a text or a JSON token.
    pub(super) fn text(&self) -> Option<&str> {
        self.value.as_deref().map(String::as_str)
    }

    /// The value as JSON, to replace a whole string.
    pub(super) fn to_json(&self) -> Option<Value> {
        let (text, kind) = (self.text()?, &self.kind);
        ValueToMask { kind, family: self.family, form: self.form, text }.to_json()
    }

    /// The value within a text: a string without quotes, anything else as it appeared.
    pub(super) fn to_unquoted(&self) -> Option<String> {
        Some(match self.to_json()? {
            Value::String(text) => text,
            _ => self.text()?.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use weaver_types::CallId;

    use super::*;

    fn entry(family: ValueFamily, text: &str, origins: &[&str]) -> MaskEntry {
        let kind = Arc::from("kind");
        let value = ValueToMask { kind: &kind, family, form: ValueForm::Text, text };
        let mut entry = MaskEntry::new("[KIND_1]".to_owned(), &value);
        entry.store_value(text);
        for origin in origins {
            entry.add_source(Some(&ValueSource {
                origin: Arc::from(*origin),
                label: Label::clean(),
            }));
        }
        entry
    }

    #[test]
    fn a_short_secret_of_several_servers_goes_back_to_none_of_them() {
        for (family, text, origins, kept) in [
            (ValueFamily::Secret, "123456789", &["a"][..], 1),
            (ValueFamily::Secret, "123456789", &["a", "a"], 1),
            (ValueFamily::Secret, "123456789", &["a", "b"], 0),
            (ValueFamily::Secret, "123456789", &["a", "b", "c"], 0),
            (ValueFamily::Secret, "1234567890", &["a", "b"], 2),
            (ValueFamily::Personal, "1234", &["a", "b"], 2),
        ] {
            assert_eq!(entry(family, text, origins).origins.len(), kept, "{text} {origins:?}");
        }
    }

    #[test]
    fn a_value_has_the_labels_of_all_that_showed_it() {
        let tainted =
            |call: &str| Label::undeclared_output().tainted_by(&CallId::parse(call).unwrap());
        let mut known = entry(ValueFamily::Personal, "jane", &[]);
        for call in ["call_1", "call_2"] {
            let source = ValueSource { origin: Arc::from("a"), label: tainted(call) };
            known.add_source(Some(&source));
        }
        known.inherit_sources(BTreeSet::new(), &tainted("call_3"));
        assert_eq!(known.label.taints.iter().count(), 3);
    }

    #[test]
    fn eight_servers_are_remembered() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
        for (count, kept) in [(7, 7), (8, 8), (9, 8)] {
            let origins = names.get(..count).unwrap();
            assert_eq!(entry(ValueFamily::Personal, "jane", origins).origins.len(), kept);
        }
    }

    #[test]
    fn a_value_that_was_given_out_does_not_come_from_where_it_comes_back() {
        let mut known = entry(ValueFamily::Personal, "jane", &["a"]);
        known.is_disclosed = true;
        known.add_source(Some(&ValueSource { origin: Arc::from("b"), label: Label::clean() }));
        assert_eq!(known.origins, BTreeSet::from(["a".to_owned()]));
        let mut part = entry(ValueFamily::Personal, "jan", &[]);
        part.inherit_sources(known.origins, &Label::clean());
        assert!(part.is_disclosed && part.origins.contains("a"));
    }

    #[test]
    fn a_value_is_a_text_or_a_token_of_json() {
        let mut own = entry(ValueFamily::Personal, "17", &[]);
        assert_eq!(
            (own.to_json(), own.to_unquoted()),
            (Some(Value::from("17")), Some("17".to_owned()))
        );
        own.form = ValueForm::Json;
        assert_eq!(
            (own.to_json(), own.to_unquoted()),
            (Some(Value::from(17)), Some("17".to_owned()))
        );
        own.store_value("\"a\"");
        assert_eq!(
            (own.to_json(), own.to_unquoted()),
            (Some(Value::from("a")), Some("a".to_owned()))
        );
        own.forget_value();
        assert_eq!((own.to_json(), own.to_unquoted(), own.text()), (None, None, None));
    }
}
