//! A configuration as a tree whose values know their file, line and column; from TOML or JSON.
//!
//! The accessors of a node return `None` for another type, which
//! [`SectionDefinition::check`](super::definition::SectionDefinition::check) has already reported.

use std::collections::BTreeMap;
use std::sync::Arc;

use weaver_policy::DocumentFinding;
use weaver_text::escape;

/// Entries by name.
pub(super) type Table = BTreeMap<String, Node>;

/// How much of a foreign text a message quotes, in characters.
const MAX_SHOWN: usize = 80;

/// A text for a message: escaped and truncated.
pub(super) fn excerpt(text: &str) -> String {
    escape::excerpt(text, MAX_SHOWN)
}

/// The value of a node.
#[derive(Debug)]
pub(super) enum NodeValue {
    Text(String),
    Integer(i64),
    Flag(bool),
    List(Vec<Node>),
    Table(BTreeMap<String, Node>),
    /// A type that no setting uses, such as a date.
    Other(&'static str),
}

impl NodeValue {
    /// Its type in words, for a message.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Integer(_) => "a whole number",
            Self::Flag(_) => "true or false",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Other(name) => name,
        }
    }
}

/// A value with its file, key, and position if known.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) file: Arc<str>,
    pub(super) position: Option<(usize, usize)>,
    pub(super) key: String,
    pub(super) value: NodeValue,
}

/// The full key of an entry, quoted if it is not a bare key.
pub(super) fn child_key(parent: &str, name: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let dot = if parent.is_empty() { "" } else { "." };
    if !name.is_empty() && name.len() <= MAX_SHOWN && name.bytes().all(plain) {
        format!("{parent}{dot}{name}")
    } else {
        format!("{parent}{dot}\"{}\"", excerpt(name))
    }
}

impl Node {
    /// A finding at this node.
    pub(super) fn finding(
        &self,
        code: &'static str,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> DocumentFinding {
        let (line, column) = self.position.unzip();
        DocumentFinding {
            file: self.file.to_string(),
            line,
            column,
            key: (!self.key.is_empty()).then(|| self.key.clone()),
            code,
            message: message.into(),
            remedy: remedy.into(),
        }
    }

    /// The entry of this name, if this is a table that contains it.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        self.table()?.get(name)
    }

    pub(super) fn table(&self) -> Option<&Table> {
        match &self.value {
            NodeValue::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            NodeValue::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn flag(&self) -> Option<bool> {
        match &self.value {
            NodeValue::Flag(flag) => Some(*flag),
            _ => None,
        }
    }

    pub(super) fn integer(&self) -> Option<u64> {
        match &self.value {
            NodeValue::Integer(number) => u64::try_from(*number).ok(),
            _ => None,
        }
    }

    /// The value that a keyword stands for.
    pub(super) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let text = self.text()?;
        words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value)
    }

    pub(super) fn list(&self) -> &[Self] {
        match &self.value {
            NodeValue::List(list) => list,
            _ => &[],
        }
    }

    /// The texts of a list.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.list().iter().filter_map(Self::text)
    }
}
