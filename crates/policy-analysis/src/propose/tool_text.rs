//! Splits the name, description and arguments of a tool into words.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_text::split;
use weaver_types::JsonPointer;

use super::argument::Argument;
use super::service_name::named_service;
use super::{ToolDescription, file_output, lexicon, listed_operations};

/// The maximum length of a description that is read, in characters.
const MAX_DESCRIPTION: usize = 2_000;
/// The maximum number of arguments that are read.
const MAX_ARGUMENTS: usize = 256;

/// Argument names for local paths.
const PATH_ARGUMENTS: [&str; 8] =
    ["path", "filename", "directory", "folder", "dir", "cwd", "filepath", "dirname"];

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
    /// The words of each argument's name.
    pub(super) argument_words: Vec<Vec<String>>,
    /// Whether an argument is a path on a disk: `file_path`, and not `folder_id`.
    pub(super) takes_path: bool,
    /// Whether every call saves something in a file, or may replace one.
    pub(super) saves_file: bool,
    /// Whether it takes a list of operations of which one takes something away.
    pub(super) lists_destroying: bool,
    /// Whether a switch takes away what the tool reads.
    pub(super) has_destroying_switch: bool,
    /// Whether an argument sends or publishes what the tool only seems to put down.
    pub(super) sends_what_is_put_down: bool,
    /// The arguments that name who gets something.
    pub(super) receivers: Vec<String>,
    /// The service that the first sentence names, if it names one.
    pub(super) service: Option<String>,
    /// Whether its server works on documents that lie on this machine.
    pub(super) is_document: bool,
    /// Whether its server keeps what it has in files of this machine.
    pub(super) keeps_files: bool,
}

impl ToolText {
    pub(super) fn new(tool: &ToolDescription<'_>) -> Self {
        let description = weaver_text::escape::truncate(tool.description, MAX_DESCRIPTION);
        let description = without_argument_documentation(description);
        // A line that starts in lower case continues the previous line.
        let description = join_wrapped_lines(&description);
        let service = named_service(&description);
        // What other tools and their arguments are called says nothing of this one.
        let description = without_identifiers(&description);
        let sentences = sentences(&description);
        let names = argument_names(tool.input).into_iter().take(MAX_ARGUMENTS);
        let (mut arguments, mut non_path_arguments) = (BTreeSet::new(), BTreeSet::new());
        let (mut argument_words, mut receivers) = (Vec::new(), Vec::new());
        for name in names {
            let words = split::identifier(&name);
            let path = words.last().is_some_and(|last| matches!(last.as_str(), "path" | "paths"));
            // What a switch is about is no place: `validate_repo`.
            if !path && !is_switch(&name, tool.input) {
                non_path_arguments.extend(without_purpose(&words).cloned());
            }
            if names_receiver(&name, &words, tool.input) {
                receivers.push(name);
            }
            arguments.extend(without_purpose(&words).cloned());
            argument_words.push(words);
        }
        let is_path = |words: &Vec<String>| {
            words.last().is_some_and(|word| PATH_ARGUMENTS.contains(&lexicon::singular(word)))
        };
        let takes_path = argument_words.iter().any(is_path);
        let title = split::words(tool.title);
        let all = all_arguments(tool.input);
        Self {
            name: split::identifier(tool.name),
            title,
            sentences,
            arguments,
            non_path_arguments,
            argument_words,
            takes_path,
            saves_file: file_output::is_always_saved(tool.input),
            lists_destroying: listed_operations::lists_destroying(&all),
            has_destroying_switch: listed_operations::has_destroying_switch(&all),
            sends_what_is_put_down: listed_operations::sends_what_is_put_down(&all),
            receivers,
            service,
            is_document: tool.is_of_documents(),
            keeps_files: tool.server.keeps_files(),
        }
    }

    /// The words of the name, and of the description's first sentence: what the tool is about.
    pub(super) fn nouns(&self) -> Vec<&str> {
        let first = self.sentences.first().into_iter().flatten();
        self.name.iter().chain(first).map(|word| lexicon::singular(word)).collect()
    }

    /// The words of the description's first sentence.
    pub(super) fn first_sentence(&self) -> &[String] {
        self.sentences.first().map(Vec::as_slice).unwrap_or_default()
    }

    /// The last word of each argument's name, in the singular: what the argument is.
    pub(super) fn last_words(&self) -> impl Iterator<Item = &str> {
        self.argument_words
            .iter()
            .filter_map(|words| words.last())
            .map(|word| lexicon::singular(word))
    }

    /// Whether the name contains one of these words as it stands.
    pub(super) fn names_verb(&self, verbs: &[&str]) -> bool {
        self.name.iter().any(|word| verbs.contains(&word.as_str()))
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

/// The words of each sentence. What a parenthesis says of a thing that is read (`standard (adds the
/// notes)`) is no sentence.
fn sentences(description: &str) -> Vec<Vec<String>> {
    const OF_ANSWERS: [&str; 4] = ["adds", "includes", "creates", "stores"];
    let mut out = Vec::new();
    let mut rest = description;
    let mut is_aside = false;
    loop {
        let end = rest.find(['.', ';', '\n', '!', ':', '(', ')']).unwrap_or(rest.len());
        let (sentence, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let words = split::words(sentence);
        let is_of_answer =
            is_aside && words.first().is_some_and(|word| OF_ANSWERS.contains(&word.as_str()));
        if !words.is_empty() && !is_of_answer {
            out.push(words);
        }
        let mut left = after.chars();
        match left.next() {
            Some(delimiter) => is_aside = delimiter == '(',
            None => return out,
        }
        rest = left.as_str();
    }
}

/// Whether an argument is a switch.
fn is_switch(name: &str, schema: Option<&Value>) -> bool {
    let member = schema.and_then(|schema| schema.get("properties")?.get(name));
    member.and_then(|member| member.get("type")).is_some_and(|kind| kind == "boolean")
}

/// The words of an argument's name but a `to` that says what is done to things, and names nobody:
/// `files_to_stage`.
fn without_purpose(words: &[String]) -> impl Iterator<Item = &String> {
    const THINGS: [&str; 9] =
        ["file", "path", "line", "row", "column", "page", "sheet", "cell", "commit"];
    let is_thing = |word: &String| THINGS.contains(&lexicon::singular(word));
    let begins = |two: &[String]| matches!(two, [thing, to] if is_thing(thing) && to == "to");
    let purpose = words.windows(2).position(begins).map(|at| at.saturating_add(1));
    let purpose = purpose.filter(|at| at.saturating_add(1) < words.len());
    words.iter().enumerate().filter(move |(at, _)| Some(*at) != purpose).map(|(_, word)| word)
}

/// Whether an argument names who gets something, by its name, its format or its description.
fn names_receiver(name: &str, words: &[String], schema: Option<&Value>) -> bool {
    const RECEIVERS: [&str; 16] = [
        "recipient", "receiver", "addressee", "cc", "bcc", "email", "mail", "sms", "phone",
        "msisdn", "correo", "destinatario", "destinataire", "courriel", "empfaenger", "empfänger",
    ];
    let last = words.last().map(|word| lexicon::singular(word)).unwrap_or_default();
    let is_email = |word: &String| matches!(word.as_str(), "email" | "mail" | "phone");
    if RECEIVERS.contains(&last)
        || matches!(last, "address" | "number") && words.iter().any(is_email)
    {
        return true;
    }
    let Some(member) = schema.and_then(|schema| schema.get("properties")?.get(name)) else {
        return false;
    };
    let described = member.get("description").and_then(Value::as_str).unwrap_or_default();
    let described = split::words(weaver_text::escape::truncate(described, MAX_DESCRIPTION));
    let opening: Vec<&str> = described.iter().map(String::as_str).take(3).collect();
    member.get("format").and_then(Value::as_str) == Some("email")
        || matches!(opening[..], ["recipient", ..] | ["email" | "mail", "address", ..])
        || matches!(opening[..], ["e", "mail", "address"])
}

/// The text without the sections about arguments and results, as they stand in the documentation of
/// a function: from `Args:` to the next empty line. Their words do not say what the tool does.
fn without_argument_documentation(text: &str) -> String {
    const HEADINGS: [&str; 12] = [
        "args:", "arguments:", "parameters:", "params:", "returns:", "return:", "raises:",
        "yields:", "example:", "examples:", "notes on arguments:", "attributes:",
    ];
    let mut out = String::with_capacity(text.len());
    let mut is_inside = false;
    for line in text.lines() {
        let start = line.trim().to_lowercase();
        if HEADINGS.iter().any(|heading| start.starts_with(heading)) {
            is_inside = true;
        } else if start.is_empty() {
            is_inside = false;
        }
        // A description may consist of nothing else.
        if !is_inside || out.trim().is_empty() {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// The text with a word in place of each identifier (`send_email`, `can_send=true`), the parts of which
/// are no words of the sentence.
fn without_identifiers(text: &str) -> String {
    let is_edge = |c: char| !c.is_alphanumeric() && c != '_';
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive(char::is_whitespace) {
        let inner = word.trim_matches(is_edge);
        match word.split_once(inner) {
            Some((before, after)) if inner.contains('_') && !inner.contains(['/', '.', ',']) => {
                out.extend([before, "name", after]);
            }
            _ => out.push_str(word),
        }
    }
    out
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

/// Whether a word says that something is a file of this machine.
pub(super) fn is_local_word(word: &str) -> bool {
    matches!(lexicon::singular(word), "file" | "local" | "disk" | "filesystem")
}

/// What the words of an argument say.
impl Argument<'_> {
    /// Whether it is a switch that says whether another argument is an address: `is_url`.
    pub(super) fn says_address(&self) -> bool {
        let first = self.words.first().map(String::as_str);
        let last = self.words.last().map(|word| lexicon::singular(word));
        self.is_boolean()
            && matches!(first, Some("is" | "as" | "from" | "use" | "fetch"))
            && last.is_some_and(|word| lexicon::ADDRESS_ARGUMENTS.contains(&word))
    }

    /// Whether it is itself an address: `url`.
    pub(super) fn names_address(&self) -> bool {
        let last = self.words.last().map(|word| lexicon::singular(word));
        !self.is_boolean() && last.is_some_and(|word| lexicon::ADDRESS_ARGUMENTS.contains(&word))
    }

    /// Whether its description says that it is about a file, or something else of this machine.
    pub(super) fn describes_file(&self) -> bool {
        let text = self.description();
        split::words(text).iter().any(|word| is_local_word(word))
    }
}

/// All arguments and their members, each with its place. References are not followed.
pub(super) fn all_arguments(schema: Option<&Value>) -> Vec<Argument<'_>> {
    const MAX_DEPTH: usize = 4;
    let mut found = Vec::new();
    let mut left: Vec<(&Value, String, usize)> =
        schema.into_iter().map(|schema| (schema, String::new(), 0)).collect();
    while let Some((schema, at, depth)) = left.pop() {
        let required = required_arguments(Some(schema));
        let has_list = schema.get("required").is_some_and(Value::is_array);
        let members = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        for (name, member) in members.take(MAX_ARGUMENTS) {
            let place = format!("{at}{}", pointer_text(name));
            let Ok(pointer) = JsonPointer::parse(&place) else { continue };
            if depth < MAX_DEPTH && found.len() < MAX_ARGUMENTS {
                let below = depth.saturating_add(1);
                left.push((member, place.clone(), below));
                left.extend(member.get("items").map(|items| (items, format!("{place}/*"), below)));
            }
            found.push(Argument {
                name,
                words: split::identifier(name),
                at: pointer,
                depth,
                required: required.contains(name),
                listed_as_required: has_list && required.contains(name),
                schema: member,
            });
        }
    }
    found
}

/// The place of an argument with this name.
pub(super) fn pointer(name: &str) -> Option<JsonPointer> {
    JsonPointer::parse(&pointer_text(name)).ok()
}

fn pointer_text(name: &str) -> String {
    format!("/{}", JsonPointer::escape_step(name))
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
