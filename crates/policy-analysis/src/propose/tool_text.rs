//! Splits the name, description and arguments of a tool into words.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_text::split;

use super::{ToolDescription, lexicon};

/// The maximum length of a description that is read, in characters.
const MAX_DESCRIPTION: usize = 2_000;
/// The maximum number of arguments that are read.
const MAX_ARGUMENTS: usize = 256;

/// The words of a tool.
#[derive(Debug)]
pub(super) struct ToolText {
    /// The name, in lower case.
    pub(super) name: Vec<String>,
    /// The description, sentence by sentence.
    pub(super) sentences: Vec<Vec<String>>,
    /// The title, in lower case.
    pub(super) title: Vec<String>,
    /// The words of all names of arguments.
    pub(super) arguments: BTreeSet<String>,
    /// The words of argument names that are not paths.
    pub(super) non_path_arguments: BTreeSet<String>,
    /// The service that the first sentence names, if it names one.
    pub(super) service: Option<String>,
}

impl ToolText {
    pub(super) fn new(tool: &ToolDescription<'_>) -> Self {
        let description = weaver_text::escape::truncate(tool.description, MAX_DESCRIPTION);
        // A line that starts in lower case continues the previous line.
        let description = join_wrapped_lines(description);
        let service = named_service(&description);
        let sentences = description.split(['.', ';', '\n', '!', ':', '(', ')']);
        let sentences = sentences.map(split::words).filter(|words| !words.is_empty()).collect();
        let names = argument_names(tool.input).into_iter().take(MAX_ARGUMENTS);
        let (mut arguments, mut non_path_arguments) = (BTreeSet::new(), BTreeSet::new());
        for words in names.map(|name| split::identifier(&name)) {
            let path = words.last().is_some_and(|last| matches!(last.as_str(), "path" | "paths"));
            if !path {
                non_path_arguments.extend(words.iter().cloned());
            }
            arguments.extend(words);
        }
        let title = split::words(tool.title);
        Self {
            name: split::identifier(tool.name),
            title,
            sentences,
            arguments,
            non_path_arguments,
            service,
        }
    }

    /// The words of the name, and of the description's first sentence: what the tool is about.
    pub(super) fn nouns(&self) -> Vec<&str> {
        let first = self.sentences.first().into_iter().flatten();
        self.name.iter().chain(first).map(|word| lexicon::singular(word)).collect()
    }

    /// Whether the name or the first sentence contains one of these singular nouns.
    pub(super) fn is_about(&self, nouns: &[&str]) -> bool {
        self.nouns().iter().any(|word| nouns.contains(word))
    }

    /// Whether the name contains one of these singular nouns.
    pub(super) fn is_named(&self, nouns: &[&str]) -> bool {
        self.name.iter().any(|word| nouns.contains(&lexicon::singular(word)))
    }

    /// Whether the first sentence says that the tool only reads.
    pub(super) fn says_read_only(&self) -> bool {
        let first = self.sentences.first().into_iter();
        first.flat_map(|words| words.windows(2)).any(|two| two == ["read", "only"])
    }

    /// Whether an argument takes a program.
    pub(super) fn takes_program(&self) -> bool {
        self.takes(&["sql", "statement", "cypher", "script", "code", "command", "shell"])
    }

    /// Whether the name of an argument contains one of these singular words.
    pub(super) fn takes(&self, words: &[&str]) -> bool {
        self.arguments.iter().any(|word| words.contains(&lexicon::singular(word)))
    }
}

/// The text with wrapped lines joined.
fn join_wrapped_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let goes_on = line.trim_start().starts_with(|c: char| c.is_lowercase());
        out.push(if goes_on { ' ' } else { '\n' });
        out.push_str(line);
    }
    out
}

/// A proper name within the first sentence that is not a file format or local program.
fn named_service(text: &str) -> Option<String> {
    const LOCAL: [&str; 14] = [
        "git", "sqlite", "json", "markdown", "python", "javascript", "docker", "excel", "duckdb",
        "unix", "linux", "windows", "base64", "utf",
    ];
    let first = text.trim_start().split(['.', '\n']).next()?;
    let words = first.split_whitespace().skip(1);
    let named = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let mut named = named.filter(|word| {
        let mut letters = word.chars();
        letters.next().is_some_and(char::is_uppercase)
            && letters.any(char::is_lowercase)
            && !LOCAL.contains(&word.to_lowercase().as_str())
    });
    named.next().map(str::to_owned)
}

/// The names of the arguments.
pub(super) fn argument_names(schema: Option<&Value>) -> Vec<String> {
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    properties.map(|all| all.keys().cloned().collect()).unwrap_or_default()
}

/// The names of all properties that stand anywhere in the schema: in definitions, alternatives and
/// items too.
pub(super) fn all_property_names(schema: Option<&Value>) -> BTreeSet<&str> {
    const MAX_SCHEMAS: usize = 10_000;
    let mut found = BTreeSet::new();
    let mut left: Vec<&Value> = schema.into_iter().collect();
    for _ in 0..MAX_SCHEMAS {
        match left.pop() {
            Some(Value::Object(members)) => {
                let properties = members.get("properties").and_then(Value::as_object);
                found.extend(properties.into_iter().flat_map(|all| all.keys().map(String::as_str)));
                left.extend(members.values());
            }
            Some(Value::Array(items)) => left.extend(items),
            Some(_) => {}
            None => break,
        }
    }
    found
}

/// The required arguments. If the schema does not say, all arguments without a default.
pub(super) fn required_arguments(schema: Option<&Value>) -> BTreeSet<String> {
    let Some(schema) = schema else { return BTreeSet::new() };
    if let Some(list) = schema.get("required").and_then(Value::as_array) {
        return list.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect();
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let optional = |member: &Value| member.get("default").is_some();
    let all = properties.into_iter().flatten();
    all.filter(|(_, member)| !optional(member)).map(|(name, _)| name.clone()).collect()
}
