//! Finds arguments that take an SQL statement, which may change something although the tool is said
//! to read.

use weaver_policy::{ArgumentPredicate, MatchConditions};
use weaver_text::split;

use super::argument::Argument;
use super::{ToolDescription, tool_text};

/// Argument names that are those of a statement, whatever the tool is. Those that begin with `sql` are,
/// too.
const STATEMENTS: [&str; 10] = [
    "select_query", "select_statement", "raw_sql", "select_sql", "tsql", "hql", "cql", "soql",
    "psql_command", "raw_query",
];
/// Argument names that may be those of a statement, or of words to search for.
const PERHAPS_STATEMENTS: [&str; 14] = [
    "query", "queries", "statement", "statements", "q", "select", "raw", "command", "stmt",
    "query_string", "querystring", "query_text", "querytext", "script",
];
/// Words for statements, behind `SQL` or `SELECT`.
const STATEMENT_NOUNS: [&str; 8] =
    ["query", "queries", "statement", "statements", "command", "commands", "select", "string"];
/// Words for databases that take statements.
const DATABASES: [&str; 44] = [
    "sql", "postgres", "postgresql", "psql", "mysql", "mariadb", "sqlite", "duckdb", "clickhouse",
    "bigquery", "snowflake", "redshift", "oracle", "mssql", "sqlserver", "athena", "databricks",
    "trino", "presto", "cockroachdb", "supabase", "neon", "planetscale", "timescaledb", "db2",
    "hive", "impala", "cassandra", "scylladb", "d1", "turso", "libsql", "tidb", "spanner",
    "questdb", "vertica", "teradata", "singlestore", "dremio", "druid", "pinot", "motherduck",
    "yugabytedb", "firebird",
];
/// Words for what is done with statements.
const RUNS: [&str; 13] = [
    "query", "queries", "querying", "queried", "select", "execute", "executes", "run", "runs",
    "explain", "statement", "statements", "psql",
];
/// Words of tools that search texts about databases.
const SEARCHES: [&str; 8] =
    ["docs", "documentation", "search", "searches", "articles", "help", "tutorial", "manual"];

/// Conditions that match calls whose statement does more than read; `None` for a tool that takes no
/// statement.
#[must_use]
pub fn changing_statement_match(tool: &ToolDescription<'_>) -> Option<MatchConditions> {
    let said = [tool.name, tool.title, tool.description];
    let words: Vec<String> = split::identifier(tool.name)
        .into_iter()
        .chain(said.iter().flat_map(|text| split::words(&text.to_lowercase())))
        .collect();
    let takes_statements =
        said.iter().any(|text| speaks_of_statements(text)) || queries_database(&words);
    let any: Vec<MatchConditions> = tool_text::all_arguments(tool.input)
        .into_iter()
        .filter(|argument| is_statement(argument, takes_statements))
        .map(|argument| {
            let at = ArgumentPredicate::at(argument.at);
            ArgumentPredicate { reading_sql: Some(false), ..at }
        })
        .map(|changes| MatchConditions { arguments: vec![changes], ..MatchConditions::default() })
        .collect();
    (!any.is_empty()).then(|| MatchConditions { any, ..MatchConditions::default() })
}

fn is_statement(argument: &Argument<'_>, takes_statements: bool) -> bool {
    let name = argument.name.to_ascii_lowercase();
    let may_be = PERHAPS_STATEMENTS.contains(&name.as_str())
        && (takes_statements || speaks_of_statements(argument.description()));
    let is_named_so = name.starts_with("sql") || STATEMENTS.contains(&name.as_str());
    // The members of the items of a list have no place of their own.
    let has_place = !argument.at.as_str().contains("/*");
    has_place && (may_be || is_named_so) && argument.may_be_text()
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

/// Whether a tool with these words runs statements at a database: it names one that takes them, or a
/// database and `SELECT`.
fn queries_database(words: &[String]) -> bool {
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let names_database =
        has(&DATABASES) || has(&["database", "db", "warehouse"]) && has(&["select"]);
    names_database && has(&RUNS) && !has(&SEARCHES)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

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
        for (name, description) in [
            ("query_db", "Query the PostgreSQL database (SELECT only)"),
            ("query_table", "Query the database. Only SELECT is allowed"),
            ("psql", "Queries the Postgres database, read only"),
            ("execute_read", "Run a read query on MySQL"),
            ("db_query", "Run a query on the SQLite database"),
        ] {
            assert_eq!(matches(name, description, query()), Some(1), "{name}");
        }
        let nullable = json!({"query": {"type": ["string", "null"]}});
        assert_eq!(matches("run_query", "Runs an SQL query", nullable), Some(1));
        let list = json!({"queries": {"type": "array", "items": text}});
        assert_eq!(matches("explain_queries", "Explains SQL queries", list), Some(1));
        let inside = json!({"request": {"type": "object", "properties": {"sqlText": text}}});
        assert_eq!(matches("read_data", "Reads", inside), Some(1));
        assert_eq!(matches("query_movies", "Query the movie database by title", query()), None);
        assert_eq!(matches("run", "Run a query for books", query()), None);
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
