//! The line below a command that shows a secret: `$ bw get password wiki`.

use std::ops::Range;

use super::grammar;
use crate::redact::secrets::{
    is_chosen_phrase, is_chosen_word, is_said_instead, is_secret_text, secret_name,
};
use crate::redact::validators::{
    is_joined_words, looks_like_password, not_a_path, not_placeholder_password, words,
};

/// The longest command that is read, and the longest line below it, in bytes.
const MAX_COMMAND_BYTES: usize = 160;
/// The most words of a password with blanks.
const MAX_WORDS: usize = 6;
/// What a shell or a client puts before a command.
const PROMPTS: [&str; 3] = ["$ ", "❯ ", "> "];

/// Words of commands that print what they name.
const PRINTING: &[&str] = words![
    "get" "show" "read" "cat" "print" "reveal" "view" "access" "fetch" "lookup" "find" "export" "output" "decrypt" "head" "tail"
    "less" "jq" "yq" "-w" "-o" "--reveal" "--show" "--query" "--raw" "-raw" "-s" "nvram" "uci" "describe" "value" "dump" "GET"
    "get-parameter" "get-secret-value" "find-generic-password" "find-internet-password" "printenv" "echo" "-field" "config:get"
    "config" "CONFIG" "-p" "versions"
];
/// Programs whose commands name passwords and print something else, such as commits.
const OTHER_PROGRAMS: &[&str] = words![
    "git" "hg" "svn" "gh" "ls" "cd" "grep" "rg" "find" "npm" "pip" "cargo" "make" "vim" "vi" "nano" "code" "man" "curl" "export"
    "set" "read"
];
/// Programs that keep nothing but secrets.
const STORES: &[&str] =
    words!["pass" "gopass" "op" "lpass" "bw" "keepassxc-cli" "secret-tool" "security" "rbw"];
/// Fields beside a secret.
const OTHER_FIELDS: &[&str] = words![
    "username" "user" "login" "email" "url" "website" "host" "hostname" "server" "port" "title" "notes" "id" "name" "list"
];
/// Beginnings of words of a line that says what went wrong.
const FAILURES: &[&str] = words![
    "error" "fatal" "usage" "warning" "failed" "denied" "unable" "cannot" "could" "couldn" "found" "such" "exist" "unknown"
    "invalid" "entry" "please" "enter" "item" "store"
];

/// What a command prints that is known to show a secret.
pub(super) fn of_known_command(
    text: &str,
    label: Range<usize>,
    end: usize,
) -> Option<Range<usize>> {
    let command = grammar::line_before(text, label.end, MAX_COMMAND_BYTES);
    // A commit has the form of a key that was drawn.
    let is_drawn = ["rand", "genkey", "get-key"].iter().any(|word| command.contains(word));
    let value = line_below(text, label.end, end)?;
    let has_prompt = PROMPTS.iter().any(|prompt| command.contains(prompt));
    let rest = grammar::line_after(text, label.end, MAX_COMMAND_BYTES);
    // `wg pubkey` prints what anybody may see.
    let is_public = rest.trim_end().ends_with("pubkey");
    (has_prompt && !is_public && is_password(text.get(value.clone())?, is_drawn)).then_some(value)
}

/// What a command prints of whose words one names a secret: `$ consul kv get app/db/password`.
pub(super) fn of_named_secret(text: &str, label: Range<usize>, end: usize) -> Option<Range<usize>> {
    let lead = grammar::line_before(text, label.end, MAX_COMMAND_BYTES);
    let prompts = PROMPTS.iter().filter_map(|prompt| lead.find(prompt).map(|at| at + prompt.len()));
    // The command may be all of its line.
    let is_bare = lead.len() == label.len() && label.len() > 8;
    let prompt = prompts.min().or(is_bare.then_some(0))?;
    let rest = grammar::line_after(text, label.end, MAX_COMMAND_BYTES);
    let command = text.get(label.end - lead.len() + prompt..label.end + rest.len())?;
    // In front of the command there may be variables: `ETCDCTL_API=3 etcdctl get x`.
    let is_assignment = |word: &&str| {
        word.split_once('=')
            .is_some_and(|(name, _)| name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'))
    };
    let mut words =
        command.split_ascii_whitespace().skip_while(|word| *word == "sudo" || is_assignment(word));
    let program = words.next()?.rsplit('/').next()?;
    let prints = words.clone().any(|word| {
        PRINTING.contains(&word) || word.starts_with("-field=") || word.starts_with("--field=")
    }) || PRINTING.contains(&program);
    let last = command.trim_end_matches(['"', '\'', ' ']).rsplit(['/', ' ', '=', '.']).next();
    let names_other = last.is_some_and(|last| OTHER_FIELDS.contains(&last));
    let is_store = STORES.contains(&program) && prints && !names_other;
    if !prints || OTHER_PROGRAMS.contains(&program) || !(is_store || words.any(names_secret)) {
        return None;
    }
    // Behind the name of what is shown a line has its value: `2) "x"`.
    let first = line_below(text, label.end + rest.len(), end)?;
    let line = text.get(first.clone())?;
    let bare = line.trim_start_matches("1) ").trim_matches('"');
    let value = match bare.len() > 2 && command.contains(bare) {
        true => line_below(text, first.end, end)?,
        false => first,
    };
    let value = without_quotes(text, value)?;
    let line = text.get(value.clone())?;
    (is_password(line, true) || is_shown(line)).then_some(value)
}

/// The line without the number and the quotes that a client puts around a value: `2) "x"`.
fn without_quotes(text: &str, line: Range<usize>) -> Option<Range<usize>> {
    let raw = text.get(line.clone())?;
    let bare = raw.trim_start_matches(|c: char| c.is_ascii_digit());
    let bare = bare.strip_prefix(") ").unwrap_or(raw);
    let start = line.end - bare.len();
    match bare.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(value) => Some(start + 1..start + 1 + value.len()),
        None => Some(start..line.end),
    }
}

/// True for a word of a command whose last part is the name of a secret: `app/db/password`,
/// `--field=token`, `802-11-wireless-security.psk`. A flag alone takes a value.
fn names_secret(word: &str) -> bool {
    let around = ['"', '\'', '}', '{', '$', ';', '`', ')', '('];
    let word = word.trim_matches(around);
    let word = word.strip_suffix(".value").unwrap_or(word);
    let last = word.rsplit(['/', '=', '.', ':']).next().unwrap_or_default();
    let is_named = |name: &str| {
        ["psk", "requirepass", "masterauth"].contains(&name)
            || secret_name::secret_kind(name.as_bytes()).is_some()
    };
    !last.starts_with('-') && is_named(last)
}

/// The line below, if something is in it.
fn line_below(text: &str, at: usize, end: usize) -> Option<Range<usize>> {
    let start = at + text.get(at..end)?.find('\n')? + 1;
    let line = grammar::line_after(text, start, MAX_COMMAND_BYTES).trim_end_matches('\r');
    (!line.trim().is_empty()).then(|| start..start + line.len())
}

/// True for one word that is a password or a token by its form.
fn is_password(line: &str, may_be_hexadecimal: bool) -> bool {
    let ends = |c: char| c.is_whitespace() || "<>()[]|\"'`,;".contains(c);
    let is_hexadecimal = line.bytes().all(|b| b.is_ascii_hexdigit()) && !may_be_hexadecimal;
    let is_chosen = looks_like_password(line) || is_joined_words(line);
    let is_drawn = is_secret_text(line, secret_name::SecretKind::Secret);
    let is_object = line.starts_with('{');
    !line.contains(ends)
        && !is_object
        && !is_hexadecimal
        && (is_drawn && is_padded(line) || !grammar::is_no_value(line))
        && (is_chosen || is_drawn)
}

/// True for words that somebody chose, below a command that shows no more than a secret.
fn is_shown(line: &str) -> bool {
    let words = || line.split(' ');
    let is_word = |word: &str| {
        !word.is_empty()
            && word.chars().all(|c| c.is_alphanumeric() || "-_.!#$%&*+@^~'/".contains(c))
    };
    let lower = line.to_lowercase();
    let fails = lower.split(|c: char| !c.is_alphabetic()).any(|word| FAILURES.contains(&word));
    let is_joined = || {
        line.contains(['-', '_', '.', '*', '&', '+'])
            && line.len() >= 9
            && words().count() == 1
            && line
                .split(['-', '_', '.', '*', '&', '+'])
                .all(|part| part.chars().all(char::is_alphanumeric))
            && !line
                .split(['-', '_', '.', '*', '&', '+'])
                .any(|part| part.len() > 3 && is_said_instead(part))
            && not_a_path(line)
    };
    // With a digit: `Edelweiss Firn 4478`.
    let is_phrase = || {
        (2..=MAX_WORDS).contains(&words().count())
            && line.contains(|c: char| c.is_ascii_digit())
            && line.contains(char::is_alphabetic)
            && !words().any(is_said_instead)
            && words().all(|word| word.chars().all(char::is_alphanumeric))
            && words().all(|word| {
                !word.contains(|c: char| c.is_ascii_digit())
                    || word.bytes().all(|b| b.is_ascii_digit())
            })
    };
    line.len() <= 64
        && !fails
        && not_placeholder_password(line)
        && words().all(is_word)
        && (is_chosen_word(line) || is_chosen_phrase(line) || is_joined() || is_phrase())
}

/// True for base64 of 32 bytes and more, which may have slashes.
fn is_padded(line: &str) -> bool {
    line.len() >= 44
        && line.len().is_multiple_of(4)
        && line.ends_with('=')
        && line.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b))
}
