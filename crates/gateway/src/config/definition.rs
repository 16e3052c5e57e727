//! The keys of `weaver.toml`, defined once: the reader, the JSON Schema for editors and the
//! reference page come from these tables.
//!
//! [`Section::check`] goes over a parsed file once and notes every key that is unknown, of a wrong
//! type or out of range. What reads a section afterwards takes values as they are, and adds what
//! only meaning can show, such as a file that is missing.

mod json_schema;
mod keys;
mod reference;
mod server_keys;
mod tool_keys;

use weaver_policy::Finding;
use weaver_text::suggest;

pub use json_schema::json_schema;
pub(super) use keys::{ROOT, STORE};
pub use reference::reference;
pub(super) use server_keys::SERVERS;

use super::hint;
use super::node::{Node, Shape, shown};

/// What a key takes.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Text,
    Flag,
    /// A whole number, both bounds included.
    Whole(u64, u64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list with a maximum length.
    List(&'static Form, usize),
    /// A table with the keys of a section.
    Table(&'static Section),
    /// A table with names of the user's choice and a maximum number of entries.
    Map(&'static Form, usize),
    /// A text, or a table that is looked at elsewhere.
    TextOrTable,
}

/// A key of a section.
pub(super) struct Key {
    name: &'static str,
    form: Form,
    /// What holds where it is left out, as it would be written.
    default: Option<&'static str>,
    is_required: bool,
    /// What it says, in a sentence without a full stop.
    meaning: &'static str,
}

/// A table with known keys.
pub(super) struct Section {
    keys: &'static [Key],
}

/// A key that may be left out.
const fn key(name: &'static str, form: Form, meaning: &'static str) -> Key {
    Key { name, form, default: None, is_required: false, meaning }
}

impl Key {
    const fn or(self, default: &'static str) -> Self {
        Self { default: Some(default), ..self }
    }

    const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }
}

/// The words of a table of words and what they stand for.
const fn words<T: Copy, const N: usize>(table: &[(&'static str, T); N]) -> [&'static str; N] {
    let mut words = [""; N];
    let (mut from, mut to) = (table.as_slice(), words.as_mut_slice());
    while let ([(word, _), next @ ..], [place, places @ ..]) = (from, to) {
        *place = word;
        (from, to) = (next, places);
    }
    words
}

impl Section {
    /// Notes what is wrong with the form of a table: every key of it, at once.
    pub(super) fn check(&self, node: &Node, out: &mut Vec<Finding>) {
        let Shape::Table(table) = &node.shape else {
            out.push(wrong_type(node, "a table"));
            return;
        };
        for (name, value) in table {
            match self.keys.iter().find(|key| key.name == name) {
                Some(key) => key.form.check(value, out),
                None => out.push(self.unknown(name, value)),
            }
        }
    }

    fn unknown(&self, name: &str, node: &Node) -> Finding {
        if let Some(remedy) = hint::loosening(name) {
            let message =
                format!("`{}` cannot be set here: it could loosen a decision", shown(name));
            return node.finding("config.loosens", message, remedy);
        }
        let known = || self.keys.iter().map(|key| key.name);
        let remedy = match (hint::meant(name), suggest::nearest(name, known())) {
            (Some(hint), _) => hint.to_owned(),
            (None, Some(meant)) => format!("did you mean `{meant}`?"),
            (None, None) => format!("known here: {}", known().collect::<Vec<_>>().join(", ")),
        };
        node.finding("config.unknown_key", format!("unknown key `{}`", shown(name)), remedy)
    }
}

impl Form {
    /// Notes what is wrong with the form of a value.
    pub(super) fn check(&self, node: &Node, out: &mut Vec<Finding>) {
        match (self, &node.shape) {
            (Self::Text | Self::TextOrTable, Shape::Text(_))
            | (Self::TextOrTable, Shape::Table(_))
            | (Self::Flag, Shape::Flag(_)) => {}
            (Self::Whole(least, most), Shape::Whole(number)) => {
                if !u64::try_from(*number).is_ok_and(|number| (*least..=*most).contains(&number)) {
                    let message = format!("{number} is out of range");
                    let remedy = format!("write {}", self.name());
                    out.push(node.finding("config.range", message, remedy));
                }
            }
            (Self::Word(words), Shape::Text(text)) => {
                if !words.contains(&text.as_str()) {
                    out.push(unknown_word(node, text, words));
                }
            }
            (Self::List(item, most), Shape::List(list)) => {
                check_size(node, list.len(), *most, out);
                list.iter().take(*most).for_each(|node| item.check(node, out));
            }
            (Self::Map(value, most), Shape::Table(table)) => {
                check_size(node, table.len(), *most, out);
                table.values().take(*most).for_each(|node| value.check(node, out));
            }
            (Self::Table(section), _) => section.check(node, out),
            _ => out.push(wrong_type(node, &self.name())),
        }
    }

    /// What to write, for a message.
    fn name(&self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Whole(least, most) => format!("a whole number from {least} to {most}"),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::List(..) => "a list".to_owned(),
            Self::Table(_) | Self::Map(..) => "a table".to_owned(),
            Self::TextOrTable => "a text or a table".to_owned(),
        }
    }
}

fn wrong_type(node: &Node, wanted: &str) -> Finding {
    let message = format!("this is {}, not {wanted}", node.shape.name());
    node.finding("config.type", message, format!("write {wanted}"))
}

fn unknown_word(node: &Node, text: &str, words: &[&str]) -> Finding {
    let remedy = match suggest::nearest(text, words.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("write one of {}", words.join(", ")),
    };
    node.finding("config.word", format!("`{}` is not known here", shown(text)), remedy)
}

fn check_size(node: &Node, found: usize, most: usize, out: &mut Vec<Finding>) {
    if found > most {
        let message = format!("{found} entries, at most {most} are allowed");
        out.push(node.finding("config.range", message, "remove what is not needed"));
    }
}

/// Sections with the path that leads to each, in the order in which the file has them. A path
/// through free names has `NAME` in their place; a section that several keys share stands once.
fn sections() -> Vec<(String, &'static Section)> {
    fn add(path: String, section: &'static Section, all: &mut Vec<(String, &'static Section)>) {
        if all.iter().any(|(_, known)| std::ptr::eq(*known, section)) {
            return;
        }
        all.push((path.clone(), section));
        let dot = if path.is_empty() { "" } else { "." };
        for key in section.keys {
            let below = format!("{path}{dot}{}", key.name);
            match &key.form {
                Form::Table(section) => add(below, section, all),
                Form::Map(Form::Table(section), _) => add(format!("{below}.NAME"), section, all),
                Form::List(Form::Table(section), _) => add(format!("{below}[]"), section, all),
                _ => {}
            }
        }
    }
    let mut all = Vec::new();
    add(String::new(), &ROOT, &mut all);
    all
}
