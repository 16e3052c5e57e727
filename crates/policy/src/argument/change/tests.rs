use serde_json::json;

use super::*;

#[test]
fn changes_are_found_wherever_they_stand() {
    for value in [
        json!({ "query": "mutation { deleteRepository(id: 1) { id } }" }),
        json!({ "selection": "\n,# words\n mutation Delete($id: ID!) { x(id: $id) { id } }" }),
        json!({ "document": "query A { a } mutation{x}" }),
        json!({ "request": { "query": "mutation @live { x }" } }),
        json!({ "payload": "{\"query\":\"mutation { x }\"}" }),
        json!({ "payload": "{\"query\":\"\\u006dutation { x }\"}" }),
        json!({ "payload": "{\"query\":\"query A { a }\\nmutation B { x }\"}" }),
        json!({ "queries": ["subscription { x }"] }),
        json!({ "url": "http://localhost/graphql?query=mutation{x}" }),
        json!({ "where": "1=1; DROP TABLE x" }),
        json!({ "table": "t;\n/* x */drop\ttable x" }),
        json!({ "q": "DELETE\nFROM users WHERE id = 1" }),
        json!({ "q": " update users set a = 1" }),
        json!({ "q": "INSERT INTO t VALUES (1)" }),
        json!({ "q": "create or replace view v as select 1" }),
        json!({ "q": "CREATE TABLE IF NOT EXISTS t (a int)" }),
        json!({ "q": "alter user neo4j set password 'x'" }),
        json!({ "q": "TRUNCATE users" }),
        json!({ "q": "COPY t TO '/tmp/x'" }),
        json!({ "q": "CALL purge_all()" }),
        json!({ "q": "exec xp_cmdshell 'id'" }),
        json!({ "q": "GRANT ALL ON t TO mallory" }),
        json!({ "q": "ATTACH DATABASE 'x' AS y" }),
        json!({ "q": "LOAD DATA INFILE 'x' INTO TABLE t" }),
        json!({ "q": "merge into t using s on 1=1" }),
        json!({ "method": "POST", "path": "/x" }),
        json!({ "request": { "httpMethod": " patch" } }),
        json!({ "operation": "bulkDelete" }),
        json!({ "action": "\ndelete" }),
    ] {
        assert!(holds_changes(&value), "{value}");
    }
}

#[test]
fn words_about_changes_are_none() {
    for value in [
        json!({ "query": "BRCA1 mutation (germline)" }),
        json!({ "query": "{ user { mutationCount } }" }),
        json!({ "query": "query A { a(text: \"the mutation of b\") { id } }" }),
        json!({ "q": "drop shipping", "text": "update the set of rules" }),
        json!({ "q": "create table of contents" }),
        json!({ "q": "create user in keycloak" }),
        json!({ "q": "copy file to folder" }),
        json!({ "q": "load data into pandas" }),
        json!({ "q": "call mom" }),
        json!({ "q": "delete account" }),
        json!({ "q": "delete from the cart" }),
        json!({ "q": "replace \"into\" by \"in\"" }),
        json!({ "q": "select a; select b" }),
        json!({ "method": "GET", "action": "list" }),
        json!({ "method": "pearson", "operation": "mean" }),
        json!({ "command": "how do I write a file and delete it afterwards" }),
        json!({ "method": "postMessage" }),
        json!({ "state": "deleted", "n": 5, "x": null }),
    ] {
        assert!(!holds_changes(&value), "{value}");
    }
}

#[test]
fn what_is_nested_too_deeply_counts_as_a_change() {
    let deep = (0..20).fold(json!("x"), |inner, _| json!([inner]));
    assert!(holds_changes(&deep));
}

/// Without the bound each keyword reads the rest of the text, which takes minutes here.
#[test]
fn a_text_full_of_keywords_is_read_in_time() {
    for part in ["mutation(", "mutation#", "subscription@x "] {
        assert!(holds_changes(&json!(format!("{{ {}", part.repeat(50_000)))), "{part}");
    }
}
