//! Name and description as words.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_text::split;

use super::{Described, lexicon};

/// How much of a description is read, in characters.
const MAX_DESCRIPTION: usize = 2_000;
/// How many arguments are looked at.
const MAX_ARGUMENTS: usize = 256;

/// The words of a tool.
#[derive(Debug)]
pub(super) struct Phrase {
    /// The name, in lower case.
    pub(super) name: Vec<String>,
    /// The description, sentence by sentence.
    pub(super) sentences: Vec<Vec<String>>,
    /// The words of all names of arguments.
    pub(super) arguments: BTreeSet<String>,
}

impl Phrase {
    pub(super) fn of(tool: &Described<'_>) -> Self {
        let description = weaver_text::escape::truncate(tool.description, MAX_DESCRIPTION);
        let sentences = description.split(['.', ';', '\n', '!', ':', '(', ')']);
        let sentences = sentences.map(split::words).filter(|words| !words.is_empty()).collect();
        let names = names(tool.input).into_iter().take(MAX_ARGUMENTS);
        let arguments = names.flat_map(|name| split::identifier(&name)).collect();
        Self { name: split::identifier(tool.name), sentences, arguments }
    }

    /// The words of the name, and of the description's first sentence: what the tool is about.
    pub(super) fn nouns(&self) -> Vec<&str> {
        let first = self.sentences.first().into_iter().flatten();
        self.name.iter().chain(first).map(|word| lexicon::singular(word)).collect()
    }

    /// Whether the name or the first sentence has one of these, in the singular.
    pub(super) fn is_about(&self, nouns: &[&str]) -> bool {
        self.nouns().iter().any(|word| nouns.contains(word))
    }

    /// Whether the name has one of these, in the singular.
    pub(super) fn is_named(&self, nouns: &[&str]) -> bool {
        self.name.iter().any(|word| nouns.contains(&lexicon::singular(word)))
    }

    /// Whether any argument's name has one of these words, in the singular.
    pub(super) fn takes(&self, words: &[&str]) -> bool {
        self.arguments.iter().any(|word| words.contains(&lexicon::singular(word)))
    }
}

/// The names of the arguments.
pub(super) fn names(schema: Option<&Value>) -> Vec<String> {
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    properties.map(|all| all.keys().cloned().collect()).unwrap_or_default()
}

/// The arguments that a call must have; all that have no default where the schema does not say.
pub(super) fn required(schema: Option<&Value>) -> BTreeSet<String> {
    let Some(schema) = schema else { return BTreeSet::new() };
    if let Some(list) = schema.get("required").and_then(Value::as_array) {
        return list.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect();
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let optional = |member: &Value| member.get("default").is_some();
    let all = properties.into_iter().flatten();
    all.filter(|(_, member)| !optional(member)).map(|(name, _)| name.clone()).collect()
}
