//! Finds arguments that take an expression, which is a program where the language has functions that do
//! more than compute.

use weaver_policy::{ArgumentPredicate, MatchConditions};
use weaver_text::split;

use super::{ToolDescription, tool_text};

/// The last words of names of arguments that take one.
const EXPRESSIONS: [&str; 5] = ["expression", "expr", "formula", "program", "goal"];
/// The same, where the tool is said to run it.
const CODE: [&str; 2] = ["code", "script"];
const RUNS: [&str; 9] =
    ["eval", "evaluate", "evaluates", "execute", "executes", "interpret", "run", "runs", "filter"];
/// Languages every expression of which is a program.
const PROGRAMS: [&str; 8] = ["awk", "sed", "perl", "groovy", "nix", "prolog", "rego", "jsonnet"];

/// Conditions that match calls whose expression may do more than compute; `None` for a tool without one.
#[must_use]
pub fn expression_match(tool: &ToolDescription<'_>) -> Option<MatchConditions> {
    let names = split::identifier(tool.name);
    let described = split::words(&tool.description.to_lowercase());
    let said =
        |known: &[&str]| names.iter().chain(&described).any(|word| known.contains(&word.as_str()));
    // The five fields of a time are no program.
    if said(&["cron"]) {
        return None;
    }
    let (is_program, runs) = (said(&PROGRAMS), said(&RUNS));
    let any: Vec<MatchConditions> = tool_text::all_arguments(tool.input)
        .into_iter()
        .filter(|argument| !argument.at.as_str().contains("/*"))
        .filter(|argument| argument.may_be_text() && argument.choices().is_empty())
        .filter(|argument| {
            let last = argument.words.last().map_or("", String::as_str);
            EXPRESSIONS.contains(&last) || runs && CODE.contains(&last)
        })
        .map(|argument| {
            let at = ArgumentPredicate::at(argument.at);
            match is_program {
                true => ArgumentPredicate { min_length: Some(1), ..at },
                false => ArgumentPredicate { plain_expression: Some(false), ..at },
            }
        })
        .map(|one| MatchConditions { arguments: vec![one], ..MatchConditions::default() })
        .collect();
    (!any.is_empty()).then(|| MatchConditions { any, ..MatchConditions::default() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_expression_that_may_do_more_than_compute_is_held() {
        let holds = |name: &str, argument: &str, value: &str| {
            let properties = json!({ argument: { "type": "string" } });
            let tool = json!({ "name": name, "inputSchema": { "properties": properties } });
            let found = expression_match(&ToolDescription::from_json(&tool));
            let any = found.map(|found| found.any).unwrap_or_default();
            any.iter().any(|one| one.arguments[0].holds(&json!({ argument: value })))
        };
        assert!(holds("query_jenkins", "expression", "'id'.execute()"));
        assert!(holds("evaluate", "formula", "=WEBSERVICE(\"x\")"));
        assert!(holds("evaluate_r", "code", "system('id')"));
        assert!(holds("sed_view", "expression", "1e"));
        assert!(holds("nix_lookup", "expression", "1"));
        assert!(!holds("calculate", "expression", "2 * sin(3)"));
        assert!(!holds("cron_next", "expression", "*/5 * * * *"));
        assert!(!holds("lookup_barcode", "code", "x(y)"));
    }
}
