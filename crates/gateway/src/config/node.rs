//! A configuration as a tree in which every value knows its file, line and column; TOML or JSON.
//!
//! What is read off a node is `None` where the node has another shape, which the check of the form
//! has noted by then ([`Section::check`](super::definition::Section::check)).

use std::collections::BTreeMap;
use std::sync::Arc;

use weaver_policy::Finding;
use weaver_text::escape;

/// Entries by their names.
pub(super) type Table = BTreeMap<String, Node>;

/// How much of a foreign text a message repeats, in characters.
const MAX_SHOWN: usize = 80;

/// A text as it may be shown in a message: escaped and cut.
pub(super) fn shown(text: &str) -> String {
    escape::line(escape::truncate(text, MAX_SHOWN)).into_owned()
}

/// What stands at a place.
#[derive(Debug)]
pub(super) enum Shape {
    Text(String),
    Whole(i64),
    Flag(bool),
    List(Vec<Node>),
    Table(BTreeMap<String, Node>),
    /// A value that no setting uses, such as a date.
    Other(&'static str),
}

impl Shape {
    /// What it is, for a message.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Whole(_) => "a whole number",
            Self::Flag(_) => "true or false",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Other(name) => name,
        }
    }
}

/// A value with its file, its line and column where known, and its key.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) file: Arc<str>,
    pub(super) place: Option<(usize, usize)>,
    pub(super) key: String,
    pub(super) shape: Shape,
}

/// The key of an entry, quoted where it is no bare word.
pub(super) fn child(parent: &str, name: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let dot = if parent.is_empty() { "" } else { "." };
    if !name.is_empty() && name.len() <= MAX_SHOWN && name.bytes().all(plain) {
        format!("{parent}{dot}{name}")
    } else {
        format!("{parent}{dot}\"{}\"", shown(name))
    }
}

impl Node {
    /// A finding at this place.
    pub(super) fn finding(
        &self,
        code: &'static str,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Finding {
        let (line, column) = self.place.unzip();
        Finding {
            file: self.file.to_string(),
            line,
            column,
            key: (!self.key.is_empty()).then(|| self.key.clone()),
            code,
            message: message.into(),
            remedy: remedy.into(),
        }
    }

    /// The entry of this name, where this is a table that has one.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        self.table()?.get(name)
    }

    pub(super) fn table(&self) -> Option<&Table> {
        match &self.shape {
            Shape::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.shape {
            Shape::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn flag(&self) -> Option<bool> {
        match &self.shape {
            Shape::Flag(flag) => Some(*flag),
            _ => None,
        }
    }

    pub(super) fn whole(&self) -> Option<u64> {
        match &self.shape {
            Shape::Whole(number) => u64::try_from(*number).ok(),
            _ => None,
        }
    }

    /// What one of a few words stands for.
    pub(super) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let text = self.text()?;
        words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value)
    }

    pub(super) fn list(&self) -> &[Self] {
        match &self.shape {
            Shape::List(list) => list,
            _ => &[],
        }
    }

    /// The texts of a list.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.list().iter().filter_map(Self::text)
    }
}
