//! Recognises tools that compute something from plain values: a hash, a date, a match of a pattern.
//!
//! Names such as `math`, `semver` or `regex` hold no verb. What shows that such a tool only computes
//! is what it is about, together with what it takes: values, and nothing that names a thing.

use super::action::{Classification, ToolAction};
use super::lexicon::singular;
use super::tool_text::ToolText;

/// What is computed.
const SUBJECTS: [&str; 27] = [
    "math", "arithmetic", "calculation", "calculator", "statistic", "regex", "regexp", "semver",
    "luhn", "checksum", "digit", "hash", "hmac", "uuid", "ulid", "nanoid", "base64", "hexadecimal",
    "cidr", "cron", "random", "placeholder", "json", "timestamp", "bcrypt", "palindrome", "prime",
];
/// The last words of the names of plain values.
const VALUES: [&str; 58] = [
    "input", "text", "string", "number", "value", "expression", "operation", "action", "date",
    "datetime", "time", "timestamp", "timezone", "unit", "amount", "type", "kind", "format",
    "flag", "pattern", "regex", "replacement", "count", "length", "size", "min", "max", "low",
    "high", "lower", "upper", "bound", "charset", "char", "symbol", "case", "indent", "separator",
    "precision", "algorithm", "encoding", "hash", "round", "byte", "ip", "cidr", "range",
    "version", "item", "base", "exponent", "cron", "digit", "group", "locale", "readable",
    "uppercase", "lowercase",
];
/// Verbs of names that make or look at a value.
const MAKES: [&str; 7] = ["generate", "format", "test", "match", "evaluate", "eval", "random"];
/// Verbs of descriptions that say what becomes of a text that is given.
const EDITS: [&str; 5] = ["replace", "generate", "format", "accept", "report"];

/// A tool about something computed, of which each argument is a plain value, computes.
pub(super) fn computes(found: &Classification, text: &ToolText) -> Option<Classification> {
    let all_values = text.argument_words.iter().all(|words| is_value(words));
    if is_arithmetic(text) {
        return Some(found.clone().with_action(ToolAction::Compute, "it computes from numbers"));
    }
    let is_about = || text.name.iter().chain(text.first_sentence()).any(|word| is_subject(word));
    if !is_open(found) || !all_values || text.argument_words.is_empty() || !is_about() {
        return None;
    }
    let only_makes = text.name.iter().all(|word| !super::verb::is_verb_of_change(word, &MAKES));
    only_makes.then(|| found.clone().with_action(ToolAction::Compute, "it computes from values"))
}

/// Whether it takes nothing but `a` and `b`, or a base and an exponent, and speaks of numbers.
fn is_arithmetic(text: &ToolText) -> bool {
    let is_operand = |words: &Vec<String>| match &words[..] {
        [word] => word.chars().count() == 1 || matches!(word.as_str(), "base" | "exponent"),
        _ => false,
    };
    text.argument_words.len() > 1
        && text.argument_words.iter().all(is_operand)
        && text.first_sentence().iter().any(|word| singular(word) == "number")
}

/// Whether what was found leaves open whether it is a computation.
fn is_open(found: &Classification) -> bool {
    let said = |word: &&str| {
        let (described, named) = (format!("description `{word}"), format!("name `{word}"));
        found.why.contains(&described) || found.why.contains(&named)
    };
    match found.action {
        ToolAction::Unknown => true,
        ToolAction::Write | ToolAction::AddToOwnData | ToolAction::Destroy => {
            found.is_vague() || EDITS.iter().any(said) || MAKES.iter().any(said)
        }
        _ => false,
    }
}

fn is_subject(word: &str) -> bool {
    SUBJECTS.contains(&singular(word))
}

/// Whether an argument is a plain value: `text`, `fromBase`, `input2`, `a`.
fn is_value(words: &[String]) -> bool {
    let mut named = words.iter().rev().filter(|word| word.chars().any(char::is_alphabetic));
    named.next().is_some_and(|word| word.chars().count() == 1 || VALUES.contains(&singular(word)))
}
