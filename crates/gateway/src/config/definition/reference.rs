//! The keys of `weaver.toml` as Markdown for the reference page.

use std::fmt::Write as _;

use super::{KeyDefinition, ValueType, all_sections};

/// Upper bounds above this are shown as no bound.
const HUGE: u64 = 1 << 31;

/// A Markdown table for each section: key, type, default and description.
#[must_use]
pub fn reference() -> String {
    let mut text = String::new();
    for (path, section) in all_sections() {
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
            let KeyDefinition { name, description, .. } = key;
            let default = match key.default {
                Some(default) => format!("`{default}`"),
                None if key.is_required => "required".to_owned(),
                None => String::new(),
            };
            let _ = writeln!(
                text,
                "| `{name}` | {} | {default} | {description} |",
                takes(&key.value_type)
            );
        }
    }
    text
}

fn takes(value_type: &ValueType) -> String {
    match value_type {
        ValueType::Text => "text".to_owned(),
        ValueType::Flag => "`true`, `false`".to_owned(),
        ValueType::Integer(least, most) if *most >= HUGE => format!("at least {least}"),
        ValueType::Integer(least, most) => format!("{least} to {most}"),
        ValueType::Word(words) => {
            words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ")
        }
        ValueType::List(ValueType::Table(_), most) => format!("tables, at most {most}"),
        ValueType::List(ValueType::Text, most) => format!("a list of texts, at most {most}"),
        ValueType::List(item, _) => format!("a list of {}", takes(item)),
        ValueType::Table(section) => {
            let mut all = all_sections().into_iter();
            let known = all.find(|(_, known)| std::ptr::eq(*known, *section));
            known.map_or_else(|| "a table".to_owned(), |(path, _)| format!("a table, `[{path}]`"))
        }
        ValueType::Map(ValueType::Table(_), most) => format!("tables by name, at most {most}"),
        ValueType::Map(_, most) => format!("texts by name, at most {most}"),
        ValueType::TextOrTable => "text or a table".to_owned(),
    }
}
