//! Recognises the beginning of an SQL statement that changes something, in whatever text.

use super::super::is_listed;

/// How many words of a statement are looked at.
const MAX_WORDS: usize = 64;
/// What a statement makes, changes or takes away.
const OBJECTS: &str = "\
    collection column constraint database domain event extension function index keyspace login \
    policy procedure publication role rule schema sequence server subscription trigger type user \
    view";
/// Words between the verb and what it is about.
const BETWEEN: &str = "\
    or replace temp temporary unique materialized external foreign if exists not concurrently \
    global local unlogged virtual";
/// Words of a sentence, where a statement has a name.
const OF_SENTENCES: &str = "\
    a an and as at by does fails for from in is my of on that the this to using via when with \
    without";

/// Whether a text, or a part of it behind a `;`, begins like such a statement.
pub(super) fn holds_change(text: &str) -> bool {
    text.split(';').any(begins_like_change)
}

fn begins_like_change(part: &str) -> bool {
    const VERBS: &str = "\
        alter attach call copy create delete drop exec execute grant insert load merge replace \
        truncate update";
    let part = skip_blank(part);
    let length = part.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(part.len());
    let (Some(verb), Some(rest)) = (part.get(..length), part.get(length..)) else { return false };
    let verb = verb.to_ascii_lowercase();
    if !is_listed(&verb, &[VERBS]) || rest.starts_with(['_', '-', ':', '=']) {
        return false;
    }
    let tokens = tokens(rest);
    is_change(&verb, &tokens)
}

fn is_change(verb: &str, tokens: &[String]) -> bool {
    let at = |n: usize| tokens.get(n).map_or("", String::as_str);
    let has = |words: &[&str]| tokens.iter().any(|token| words.contains(&token.as_str()));
    let is_name = |token: &str| {
        let begins = token.starts_with(|c: char| c.is_alphanumeric() || "_\"`[@#$*".contains(c));
        begins && !is_listed(token, &[OF_SENTENCES])
    };
    match verb {
        "delete" => at(0) == "from" && is_name(at(1)) || at(0) == "data" && at(1) == "{",
        "insert" => matches!(at(0), "into" | "overwrite") && is_name(at(1)) || at(0) == "or",
        "replace" | "merge" => at(0) == "into" && is_name(at(1)),
        "update" => is_name(at(0)) && has(&["set"]) && has(&["="]),
        "truncate" => at(0) == "table" && is_name(at(1)) || tokens.len() == 1 && is_name(at(0)),
        "copy" => has(&["from", "to"]) && has(&["'", "\"", "stdin", "stdout", "program", "@"]),
        "load" => {
            at(0) == "extension"
                || at(0) == "'"
                || at(0) == "data" && has(&["infile", "inpath", "local"])
                || matches!(at(0), "csv" | "from") && has(&["'", "\""])
        }
        "call" => is_name(at(0)) && (at(1) == "(" || at(1) == "." && has(&["("])),
        "exec" | "execute" => {
            at(0) == "immediate"
                || ["sp_", "xp_"].iter().any(|own| at(0).starts_with(own))
                || at(0) == "("
                || is_name(at(0)) && matches!(at(1), "(" | "'" | "@")
        }
        "grant" => has(&["on", "to"]) && is_name(at(0)) && !has(&["how"]) && tokens.len() <= 16,
        "attach" => at(0) == "'" || at(0) == "database",
        "create" | "alter" | "drop" => {
            let between = tokens.iter().take_while(|token| is_listed(token, &[BETWEEN])).count();
            let object = at(between);
            let after = tokens.get(between.saturating_add(1)..).unwrap_or_default();
            let mut named = after.iter().skip_while(|token| is_listed(token, &[BETWEEN]));
            let is_named = named.next().is_some_and(|name| is_name(name));
            let is_defined = verb != "create" || has(&["(", "as", "like"]);
            is_named && (is_listed(object, &[OBJECTS]) || object == "table" && is_defined)
        }
        _ => false,
    }
}

/// Skips white space, brackets and comments.
fn skip_blank(mut text: &str) -> &str {
    loop {
        let mut rest = text.trim_start_matches(|c: char| {
            c.is_whitespace() || c.is_control() || matches!(c, '(' | '\u{feff}' | '\u{200b}')
        });
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, rest)| rest);
        } else if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.split_once('\n').map_or("", |(_, rest)| rest);
        }
        if rest.len() == text.len() {
            return rest;
        }
        text = rest;
    }
}

/// The first words and marks of a text, in lower case, without comments.
fn tokens(mut text: &str) -> Vec<String> {
    let is_word = |c: char| c == '_' || c.is_alphanumeric();
    let mut found = Vec::new();
    while found.len() < MAX_WORDS {
        text = text.trim_start_matches(|c: char| c.is_whitespace() || c.is_control());
        if let Some(comment) = text.strip_prefix("/*") {
            text = comment.split_once("*/").map_or("", |(_, rest)| rest);
            continue;
        }
        let Some(first) = text.chars().next() else { break };
        let length = match is_word(first) {
            true => text.find(|c: char| !is_word(c)).unwrap_or(text.len()),
            false => first.len_utf8(),
        };
        let (Some(token), Some(rest)) = (text.get(..length), text.get(length..)) else { break };
        found.push(token.to_lowercase());
        text = rest;
    }
    found
}
