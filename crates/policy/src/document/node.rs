//! Reads typed values from the TOML syntax tree, and reports a finding for each value that does not
//! conform.

use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};

use serde_json::Value;
use toml::de::{DeTable, DeValue};
use weaver_text::suggest::nearest;
use weaver_types::Timestamp;

use super::reader::{DocumentReader, excerpt};
use super::{MAX_DOCUMENT_DEPTH, MAX_DOCUMENT_ENTRIES, canonical};
use crate::pattern::Pattern;

/// The maximum length of a text in a document, in bytes.
const MAX_TEXT_BYTES: usize = 4_096;

/// A value with its position and its key path.
#[derive(Clone)]
pub(super) struct Node<'t> {
    kind: NodeValue<'t>,
    span: Range<usize>,
    key: String,
}

#[derive(Clone, Copy)]
enum NodeValue<'t> {
    Root(&'t DeTable<'t>),
    Inner(&'t DeValue<'t>),
}

/// A table whose keys have been checked.
pub(super) struct Section<'t> {
    table: &'t DeTable<'t>,
    span: Range<usize>,
    key: String,
}

fn child_key(parent: &str, name: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let dot = if parent.is_empty() { "" } else { "." };
    if !name.is_empty() && name.len() <= 80 && name.bytes().all(plain) {
        format!("{parent}{dot}{name}")
    } else {
        format!("{parent}{dot}\"{}\"", excerpt(name))
    }
}

impl<'t> Node<'t> {
    pub(super) fn table(table: &'t DeTable<'t>, span: Range<usize>, key: String) -> Self {
        Self { kind: NodeValue::Root(table), span, key }
    }

    /// Reports a finding about this value.
    pub(super) fn report(
        &self,
        reader: &mut DocumentReader<'_>,
        code: &'static str,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        reader.report(Some(self.span.clone()), &self.key, code, message, remedy);
    }

    fn report_type(&self, reader: &mut DocumentReader<'_>, wanted: &str) {
        let found = match self.kind {
            NodeValue::Root(_) => "a table",
            NodeValue::Inner(value) => match value.type_str() {
                "string" => "text",
                "integer" => "a whole number",
                "float" => "a number",
                "boolean" => "true or false",
                "datetime" => "a point in time",
                "array" => "a list",
                _ => "a table",
            },
        };
        self.report(reader, "policy.type", format!("this is {found}"), format!("write {wanted}"));
    }

    fn as_table(&self) -> Option<&'t DeTable<'t>> {
        match self.kind {
            NodeValue::Root(table) => Some(table),
            NodeValue::Inner(value) => value.as_table(),
        }
    }

    /// Returns the table, after reporting every key that is not in `known`.
    pub(super) fn section(
        &self,
        reader: &mut DocumentReader<'_>,
        known: &[&str],
    ) -> Option<Section<'t>> {
        let Some(table) = self.as_table() else {
            self.report_type(reader, "a table");
            return None;
        };
        for key in table.keys() {
            let name = key.get_ref().as_ref();
            if !known.contains(&name) {
                let remedy = match nearest(name, known.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("known here: {}", known.join(", ")),
                };
                let message = format!("unknown key `{}`", excerpt(name));
                let place = child_key(&self.key, name);
                reader.report(Some(key.span()), &place, "policy.unknown_key", message, remedy);
            }
        }
        Some(Section { table, span: self.span.clone(), key: self.key.clone() })
    }

    /// The entries of a table with arbitrary keys, such as names.
    pub(super) fn entries(&self, reader: &mut DocumentReader<'_>) -> Vec<(&'t str, Node<'t>)> {
        let Some(table) = self.as_table() else {
            self.report_type(reader, "a table");
            return Vec::new();
        };
        self.check_entry_count(reader, table.len());
        let entry = |(key, value): (
            &'t toml::Spanned<std::borrow::Cow<'t, str>>,
            &'t toml::Spanned<DeValue<'t>>,
        )| {
            let name = key.get_ref().as_ref();
            let node = Node {
                kind: NodeValue::Inner(value.get_ref()),
                span: key.span(),
                key: child_key(&self.key, name),
            };
            (name, node)
        };
        table.iter().take(MAX_DOCUMENT_ENTRIES).map(entry).collect()
    }

    /// The items of a list.
    pub(super) fn items(&self, reader: &mut DocumentReader<'_>) -> Vec<Node<'t>> {
        let NodeValue::Inner(DeValue::Array(list)) = self.kind else {
            self.report_type(reader, "a list");
            return Vec::new();
        };
        self.check_entry_count(reader, list.len());
        let item = |(index, value): (usize, &'t toml::Spanned<DeValue<'t>>)| Node {
            kind: NodeValue::Inner(value.get_ref()),
            span: value.span(),
            key: format!("{}[{index}]", self.key),
        };
        list.iter().take(MAX_DOCUMENT_ENTRIES).enumerate().map(item).collect()
    }

    fn check_entry_count(&self, reader: &mut DocumentReader<'_>, count: usize) {
        if count > MAX_DOCUMENT_ENTRIES {
            let message = format!("{count} entries, the limit is {MAX_DOCUMENT_ENTRIES}");
            self.report(reader, "policy.too_many", message, "merge entries or remove some");
        }
    }

    /// A single value or a non-empty list of values.
    pub(super) fn one_or_many(&self, reader: &mut DocumentReader<'_>) -> Vec<Node<'t>> {
        match self.kind {
            NodeValue::Inner(DeValue::Array(_)) => {
                let items = self.items(reader);
                if items.is_empty() {
                    self.report(
                        reader,
                        "policy.empty_list",
                        "an empty list fits nothing",
                        "name at least one, or leave the key out",
                    );
                }
                items
            }
            _ => vec![self.clone()],
        }
    }

    /// Whether this value is a text.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.kind, NodeValue::Inner(DeValue::String(_)))
    }

    /// A text of 1 to 4,096 bytes.
    pub(super) fn text(&self, reader: &mut DocumentReader<'_>) -> Option<&'t str> {
        let NodeValue::Inner(DeValue::String(text)) = self.kind else {
            self.report_type(reader, "a text in quotes");
            return None;
        };
        if text.trim().is_empty() || text.len() > MAX_TEXT_BYTES {
            self.report(
                reader,
                "policy.text",
                "the text is empty or too long",
                "write 1 to 4096 bytes",
            );
            return None;
        }
        Some(text.as_ref())
    }

    /// A text of any length, possibly empty.
    pub(super) fn text_or_empty(&self, reader: &mut DocumentReader<'_>) -> Option<&'t str> {
        let NodeValue::Inner(DeValue::String(text)) = self.kind else {
            self.report_type(reader, "a text in quotes");
            return None;
        };
        Some(text.as_ref())
    }

    /// Any value, as JSON.
    pub(super) fn json(&self, reader: &mut DocumentReader<'_>) -> Option<Value> {
        let NodeValue::Inner(value) = self.kind else {
            self.report_type(reader, "a value");
            return None;
        };
        match canonical::to_json(value, &self.span, MAX_DOCUMENT_DEPTH) {
            Ok(value) => Some(value),
            Err(failure) => {
                self.report(reader, failure.code, failure.message, failure.remedy);
                None
            }
        }
    }

    /// Whether this value is a table without keys.
    pub(super) fn is_empty_table(&self) -> bool {
        self.as_table().is_some_and(DeTable::is_empty)
    }

    /// A whole number within bounds.
    pub(super) fn number(
        &self,
        reader: &mut DocumentReader<'_>,
        bounds: RangeInclusive<u64>,
    ) -> Option<u64> {
        let NodeValue::Inner(DeValue::Integer(number)) = self.kind else {
            self.report_type(reader, "a whole number");
            return None;
        };
        let found = u64::from_str_radix(number.as_str(), number.radix()).ok();
        let found = found.filter(|n| bounds.contains(n));
        if found.is_none() {
            let remedy = format!("write {} to {}", bounds.start(), bounds.end());
            self.report(reader, "policy.bounds", "the number is out of bounds", remedy);
        }
        found
    }

    /// A 32-bit number of at least `least`.
    pub(super) fn count(&self, reader: &mut DocumentReader<'_>, least: u32) -> Option<u32> {
        self.number(reader, least.into()..=u32::MAX.into()).and_then(|n| u32::try_from(n).ok())
    }

    /// True or false.
    pub(super) fn boolean(&self, reader: &mut DocumentReader<'_>) -> Option<bool> {
        let NodeValue::Inner(DeValue::Boolean(flag)) = self.kind else {
            self.report_type(reader, "true or false");
            return None;
        };
        Some(*flag)
    }

    /// A point in time in RFC 3339 with an offset, with or without quotes.
    pub(super) fn timestamp(&self, reader: &mut DocumentReader<'_>) -> Option<Timestamp> {
        let text = match self.kind {
            NodeValue::Inner(DeValue::String(text)) => Some(text.to_string()),
            NodeValue::Inner(DeValue::Datetime(time)) => Some(time.to_string()),
            _ => None,
        };
        let time = text.as_deref().and_then(Timestamp::parse_rfc3339);
        if time.is_none() {
            let message = "this is not a point in time";
            self.report(reader, "policy.time", message, "write it as 2027-01-31T00:00:00Z");
        }
        time
    }

    /// A pattern.
    pub(super) fn pattern(&self, reader: &mut DocumentReader<'_>) -> Option<Pattern> {
        let text = self.text(reader)?;
        match Pattern::parse(text) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                self.report(reader, "policy.pattern", error.to_string(), "shorten the pattern");
                None
            }
        }
    }

    /// One pattern, a list of patterns or the name of such a list, as `{ list = "name" }`; sorted
    /// and without duplicates.
    pub(super) fn patterns(&self, reader: &mut DocumentReader<'_>) -> Vec<Pattern> {
        match self.as_table() {
            Some(_) => self.patterns_of_named_list(reader).unwrap_or_default(),
            None => self.written_patterns(reader),
        }
    }

    fn patterns_of_named_list(&self, reader: &mut DocumentReader<'_>) -> Option<Vec<Pattern>> {
        let node = self.section(reader, &["list"])?.required(reader, "list")?;
        let name = node.text(reader)?;
        let Some(patterns) = reader.listed_patterns(name) else {
            let remedy = match nearest(name, reader.list_names()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "define it under `[lists]`".to_owned(),
            };
            let message = format!("there is no list `{}`", excerpt(name));
            node.report(reader, "policy.unknown_list", message, remedy);
            return None;
        };
        if reader.exceeds_listed_patterns() {
            let message = "the lists are used too often";
            node.report(reader, "policy.too_many", message, "use shorter lists, or fewer times");
            return None;
        }
        Some(patterns)
    }

    /// One pattern or a list of patterns, sorted and without duplicates.
    pub(super) fn written_patterns(&self, reader: &mut DocumentReader<'_>) -> Vec<Pattern> {
        let nodes = self.one_or_many(reader);
        let set: BTreeSet<_> = nodes.iter().filter_map(|node| node.pattern(reader)).collect();
        set.into_iter().collect()
    }

    /// A list of texts, which may be empty.
    pub(super) fn texts(&self, reader: &mut DocumentReader<'_>) -> BTreeSet<String> {
        let items = self.items(reader);
        items.iter().filter_map(|node| node.text(reader)).map(str::to_owned).collect()
    }

    /// A list of at least one text.
    pub(super) fn nonempty_texts(&self, reader: &mut DocumentReader<'_>) -> BTreeSet<String> {
        let nodes = self.one_or_many(reader);
        nodes.iter().filter_map(|node| node.text(reader)).map(str::to_owned).collect()
    }

    /// A text that parses as `T`.
    pub(super) fn parse<T: std::str::FromStr>(&self, reader: &mut DocumentReader<'_>) -> Option<T>
    where
        T::Err: std::fmt::Display,
    {
        let text = self.text(reader)?;
        match text.parse() {
            Ok(value) => Some(value),
            Err(error) => {
                self.report(reader, "policy.value", error.to_string(), "correct this value");
                None
            }
        }
    }
}

impl<'t> Section<'t> {
    /// The value of this key, if present.
    pub(super) fn get(&self, name: &str) -> Option<Node<'t>> {
        let (key, value) = self.table.get_key_value(name)?;
        // A table or list is reported at its key, where people look for it.
        let span = match value.get_ref() {
            DeValue::Table(_) | DeValue::Array(_) => key.span(),
            _ => value.span(),
        };
        Some(Node {
            kind: NodeValue::Inner(value.get_ref()),
            span,
            key: child_key(&self.key, name),
        })
    }

    /// The value of a required key.
    pub(super) fn required(&self, reader: &mut DocumentReader<'_>, name: &str) -> Option<Node<'t>> {
        let found = self.get(name);
        if found.is_none() {
            let message = format!("`{name}` is missing");
            let code = "policy.missing_key";
            reader.report(
                Some(self.span.clone()),
                &self.key,
                code,
                message,
                format!("add `{name}`"),
            );
        }
        found
    }

    /// True if the table has no keys.
    pub(super) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }
}
