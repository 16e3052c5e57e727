//! Finds texts that a program would read as an option, or as every file ("option injection").

use crate::critical::TEXTS_FOR_PEOPLE;
use serde_json::Value;

/// Whether a value holds such a text: one that begins with `-`, at whatever depth. Where the value is one
/// text, also `:`, `.` and `+` lead to other places, and servers split it at white space.
pub(super) fn holds_options(value: &Value) -> bool {
    if let Value::String(text) = value {
        let text = text.trim();
        let leads_elsewhere =
            text.starts_with([':', '.', '+']) || text.contains(char::is_whitespace);
        return is_option(text, false) || leads_elsewhere;
    }
    let mut open = vec![(value, false)];
    while let Some((next, shows)) = open.pop() {
        match next {
            Value::String(text) if is_option(text, shows) => return true,
            Value::Array(items) => {
                let shows = only_shows(items);
                open.extend(items.iter().map(|item| (item, shows)));
            }
            Value::Object(members) => {
                if members.keys().any(|name| is_option(name, false)) {
                    return true;
                }
                for (name, member) in members {
                    match member.as_str().filter(|_| is_for_people(name)) {
                        Some(text) if sets_option(text) => return true,
                        Some(_) => {}
                        None => open.push((member, false)),
                    }
                }
            }
            _ => {}
        }
    }
    false
}

/// Whether a member of this name is a text for people, which may begin with a dash.
fn is_for_people(name: &str) -> bool {
    TEXTS_FOR_PEOPLE.contains(&name.to_ascii_lowercase().as_str())
}

/// Whether a text for people begins with an option and its value: `--file=/etc/passwd`.
fn sets_option(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    first.starts_with("--") && first.contains('=') && is_option(first, false)
}

/// Whether a text begins like an option: one dash or two and a letter. A number with a sign, as in
/// `git log -5`, does no more than count, and an item of a list or a rule in a text is none. Nor is
/// an option that only chooses what is shown, of a command that `shows` or of every one that knows it.
fn is_option(text: &str, shows: bool) -> bool {
    let Some(rest) = text.trim_start().strip_prefix('-') else { return false };
    let rest = rest.strip_prefix('-').unwrap_or(rest);
    let begins_like_one =
        rest.is_empty() || rest.starts_with(|first: char| first.is_ascii_alphabetic());
    begins_like_one
        && !is_option_of(text, DISPLAY_OPTIONS)
        && !(shows && is_option_of(text, DISPLAY_OPTIONS_OF_SOME))
}

/// Options of `git log`, `git diff` and `git show` that only choose what of it is shown and how, and
/// that no other command has which does more than read. Whole and spelled out, since programs accept the
/// beginning of a long option for it. Behind a `=` is a number, a date, a name or a word.
const DISPLAY_OPTIONS: &[&str] = &[
    "--abbrev-commit", "--abbrev=", "--after=", "--before=", "--committer=", "--decorate",
    "--diff-filter=", "--first-parent", "--follow", "--full-history", "--graph", "--grep=",
    "--ignore-all-space", "--max-count=", "--merges", "--minimal", "--name-only", "--name-status",
    "--no-color", "--no-decorate", "--no-ext-diff", "--no-merges", "--no-patch", "--numstat",
    "--oneline", "--raw", "--shortstat", "--since=", "--stat", "--topo-order", "--unified=",
    "--until=", "--word-diff",
];
/// Those that do something in other commands: `stash --all`, `restore --staged`, `apply --reverse`.
const DISPLAY_OPTIONS_OF_SOME: &[&str] = &[
    "--all", "--author=", "--branches", "--cached", "--color=", "--date=", "--ignore-case",
    "--patch", "--porcelain", "--reverse", "--short", "--skip=", "--staged", "--summary", "--tags",
];
/// Commands that only show.
const SHOWING: [&str; 8] =
    ["log", "diff", "show", "status", "blame", "shortlog", "rev-list", "whatchanged"];

fn is_option_of(text: &str, options: &[&str]) -> bool {
    let is_same = |known: &&str| text == *known || known.ends_with('=') && text.starts_with(known);
    options.iter().any(is_same)
}

/// Whether the words of a command line are those of one that only shows: it says so, or has an option that
/// no other command takes.
fn only_shows(items: &[Value]) -> bool {
    let texts = || items.iter().filter_map(Value::as_str).skip_while(|word| *word == "git");
    texts().next().is_some_and(|first| SHOWING.contains(&first))
        || texts().any(|text| is_option_of(text, DISPLAY_OPTIONS))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn options_are_found_in_texts_and_lists() {
        for value in [
            json!("--output=x"),
            json!(" -x"),
            json!(":/"),
            json!("main\t--output=x"),
            json!("main\n-x"),
            json!(["main", "--output=x"]),
            json!([["\u{b}-x"]]),
            json!({ "--output": "x" }),
            json!("--oneline --output=x"),
            json!(["--oneline", "--output=x"]),
            json!("--stat=x"),
            json!("--on"),
            json!("--textconv"),
            json!("--ext-diff"),
            json!("-O/tmp/x"),
            json!({ "message": "--file=/etc/passwd" }),
            json!({ "name": "--server=https://evil.example" }),
            json!({ "text": "-f/etc/passwd" }),
            // Of other commands than those that show.
            json!("--all"),
            json!(["stash", "--all"]),
            json!(["git", "stash", "push", "--all"]),
            json!(["restore", "--staged", "a"]),
            json!(["rm", "--cached", "a"]),
            json!([["log"], ["--all"]]),
            json!({ "args": ["push", "--tags"] }),
        ] {
            assert!(holds_options(&value), "{value}");
        }
        for value in [
            json!("main"),
            json!("main~2 "),
            json!(["-1", "fix bug", "./a"]),
            json!("-20"),
            json!("--oneline"),
            json!(["--oneline", "-5", "--since=2 weeks ago", "--author=Ana"]),
            json!(["--staged", "--name-only"]),
            json!(["log", "--all"]),
            json!(["git", "diff", "--cached"]),
            json!({ "text": "- milk\n- eggs" }),
            json!({ "message": "-Ana", "content": "--verbose is new" }),
            json!(["---\ntitle: x", "-> x", "--- a/x"]),
            json!(5),
            json!([]),
        ] {
            assert!(!holds_options(&value), "{value}");
        }
    }
}
