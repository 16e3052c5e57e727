//! One mask and its value.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use weaver_types::{Label, ValueFamily};
use zeroize::Zeroizing;

use super::ValueSource;

/// The most servers that are remembered for a value. One that came from more goes back to those.
const MAX_ORIGINS: usize = 8;

/// A secret of fewer bytes can be found by showing every value that it may have.
const GUESSABLE: usize = 10;

/// How a value stood where it was masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// As a part of a text, or as all of it.
    Text,
    /// As a JSON value other than a string, or as a token of JSON in a text: its mask stands in
    /// quotes there.
    Json,
}

/// A value that is masked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MaskedValue<'a> {
    pub(crate) kind: &'a Arc<str>,
    pub(crate) family: ValueFamily,
    pub(crate) form: Form,
    /// The text, or the JSON token.
    pub(crate) text: &'a str,
}

/// A mask, and what it stands for.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) mask: String,
    pub(super) kind: Arc<str>,
    pub(super) family: ValueFamily,
    pub(super) form: Form,
    value: Option<Zeroizing<String>>,
    pub(super) origins: BTreeSet<String>,
    pub(super) label: Label,
    /// Whether it is a secret that can be guessed and that several servers showed.
    is_shared: bool,
    /// Whether a call got the value in place of the mask.
    pub(super) given_out: bool,
}

impl Entry {
    pub(super) fn new(mask: String, value: &MaskedValue<'_>) -> Self {
        Self {
            mask,
            kind: Arc::clone(value.kind),
            family: value.family,
            form: value.form,
            value: None,
            origins: BTreeSet::new(),
            label: Label::clean(),
            is_shared: false,
            given_out: false,
        }
    }

    pub(super) fn keep(&mut self, text: &str) {
        self.value = Some(Zeroizing::new(text.to_owned()));
    }

    pub(super) fn forget(&mut self) {
        self.value = None;
    }

    /// Notes where the value was masked. Where it comes back from a server that was given it, it
    /// does not come from there.
    pub(super) fn seen(&mut self, source: Option<&ValueSource>) {
        let Some(source) = source.filter(|_| !self.given_out) else { return };
        self.join(&source.label);
        if self.origins.contains(source.origin.as_ref()) {
            return;
        }
        // A server that shows a short secret of another one may only have guessed it: then it goes
        // back to none of them.
        let guessable = self.family == ValueFamily::Secret
            && self.text().is_none_or(|text| text.len() < GUESSABLE);
        self.is_shared |= guessable && !self.origins.is_empty();
        if self.is_shared {
            self.origins.clear();
        } else if self.origins.len() < MAX_ORIGINS {
            self.origins.insert(source.origin.to_string());
        }
    }

    /// Takes over where the value comes from.
    pub(super) fn inherit(&mut self, origins: BTreeSet<String>, label: &Label) {
        self.given_out = true;
        self.origins.extend(origins);
        self.join(label);
    }

    fn join(&mut self, label: &Label) {
        let own = std::mem::replace(&mut self.label, Label::clean());
        self.label = own.join(label);
    }

    /// The value as it stood: a text, or a token of JSON.
    pub(super) fn text(&self) -> Option<&str> {
        self.value.as_deref().map(String::as_str)
    }

    /// The value as JSON, in place of a whole string.
    pub(super) fn json(&self) -> Option<Value> {
        let text = self.text()?;
        match self.form {
            Form::Text => Some(Value::String(text.to_owned())),
            Form::Json => serde_json::from_str(text).ok(),
        }
    }

    /// The value within a text: a string without its quotes, anything else as it stood.
    pub(super) fn unquoted(&self) -> Option<String> {
        Some(match self.json()? {
            Value::String(text) => text,
            _ => self.text()?.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use weaver_types::CallId;

    use super::*;

    fn entry(family: ValueFamily, text: &str, origins: &[&str]) -> Entry {
        let kind = Arc::from("kind");
        let value = MaskedValue { kind: &kind, family, form: Form::Text, text };
        let mut entry = Entry::new("[KIND_1]".to_owned(), &value);
        entry.keep(text);
        for origin in origins {
            entry.seen(Some(&ValueSource { origin: Arc::from(*origin), label: Label::clean() }));
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
            known.seen(Some(&source));
        }
        known.inherit(BTreeSet::new(), &tainted("call_3"));
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
        known.given_out = true;
        known.seen(Some(&ValueSource { origin: Arc::from("b"), label: Label::clean() }));
        assert_eq!(known.origins, BTreeSet::from(["a".to_owned()]));
        let mut part = entry(ValueFamily::Personal, "jan", &[]);
        part.inherit(known.origins, &Label::clean());
        assert!(part.given_out && part.origins.contains("a"));
    }

    #[test]
    fn a_value_is_a_text_or_a_token_of_json() {
        let mut own = entry(ValueFamily::Personal, "17", &[]);
        assert_eq!((own.json(), own.unquoted()), (Some(Value::from("17")), Some("17".to_owned())));
        own.form = Form::Json;
        assert_eq!((own.json(), own.unquoted()), (Some(Value::from(17)), Some("17".to_owned())));
        own.keep("\"a\"");
        assert_eq!((own.json(), own.unquoted()), (Some(Value::from("a")), Some("a".to_owned())));
        own.forget();
        assert_eq!((own.json(), own.unquoted(), own.text()), (None, None, None));
    }
}
