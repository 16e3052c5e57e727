//! Finds arguments that a program could parse as options.

use serde_json::Value;
use weaver_policy::{ArgumentPredicate, MatchConditions};
use weaver_types::JsonPointer;

use super::ToolDescription;

/// Argument names that servers pass to a program unchanged.
const PROGRAM_ARGUMENTS: [&str; 12] = [
    "target", "revision", "rev", "ref", "commit", "branch", "branch_name", "base_branch", "tag",
    "remote", "args", "options",
];

/// Conditions that match calls in which such an argument would be parsed as a program option, or as
/// a path specification for all files; `None` for a tool without such arguments. This is option
/// injection: it can make a read-only tool write a file.
#[must_use]
pub fn option_injection_match(tool: &ToolDescription<'_>) -> Option<MatchConditions> {
    let members = tool.input.and_then(|schema| schema.get("properties")?.as_object());
    let members = members.into_iter().flatten();
    let reaches_program = |(name, member): &(&String, &Value)| {
        PROGRAM_ARGUMENTS.contains(&name.as_str()) && !names_page_element(member)
    };
    let mut any = Vec::new();
    for (name, _) in members.filter(reaches_program) {
        let Ok(at) = JsonPointer::parse(&format!("/{name}")) else { continue };
        let options = ArgumentPredicate { holds_options: Some(true), ..ArgumentPredicate::at(at) };
        any.push(MatchConditions { arguments: vec![options], ..MatchConditions::default() });
    }
    (!any.is_empty()).then(|| MatchConditions { any, ..MatchConditions::default() })
}

/// Whether an argument names an element of a page, for a browser and for no program.
fn names_page_element(schema: &Value) -> bool {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let words = weaver_text::split::words(text);
    words.iter().any(|word| matches!(word.as_str(), "selector" | "css" | "xpath"))
        || words.windows(2).any(|two| matches!(two, [a, b] if a == "page" && b == "element"))
        || words.windows(2).any(|two| matches!(two, [a, b] if a == "element" && b == "reference"))
}
