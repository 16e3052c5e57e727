//! The keys of `weaver.toml` as a part of the reference page.

use std::fmt::Write as _;

use super::{Form, Key, sections};

/// A bound beyond which a number is as good as unbounded.
const HUGE: u64 = 1 << 31;

/// Every key with what it takes, its default and its meaning: a table for each section, in
/// Markdown.
#[must_use]
pub fn reference() -> String {
    let mut text = String::new();
    for (path, section) in sections() {
        let title = match path.strip_suffix("[]") {
            Some(list) => format!("`[[{list}]]`"),
            None if path.is_empty() => "At the top".to_owned(),
            None => format!("`[{path}]`"),
        };
        let _ = writeln!(
            text,
            "\n### {title}\n\n| key | takes | default | meaning |\n|---|---|---|---|"
        );
        for key in section.keys {
            let Key { name, meaning, .. } = key;
            let default = match key.default {
                Some(default) => format!("`{default}`"),
                None if key.is_required => "required".to_owned(),
                None => String::new(),
            };
            let _ = writeln!(text, "| `{name}` | {} | {default} | {meaning} |", takes(&key.form));
        }
    }
    text
}

fn takes(form: &Form) -> String {
    match form {
        Form::Text => "text".to_owned(),
        Form::Flag => "`true`, `false`".to_owned(),
        Form::Whole(least, most) if *most >= HUGE => format!("at least {least}"),
        Form::Whole(least, most) => format!("{least} to {most}"),
        Form::Word(words) => {
            words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ")
        }
        Form::List(Form::Table(_), most) => format!("tables, at most {most}"),
        Form::List(Form::Text, most) => format!("a list of texts, at most {most}"),
        Form::List(item, _) => format!("a list of {}", takes(item)),
        Form::Table(section) => {
            let mut all = sections().into_iter();
            let known = all.find(|(_, known)| std::ptr::eq(*known, *section));
            known.map_or_else(|| "a table".to_owned(), |(path, _)| format!("a table, `[{path}]`"))
        }
        Form::Map(Form::Table(_), most) => format!("tables by name, at most {most}"),
        Form::Map(_, most) => format!("texts by name, at most {most}"),
        Form::TextOrTable => "text or a table".to_owned(),
    }
}
