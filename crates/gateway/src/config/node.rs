//! A configuration as a tree in which every value knows its file, line and column; TOML or JSON.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use weaver_policy::Finding;
use weaver_text::{escape, suggest};

use super::hint;

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
    fn name(&self) -> &'static str {
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

    fn wrong_type(&self, wanted: &str, out: &mut Vec<Finding>) {
        let message = format!("this is {}, not {wanted}", self.shape.name());
        out.push(self.finding("config.type", message, format!("write {wanted}")));
    }

    /// The entries of a table with free names.
    pub(super) fn table(&self, out: &mut Vec<Finding>) -> Option<&BTreeMap<String, Self>> {
        match &self.shape {
            Shape::Table(table) => Some(table),
            _ => {
                self.wrong_type("a table", out);
                None
            }
        }
    }

    /// The entries of a table, after noting every name that is not among `known`.
    pub(super) fn section(
        &self,
        known: &[&str],
        out: &mut Vec<Finding>,
    ) -> Option<&BTreeMap<String, Self>> {
        let table = self.table(out)?;
        for (name, node) in table.iter().filter(|(name, _)| !known.contains(&name.as_str())) {
            out.push(node.unknown(name, known));
        }
        Some(table)
    }

    fn unknown(&self, name: &str, known: &[&str]) -> Finding {
        if let Some(remedy) = hint::loosening(name) {
            let message =
                format!("`{}` cannot be set here: it could loosen a decision", shown(name));
            return self.finding("config.loosens", message, remedy);
        }
        let remedy = match hint::meant(name) {
            Some(hint) => hint.to_owned(),
            None => match suggest::nearest(name, known.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("known here: {}", known.join(", ")),
            },
        };
        self.finding("config.unknown_key", format!("unknown key `{}`", shown(name)), remedy)
    }

    pub(super) fn text(&self, out: &mut Vec<Finding>) -> Option<&str> {
        match &self.shape {
            Shape::Text(text) => Some(text),
            _ => {
                self.wrong_type("text", out);
                None
            }
        }
    }

    pub(super) fn flag(&self, out: &mut Vec<Finding>) -> Option<bool> {
        match &self.shape {
            Shape::Flag(flag) => Some(*flag),
            _ => {
                self.wrong_type("true or false", out);
                None
            }
        }
    }

    pub(super) fn whole(&self, range: RangeInclusive<u64>, out: &mut Vec<Finding>) -> Option<u64> {
        let wanted = format!("a whole number from {} to {}", range.start(), range.end());
        match &self.shape {
            Shape::Whole(number) => {
                let found = u64::try_from(*number).ok().filter(|number| range.contains(number));
                if found.is_none() {
                    let message = format!("{number} is out of range");
                    out.push(self.finding("config.range", message, format!("write {wanted}")));
                }
                found
            }
            _ => {
                self.wrong_type(&wanted, out);
                None
            }
        }
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(&self, words: &[(&str, T)], out: &mut Vec<Finding>) -> Option<T> {
        let text = self.text(out)?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let remedy = match suggest::nearest(text, names.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("write one of {}", names.join(", ")),
        };
        let message = format!("`{}` is not known here", shown(text));
        out.push(self.finding("config.word", message, remedy));
        None
    }

    /// The entries of a list.
    pub(super) fn list(&self, out: &mut Vec<Finding>) -> &[Self] {
        match &self.shape {
            Shape::List(list) => list,
            _ => {
                self.wrong_type("a list", out);
                &[]
            }
        }
    }
}
