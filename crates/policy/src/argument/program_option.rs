//! Finds texts that a program would read as an option, or as every file ("option injection").

use serde_json::Value;

/// Whether a value holds such a text: one that begins with `-`, at whatever depth. Where the value is one
/// text, also `:`, `.` and `+` lead to other places, and servers split it at white space.
pub(super) fn holds_options(value: &Value) -> bool {
    if let Value::String(text) = value {
        let text = text.trim();
        let leads_elsewhere =
            text.starts_with([':', '.', '+']) || text.contains(char::is_whitespace);
        return is_option(text) || leads_elsewhere;
    }
    let mut open = vec![value];
    while let Some(next) = open.pop() {
        match next {
            Value::String(text) if is_option(text) => return true,
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                if members.keys().any(|name| is_option(name)) {
                    return true;
                }
                for (name, member) in members {
                    match member.as_str().filter(|_| is_for_people(name)) {
                        Some(text) if sets_option(text) => return true,
                        Some(_) => {}
                        None => open.push(member),
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
    const TEXTS: [&str; 14] = [
        "body", "caption", "comment", "content", "contents", "description", "html", "markdown",
        "message", "note", "notes", "subject", "summary", "title",
    ];
    TEXTS.contains(&name.to_ascii_lowercase().as_str())
}

/// Whether a text for people begins with an option and its value: `--file=/etc/passwd`.
fn sets_option(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    first.starts_with("--") && first.contains('=') && is_option(first)
}

/// Whether a text begins like an option: one dash or two and a letter. A number with a sign, as in
/// `git log -5`, does no more than count, and an item of a list or a rule in a text is none. Nor is
/// an option that only chooses what is shown.
fn is_option(text: &str) -> bool {
    let Some(rest) = text.trim_start().strip_prefix('-') else { return false };
    let rest = rest.strip_prefix('-').unwrap_or(rest);
    let begins_like_one =
        rest.is_empty() || rest.starts_with(|first: char| first.is_ascii_alphabetic());
    begins_like_one && !only_chooses_what_is_shown(text)
}

/// Options of `git log`, `git diff` and `git show` that only choose what of it is shown and how, and
/// do nothing else in other programs that read. Whole and spelled out, since programs accept the
/// beginning of a long option for it.
const DISPLAY_OPTIONS: [&str; 34] = [
    "--abbrev-commit", "--all", "--branches", "--cached", "--decorate", "--first-parent",
    "--follow", "--full-history", "--graph", "--ignore-all-space", "--ignore-case", "--merges",
    "--minimal", "--name-only", "--name-status", "--no-color", "--no-decorate", "--no-ext-diff",
    "--no-merges", "--no-patch", "--numstat", "--oneline", "--patch", "--porcelain", "--raw",
    "--reverse", "--short", "--shortstat", "--staged", "--stat", "--summary", "--tags",
    "--topo-order", "--word-diff",
];

/// The same with a value, which is a number, a date, a name or a word.
const DISPLAY_OPTIONS_WITH_VALUE: [&str; 14] = [
    "--abbrev=", "--after=", "--author=", "--before=", "--color=", "--committer=", "--date=",
    "--diff-filter=", "--grep=", "--max-count=", "--since=", "--skip=", "--unified=", "--until=",
];

fn only_chooses_what_is_shown(text: &str) -> bool {
    DISPLAY_OPTIONS.contains(&text)
        || DISPLAY_OPTIONS_WITH_VALUE.iter().any(|option| text.starts_with(option))
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
