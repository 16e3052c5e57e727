//! The texts and values in which two versions of a tool differ, for the person who approves the new
//! one.

use std::collections::BTreeMap;

use serde_json::Value;
use weaver_text::escape;
use weaver_types::Capability;

/// How much of the changes of a tool is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextLimits {
    /// The most differences.
    pub(super) differences: usize,
    /// Of each text, in characters.
    pub(super) chars: usize,
}

impl TextLimits {
    /// For a list of many tools.
    pub(super) const OVERVIEW: Self = Self { differences: 12, chars: 400 };
    /// For a tool that somebody asks about: whoever approves it has to see all.
    pub(super) const WHOLE: Self = Self { differences: usize::MAX, chars: usize::MAX };

    /// A text of a server on one line, cut where it is longer.
    pub(super) fn shown(self, text: &str) -> String {
        escape::shorten(&escape::line(text), self.chars).into_owned()
    }
}

/// How much is shown before the first and after the last character that differ.
const CONTEXT_CHARS: usize = 60;

/// The differences, old before new, one a line.
pub(super) fn text(before: &Capability, after: &Capability, limits: TextLimits) -> String {
    let (before, after) = (leaves(before), leaves(after));
    let places = before.keys().chain(after.keys());
    let mut places: Vec<&String> = places.filter(|at| before.get(*at) != after.get(*at)).collect();
    places.sort_unstable();
    places.dedup();
    let mut out = String::new();
    for place in places.iter().take(limits.differences) {
        let shown = escape::line(place);
        let (old, new) = match (before.get(*place), after.get(*place)) {
            (Some(old), Some(new)) => around_difference(old, new),
            (old, new) => (old.cloned().unwrap_or_default(), new.cloned().unwrap_or_default()),
        };
        if before.contains_key(*place) {
            out.push_str(&format!("    - {shown}: {}\n", limits.shown(&old)));
        }
        if after.contains_key(*place) {
            out.push_str(&format!("    + {shown}: {}\n", limits.shown(&new)));
        }
    }
    let more = places.len().saturating_sub(limits.differences);
    if more > 0 {
        out.push_str(&format!("    … and {more} more\n"));
    }
    out
}

/// The parts of two texts around what differs.
fn around_difference(old: &str, new: &str) -> (String, String) {
    let (old, new): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let left = old.len().min(new.len()) - same;
    let same_end =
        old.iter().rev().zip(new.iter().rev()).take(left).take_while(|(a, b)| a == b).count();
    let part = |text: &[char]| {
        let from = same.saturating_sub(CONTEXT_CHARS);
        let to = text.len().min((text.len() - same_end).saturating_add(CONTEXT_CHARS));
        let shown: String = text.get(from..to).unwrap_or_default().iter().collect();
        let mark = |is_cut: bool| if is_cut { "…" } else { "" };
        let (before, after) = (mark(from > 0), mark(to < text.len()));
        format!("{before}{shown}{after}")
    };
    (part(&old), part(&new))
}

/// Every text and value of what a server says of a tool, by its place.
fn leaves(tool: &Capability) -> BTreeMap<String, String> {
    let spec = tool.spec();
    let mut all = BTreeMap::new();
    let text = |text: &str| Value::String(text.to_owned());
    collect("name", &text(&spec.name), &mut all);
    collect("description", &text(&spec.description), &mut all);
    if let Some(title) = &spec.title {
        collect("title", &text(title), &mut all);
    }
    for (place, schema) in
        [("inputSchema", &spec.input_schema), ("outputSchema", &spec.output_schema)]
    {
        if let Some(schema) = schema {
            collect(place, schema, &mut all);
        }
    }
    all
}

fn collect(place: &str, value: &Value, all: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, field) in fields {
                collect(&format!("{place}.{name}"), field, all);
            }
        }
        Value::String(text) => drop(all.insert(place.to_owned(), text.clone())),
        other => drop(all.insert(place.to_owned(), other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weaver_types::CapabilityId;
    use weaver_types::formats::{ToolFormat, draft_from_tool};

    use super::*;

    fn tool(description: &str, properties: Value) -> Capability {
        let tool = json!({ "name": "list", "description": description, "inputSchema": {
            "type": "object", "properties": properties } });
        let id = CapabilityId::parse("tickets.list").unwrap();
        draft_from_tool(ToolFormat::Mcp, id, &tool).build().unwrap()
    }

    #[test]
    fn old_and_new_texts_stand_under_each_other() {
        let before = tool("Lists tickets.", json!({ "state": { "type": "string" } }));
        let after = tool(
            "Lists open tickets.\u{1b}[2J",
            json!({ "state": { "type": "string" }, "limit": { "type": "integer" } }),
        );
        assert_eq!(
            text(&before, &after, TextLimits::OVERVIEW),
            "    - description: Lists tickets.\n    + description: Lists open \
             tickets.\\u{1b}[2J\n    + inputSchema.properties.limit.type: integer\n"
        );
        assert_eq!(text(&after, &after, TextLimits::OVERVIEW), "");
    }

    #[test]
    fn of_long_texts_the_part_that_differs_is_shown() {
        let long = |word: &str| format!("{}{word}{}", "a ".repeat(500), " b".repeat(500));
        let overview =
            |before: &Capability, after: &Capability| text(before, after, TextLimits::OVERVIEW);
        let shown = overview(&tool(&long("one"), json!({})), &tool(&long("two"), json!({})));
        assert!(shown.contains("a one b") && shown.contains("a two b"), "{shown}");
        assert!(shown.chars().count() < 400 && shown.contains("description: …"), "{shown}");
        let schema: serde_json::Map<String, Value> =
            (0..40).map(|n| (format!("p{n}"), json!({ "type": "string" }))).collect();
        let (before, after) = (tool("", json!({})), tool(&long("new"), Value::Object(schema)));
        let shown = overview(&before, &after);
        assert!(
            shown.ends_with("    … and 29 more\n") || shown.ends_with("    … and 30 more\n"),
            "{shown}"
        );
        let whole = text(&before, &after, TextLimits::WHOLE);
        assert!(whole.contains(&long("new")) && whole.contains("properties.p39"), "{whole}");
    }
}
