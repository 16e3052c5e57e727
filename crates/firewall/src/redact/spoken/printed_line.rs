//! The line below a command that shows a secret: `$ bw get password wiki`.

use std::ops::Range;

use super::grammar;
use crate::redact::secrets::{is_secret_text, secret_name};
use crate::redact::validators::{is_joined_words, looks_like_password, words};

/// The longest command that is read, and the longest line below it, in bytes.
const MAX_COMMAND_BYTES: usize = 160;
/// What a shell puts before a command.
const PROMPTS: [&str; 2] = ["$ ", "❯ "];

/// Words of commands that print what they name.
const PRINTING: &[&str] = words![
    "get" "show" "read" "cat" "print" "reveal" "view" "access" "fetch" "lookup" "find" "export" "output" "decrypt" "head" "tail"
    "less" "jq" "yq" "-w" "-o" "--reveal" "--show" "--query" "--raw" "-raw" "-s" "nvram" "uci" "describe" "value" "dump"
];
/// Programs whose commands name passwords and print something else, such as commits.
const OTHER_PROGRAMS: &[&str] = words![
    "git" "hg" "svn" "gh" "ls" "cd" "grep" "rg" "find" "npm" "pip" "cargo" "docker" "make" "vim" "vi" "nano" "code" "man" "curl"
];

/// What a command prints that is known to show a secret.
pub(super) fn of_known_command(text: &str, label: Range<usize>, end: usize) -> Option<Range<usize>> {
    let command = grammar::line_before(text, label.end, MAX_COMMAND_BYTES);
    // A commit has the form of a key that was drawn.
    let is_drawn = ["rand", "genkey", "get-key"].iter().any(|word| command.contains(word));
    let value = line_below(text, label.end, end)?;
    let has_prompt = PROMPTS.iter().any(|prompt| command.contains(prompt));
    (has_prompt && is_password(text.get(value.clone())?, is_drawn)).then_some(value)
}

/// What a command prints of whose words one names a secret: `$ consul kv get app/db/password`.
pub(super) fn of_named_secret(text: &str, label: Range<usize>, end: usize) -> Option<Range<usize>> {
    let lead = grammar::line_before(text, label.end, MAX_COMMAND_BYTES);
    let prompt = PROMPTS.iter().find_map(|prompt| lead.find(prompt).map(|at| at + prompt.len()))?;
    let rest = grammar::line_after(text, label.end, MAX_COMMAND_BYTES);
    let command = text.get(label.end - lead.len() + prompt..label.end + rest.len())?;
    let mut words = command.split_ascii_whitespace().skip_while(|word| *word == "sudo");
    let program = words.next()?.rsplit('/').next()?;
    let prints = words.clone().any(|word| PRINTING.contains(&word)) || PRINTING.contains(&program);
    if !prints || OTHER_PROGRAMS.contains(&program) || !words.any(names_secret) {
        return None;
    }
    let value = line_below(text, label.end + rest.len(), end)?;
    if text.get(value.clone()).is_some_and(|line| command.contains(line)) {
        // The name of what is shown is printed first.
        let value = line_below(text, value.end, end)?;
        return is_password(text.get(value.clone())?, true).then_some(value);
    }
    is_password(text.get(value.clone())?, true).then_some(value)
}

/// True for a word of a command whose last part is the name of a secret: `app/db/password`,
/// `--field=token`, `802-11-wireless-security.psk`. A flag alone takes a value.
fn names_secret(word: &str) -> bool {
    let last = word.trim_matches(['"', '\'', '}', '{']).rsplit(['/', '=', '.', ':']).next();
    let last = last.unwrap_or_default();
    !last.starts_with('-')
        && (last == "psk" || secret_name::secret_kind(last.as_bytes()).is_some())
}

/// The line below, if nothing but one word is in it.
fn line_below(text: &str, at: usize, end: usize) -> Option<Range<usize>> {
    let start = at + text.get(at..end)?.find('\n')? + 1;
    let line = grammar::line_after(text, start, MAX_COMMAND_BYTES).trim_end_matches('\r');
    let ends = |c: char| c.is_whitespace() || "<>()[]{}|\"'`,;".contains(c);
    (!line.is_empty() && !line.contains(ends)).then(|| start..start + line.len())
}

fn is_password(line: &str, may_be_hexadecimal: bool) -> bool {
    let is_hexadecimal = line.bytes().all(|b| b.is_ascii_hexdigit()) && !may_be_hexadecimal;
    let is_chosen = looks_like_password(line) || is_joined_words(line);
    let is_drawn = is_secret_text(line, secret_name::SecretKind::Secret);
    !is_hexadecimal && !grammar::is_no_value(line) && (is_chosen || is_drawn)
}
