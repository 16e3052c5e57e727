//! Finds the places that a call names in two arguments: a folder, or a file, and a name beside it.
//!
//! A rename takes a path and a new name, and some writes take a folder and a title. Which of its
//! arguments a tool puts together is its own affair, so every text that could be a file name is read
//! as one in every folder of the call.

use serde_json::Value;
use weaver_text::split;

use super::is_listed;
use crate::critical::names_content;

/// The longest name that file systems take, in bytes.
const MAX_NAME_BYTES: usize = 255;
/// How many places of one call are tested; a call with more counts as one that may lead anywhere.
const MAX_PLACES: usize = 4_096;
/// What bounds a search or names a kind of file.
const KIND_WORDS: &str = "\
    extension extensions ext suffix prefix pattern patterns glob filter query include exclude \
    ignore format type selector";
/// What names a thing, whatever stands before it, though a name is a text for people too.
const NAME_WORDS: [&str; 6] = ["name", "names", "title", "new", "slug", "basename"];

/// Whether a text in an argument of this name could be the name of a file, or a path below a folder:
/// short, without white space, with a dot or a slash.
fn could_be_file_name(name: &str, text: &str) -> bool {
    let words = split::identifier(name);
    let last = words.last().map(String::as_str).unwrap_or_default();
    let is_named = NAME_WORDS.contains(&last);
    (is_named || !names_content(name) && !is_listed(last, &[KIND_WORDS]))
        && text.len() <= MAX_NAME_BYTES
        && text.contains(['.', '/', '\\'])
        && !text.contains(|one: char| one.is_whitespace() || one.is_control())
        && !text.contains("://")
}

/// The texts of a call that matter here.
#[derive(Default)]
struct NamedTexts<'a> {
    paths: Vec<&'a str>,
    names: Vec<&'a str>,
}

impl<'a> NamedTexts<'a> {
    /// Takes up to [`MAX_PLACES`] of each; the search for paths bounds how deep a value is.
    fn read(&mut self, name: &str, value: &'a Value, is_path: fn(&str, &str) -> bool) {
        match value {
            Value::String(text) => {
                let list = if is_path(name, text) {
                    Some(&mut self.paths)
                } else if could_be_file_name(name, text.trim()) {
                    Some(&mut self.names)
                } else {
                    None
                };
                if let Some(list) = list.filter(|list| list.len() <= MAX_PLACES) {
                    list.push(text.trim());
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.read(name, item, is_path)),
            Value::Object(members) => {
                members.iter().for_each(|(name, value)| self.read(name, value, is_path));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Whether every place passes the test that a name of the call has in a folder of it, or beside a
/// file of it. The value must not be nested deeper than the search for paths goes.
pub(super) fn all_named_places_satisfy(
    value: &Value,
    is_path: fn(&str, &str) -> bool,
    holds: &dyn Fn(&str) -> bool,
) -> bool {
    let mut texts = NamedTexts::default();
    texts.read("", value, is_path);
    let NamedTexts { paths, names } = texts;
    paths.len().saturating_mul(names.len()) <= MAX_PLACES
        && names.iter().all(|name| {
            paths.iter().all(|path| {
                let folder = path.trim_end_matches(['/', '\\']);
                let parent = folder.rsplit_once(['/', '\\']).map_or("", |(parent, _)| parent);
                [folder, parent].iter().all(|folder| match *folder {
                    "" => holds(name),
                    folder => holds(&[folder, "/", name].concat()),
                })
            })
        })
}
