//! The keys of `weaver.toml`, defined once: the parser, the JSON Schema for editors and the
//! reference page are derived from these tables.
//!
//! [`SectionDefinition::check`] walks a parsed file once and reports every unknown key, wrong type
//! and value out of range. Code that reads a section afterwards only adds findings about meaning,
//! such as a missing file.

mod json_schema;
mod keys;
mod reference;
mod server_keys;
mod tool_keys;

use weaver_policy::DocumentFinding;
use weaver_text::suggest;

pub use json_schema::json_schema;
pub(super) use keys::{ROOT_TABLE, STORE};
pub use reference::reference;
pub(super) use server_keys::SERVERS;

use super::hint;
use super::node::{Node, NodeValue, excerpt};

/// The type of a key's value.
#[derive(Clone, Copy)]
pub(super) enum ValueType {
    Text,
    Flag,
    /// A whole number with inclusive bounds.
    Integer(u64, u64),
    /// One of these keywords.
    Word(&'static [&'static str]),
    /// A list with a maximum length.
    List(&'static ValueType, usize),
    /// A table with defined keys.
    Table(&'static SectionDefinition),
    /// A table with arbitrary keys and a maximum number of entries.
    Map(&'static ValueType, usize),
    /// A text, or a table that is checked elsewhere.
    TextOrTable,
}

/// A key of a section.
pub(super) struct KeyDefinition {
    name: &'static str,
    value_type: ValueType,
    /// The default, as it would be written.
    default: Option<&'static str>,
    is_required: bool,
    /// Its description, one sentence without a full stop.
    description: &'static str,
}

/// A table with defined keys.
pub(super) struct SectionDefinition {
    keys: &'static [KeyDefinition],
}

/// An optional key.
const fn key(
    name: &'static str,
    value_type: ValueType,
    description: &'static str,
) -> KeyDefinition {
    KeyDefinition { name, value_type, default: None, is_required: false, description }
}

impl KeyDefinition {
    const fn with_default(self, default: &'static str) -> Self {
        Self { default: Some(default), ..self }
    }

    const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }
}

/// The keywords of a keyword table.
const fn words<T: Copy, const N: usize>(table: &[(&'static str, T); N]) -> [&'static str; N] {
    let mut words = [""; N];
    let (mut from, mut to) = (table.as_slice(), words.as_mut_slice());
    while let ([(word, _), next @ ..], [place, places @ ..]) = (from, to) {
        *place = word;
        (from, to) = (next, places);
    }
    words
}

impl SectionDefinition {
    /// Reports all form errors of a table.
    pub(super) fn check(&self, node: &Node, findings: &mut Vec<DocumentFinding>) {
        let NodeValue::Table(table) = &node.value else {
            findings.push(wrong_type(node, "a table"));
            return;
        };
        for (name, value) in table {
            match self.keys.iter().find(|key| key.name == name) {
                Some(key) => key.value_type.check(value, findings),
                None => findings.push(self.unknown(name, value)),
            }
        }
    }

    fn unknown(&self, name: &str, node: &Node) -> DocumentFinding {
        if let Some(remedy) = hint::remedy_for_loosening_key(name) {
            let message =
                format!("`{}` cannot be set here: it could loosen a decision", excerpt(name));
            return node.finding("config.loosens", message, remedy);
        }
        let known = || self.keys.iter().map(|key| key.name);
        let remedy = match (hint::remedy_for_foreign_key(name), suggest::nearest(name, known())) {
            (Some(hint), _) => hint.to_owned(),
            (None, Some(meant)) => format!("did you mean `{meant}`?"),
            (None, None) => format!("known here: {}", known().collect::<Vec<_>>().join(", ")),
        };
        node.finding("config.unknown_key", format!("unknown key `{}`", excerpt(name)), remedy)
    }
}

impl ValueType {
    /// Reports all form errors of a value.
    pub(super) fn check(&self, node: &Node, findings: &mut Vec<DocumentFinding>) {
        match (self, &node.value) {
            (Self::Text | Self::TextOrTable, NodeValue::Text(_))
            | (Self::TextOrTable, NodeValue::Table(_))
            | (Self::Flag, NodeValue::Flag(_)) => {}
            (Self::Integer(least, most), NodeValue::Integer(number)) => {
                if !u64::try_from(*number).is_ok_and(|number| (*least..=*most).contains(&number)) {
                    let message = format!("{number} is out of range");
                    let remedy = format!("write {}", self.name());
                    findings.push(node.finding("config.range", message, remedy));
                }
            }
            (Self::Word(words), NodeValue::Text(text)) => {
                if !words.contains(&text.as_str()) {
                    findings.push(unknown_word(node, text, words));
                }
            }
            (Self::List(item, most), NodeValue::List(list)) => {
                check_size(node, list.len(), *most, findings);
                list.iter().take(*most).for_each(|node| item.check(node, findings));
            }
            (Self::Map(value, most), NodeValue::Table(table)) => {
                check_size(node, table.len(), *most, findings);
                table.values().take(*most).for_each(|node| value.check(node, findings));
            }
            (Self::Table(section), _) => section.check(node, findings),
            _ => findings.push(wrong_type(node, &self.name())),
        }
    }

    /// The expected value, for a message.
    fn name(&self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Integer(least, most) => format!("a whole number from {least} to {most}"),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::List(..) => "a list".to_owned(),
            Self::Table(_) | Self::Map(..) => "a table".to_owned(),
            Self::TextOrTable => "a text or a table".to_owned(),
        }
    }
}

fn wrong_type(node: &Node, wanted: &str) -> DocumentFinding {
    let message = format!("this is {}, not {wanted}", node.value.type_name());
    node.finding("config.type", message, format!("write {wanted}"))
}

fn unknown_word(node: &Node, text: &str, words: &[&str]) -> DocumentFinding {
    let remedy = match suggest::nearest(text, words.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("write one of {}", words.join(", ")),
    };
    node.finding("config.word", format!("`{}` is not known here", excerpt(text)), remedy)
}

fn check_size(node: &Node, found: usize, most: usize, findings: &mut Vec<DocumentFinding>) {
    if found > most {
        let message = format!("{found} entries, at most {most} are allowed");
        findings.push(node.finding("config.range", message, "remove what is not needed"));
    }
}

/// All sections with their paths, in file order. `NAME` stands for an arbitrary key. A section that
/// several keys share is listed once.
fn all_sections() -> Vec<(String, &'static SectionDefinition)> {
    fn add(
        path: String,
        section: &'static SectionDefinition,
        all: &mut Vec<(String, &'static SectionDefinition)>,
    ) {
        if all.iter().any(|(_, known)| std::ptr::eq(*known, section)) {
            return;
        }
        all.push((path.clone(), section));
        let dot = if path.is_empty() { "" } else { "." };
        for key in section.keys {
            let below = format!("{path}{dot}{}", key.name);
            match &key.value_type {
                ValueType::Table(section) => add(below, section, all),
                ValueType::Map(ValueType::Table(section), _) => {
                    add(format!("{below}.NAME"), section, all)
                }
                ValueType::List(ValueType::Table(section), _) => {
                    add(format!("{below}[]"), section, all)
                }
                _ => {}
            }
        }
    }
    let mut all = Vec::new();
    add(String::new(), &ROOT_TABLE, &mut all);
    all
}
