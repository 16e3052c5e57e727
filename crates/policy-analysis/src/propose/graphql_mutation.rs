//! Finds arguments that take a GraphQL document, which may change something although the tool is
//! called a query.

use serde_json::Value;
use weaver_policy::{ArgumentPredicate, MatchConditions, Pattern};
use weaver_types::JsonPointer;

use super::ToolDescription;

/// Argument names under which tools take a document.
const DOCUMENT_ARGUMENTS: [&str; 6] =
    ["query", "document", "operation", "graphql", "gql", "graphql_query"];

/// Conditions that match calls whose document has a mutation; `None` for a tool that takes no
/// document. The keyword cannot be escaped or written otherwise (GraphQL, October 2021, section 2.3).
#[must_use]
pub fn graphql_mutation_match(tool: &ToolDescription<'_>) -> Option<MatchConditions> {
    let said = [tool.name, tool.title, tool.description].map(weaver_text::split::words);
    let is_about_graphql = said.iter().flatten().any(|word| word == "graphql" || word == "gql")
        || said.iter().any(|words| words.windows(2).any(|two| two == ["graph", "ql"]));
    let members = tool.input.and_then(|schema| schema.get("properties")?.as_object());
    let mutation = Pattern::parse("*mutation*").ok().filter(|_| is_about_graphql)?;
    let takes_document = |(name, member): &(&String, &Value)| {
        DOCUMENT_ARGUMENTS.contains(&name.to_ascii_lowercase().as_str())
            && member.get("type").is_none_or(|kind| kind == "string")
    };
    let any: Vec<MatchConditions> = members
        .into_iter()
        .flatten()
        .filter(takes_document)
        .filter_map(|(name, _)| JsonPointer::parse(&format!("/{name}")).ok())
        .map(|at| ArgumentPredicate { glob: vec![mutation.clone()], ..ArgumentPredicate::at(at) })
        .map(|document| MatchConditions { arguments: vec![document], ..MatchConditions::default() })
        .collect();
    (!any.is_empty()).then(|| MatchConditions { any, ..MatchConditions::default() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_that_takes_a_graphql_document_has_one() {
        let matches = |tool: Value| {
            let found = graphql_mutation_match(&ToolDescription::from_json(&tool));
            found.map(|conditions| conditions.any.len())
        };
        let schema = json!({"type": "object", "properties": {"query": {"type": "string"}}});
        let tool = |name: &str, description: &str| json!({"name": name, "description": description, "inputSchema": schema});
        assert_eq!(matches(tool("query-graphql", "Queries an endpoint")), Some(1));
        assert_eq!(matches(tool("query", "Runs a GraphQL query")), Some(1));
        assert_eq!(matches(tool("search", "Searches books")), None);
        assert_eq!(matches(json!({"name": "graphql_schema", "inputSchema": {}})), None);
    }
}
