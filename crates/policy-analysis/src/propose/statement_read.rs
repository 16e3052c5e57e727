//! Finds arguments that take an SQL statement, which may change something although the tool is said
//! to read.

use serde_json::Value;
use weaver_policy::{ArgumentPredicate, MatchConditions};
use weaver_text::split;
use weaver_types::JsonPointer;

use super::ToolDescription;

/// Argument names that are those of a statement.
const STATEMENTS: [&str; 5] = ["sql", "sql_query", "sql_statement", "sqlquery", "select_query"];
/// Argument names that may be those of a statement, or of words to search for.
const PERHAPS_STATEMENTS: [&str; 3] = ["query", "statement", "q"];
/// Words for statements, behind `SQL` or `SELECT`.
const STATEMENT_NOUNS: [&str; 8] =
    ["query", "queries", "statement", "statements", "command", "commands", "select", "string"];

/// Conditions that match calls whose statement does more than read; `None` for a tool that takes no
/// statement.
#[must_use]
pub fn changing_statement_match(tool: &ToolDescription<'_>) -> Option<MatchConditions> {
    let said = [tool.name, tool.title, tool.description];
    let takes_statements = said.iter().any(|text| speaks_of_statements(text));
    let members = tool.input.and_then(|schema| schema.get("properties")?.as_object());
    let is_statement = |(name, member): &(&String, &Value)| {
        let name = name.to_ascii_lowercase();
        let description = member.get("description").and_then(Value::as_str).unwrap_or_default();
        let may_be = PERHAPS_STATEMENTS.contains(&name.as_str())
            && (takes_statements || speaks_of_statements(description));
        (may_be || STATEMENTS.contains(&name.as_str()))
            && member.get("type").is_none_or(|kind| kind == "string")
    };
    let any: Vec<MatchConditions> = members
        .into_iter()
        .flatten()
        .filter(is_statement)
        .filter_map(|(name, _)| JsonPointer::parse(&format!("/{name}")).ok())
        .map(|at| ArgumentPredicate { reading_sql: Some(false), ..ArgumentPredicate::at(at) })
        .map(|changes| MatchConditions { arguments: vec![changes], ..MatchConditions::default() })
        .collect();
    (!any.is_empty()).then(|| MatchConditions { any, ..MatchConditions::default() })
}

/// Whether a text mentions an SQL query or a statement, and not SQL or a database alone: those are
/// also what one searches the documentation for.
fn speaks_of_statements(text: &str) -> bool {
    let words = split::words(text);
    words.windows(2).any(|two| {
        let [before, noun] = two else { return false };
        matches!(before.as_str(), "sql" | "select") && STATEMENT_NOUNS.contains(&noun.as_str())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_that_takes_statements_is_told_from_one_that_searches_for_words() {
        let matches = |name: &str, description: &str, argument: Value| {
            let tool = json!({"name": name, "description": description,
                "inputSchema": {"type": "object", "properties": argument}});
            let found = changing_statement_match(&ToolDescription::from_json(&tool));
            found.map(|conditions| conditions.any.len())
        };
        let text = json!({"type": "string"});
        let query = || json!({"query": text});
        assert_eq!(matches("query", "Run a read-only SQL query", json!({"sql": text})), Some(1));
        assert_eq!(matches("read_query", "Execute a SELECT query", query()), Some(1));
        let said = json!({"query": {"type": "string", "description": "The SQL statement to run"}});
        assert_eq!(matches("bq_query", "Queries BigQuery", said), Some(1));
        assert_eq!(matches("search_docs", "Searches the PostgreSQL documentation", query()), None);
        assert_eq!(matches("search", "Searches books", query()), None);
        let filter = json!({"query": {"type": "object", "description": "No SQL query"}});
        assert_eq!(matches("find", "Finds documents", filter), None);
    }

    #[test]
    fn only_a_statement_that_is_not_plainly_a_read_matches() {
        let tool = json!({"name": "query", "description": "Run a read-only SQL query",
            "inputSchema": {"properties": {"sql": {"type": "string"}}}});
        let found = changing_statement_match(&ToolDescription::from_json(&tool)).unwrap();
        let [condition] = &found.any[..] else { panic!("{found:?}") };
        let matches = |sql: &str| condition.arguments[0].holds(&json!({"sql": sql}));
        assert!(matches("COMMIT; DROP TABLE customers") && matches("delete from t where id = 1"));
        assert!(!matches("select * from customers where id = 1"));
        assert!(!condition.arguments[0].holds(&json!({})));
    }
}
