//! Finds arguments that take a GraphQL document, which may change something although the tool is
//! called a query.

use serde_json::Value;
use weaver_policy::{ArgumentPredicate, MatchConditions, Pattern};
use weaver_types::JsonPointer;

use super::ToolDescription;

/// Words of the names of arguments that take a document.
const DOCUMENT_WORDS: [&str; 10] = [
    "query", "queries", "document", "documents", "operation", "operations", "graphql", "gql",
    "body", "mutation",
];

/// Conditions that match calls whose document has a mutation; `None` for a tool that takes no
/// document. The keyword cannot be escaped or written otherwise (GraphQL, October 2021, section 2.3).
#[must_use]
pub fn graphql_mutation_match(tool: &ToolDescription<'_>) -> Option<MatchConditions> {
    let said = [tool.name, tool.title, tool.description].map(weaver_text::split::words);
    let is_about_graphql = said.iter().flatten().any(|word| word == "graphql" || word == "gql")
        || said.iter().any(|words| words.windows(2).any(|two| two == ["graph", "ql"]));
    let members = tool.input.and_then(|schema| schema.get("properties")?.as_object());
    // A document within JSON may have letters of the keyword as escapes.
    let patterns = ["*mutation*", r"*\u00*"].map(Pattern::parse);
    let mutation: Vec<Pattern> =
        patterns.into_iter().flatten().filter(|_| is_about_graphql).collect();
    if mutation.is_empty() {
        return None;
    }
    let takes_document = |(name, _): &(&String, &Value)| {
        let words = weaver_text::split::identifier(name);
        words.last().is_some_and(|last| DOCUMENT_WORDS.contains(&last.as_str()))
    };
    let has_type = |member: &Value, wanted: &str| match member.get("type") {
        None => true,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == wanted),
        Some(kind) => kind == wanted,
    };
    let any: Vec<MatchConditions> = members
        .into_iter()
        .flatten()
        .filter(takes_document)
        .filter_map(|(name, member)| {
            let at = ArgumentPredicate::at(JsonPointer::parse(&format!("/{name}")).ok()?);
            match has_type(member, "string") {
                true => Some(ArgumentPredicate { glob: mutation.clone(), ..at }),
                // Nothing looks into a list of documents.
                false if has_type(member, "array") => {
                    Some(ArgumentPredicate { min_length: Some(1), ..at })
                }
                false => None,
            }
        })
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
        for (name, kind) in [
            ("graphqlQuery", json!("string")),
            ("body", json!(["string", "null"])),
            ("queries", json!("array")),
            ("query", json!(["string", "null"])),
        ] {
            let properties = json!({name: {"type": kind}});
            let one = json!({"name": "graphql", "inputSchema": {"properties": properties}});
            assert_eq!(matches(one), Some(1), "{name}");
        }
        let limit = json!({"limit": {"type": "integer"}, "query": {"type": "object"}});
        let other = json!({"name": "graphql", "inputSchema": {"properties": limit}});
        assert_eq!(matches(other), None);
    }
}
