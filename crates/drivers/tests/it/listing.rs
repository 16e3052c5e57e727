//! Tool lists: whole, raw and bounded.

use crate::support::{config, connect, connect_with};

#[tokio::test]
async fn pages_are_joined_in_order() {
    let mut expected: Vec<String> = (0..4).map(|n| format!("t{n}")).collect();
    expected.push("echo".to_owned());
    let tools = connect("pages").await.list_tools().await.unwrap();
    assert_eq!(tools.iter().map(|tool| tool.name()).collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_tool_keeps_its_bytes() {
    let tools = connect("raw").await.list_tools().await.unwrap();
    let raw =
        r#"{"x-odd": 1.50 ,"name":"a","inputSchema":{"type":"object","big":99999999999999999999}}"#;
    assert_eq!(tools[0].raw(), raw);
    assert_eq!(tools[0].value()["x-odd"], 1.5);
}

#[tokio::test]
async fn lists_without_end_are_refused() {
    for (behaviour, word) in [("circle", "cursor"), ("crowd", "tools"), ("endless", "pages")] {
        let connection = connect(behaviour).await;
        let error = connection.list_tools().await.unwrap_err();
        assert_eq!(error.code(), "mcp.tool_list", "{behaviour}");
        assert!(error.to_string().contains(word), "{error}");
        assert!(connection.tools_stale());
    }
}

#[tokio::test]
async fn a_tool_without_a_name_is_refused() {
    let connection = connect_with(config("nameless")).await.unwrap();
    assert_eq!(connection.list_tools().await.unwrap_err().code(), "mcp.missing_field");
}

#[tokio::test]
async fn a_listing_that_is_abandoned_leaves_the_tools_stale() {
    let connection = connect("endless").await;
    let listing = tokio::time::timeout(std::time::Duration::ZERO, connection.list_tools());
    assert!(listing.await.is_err());
    assert!(connection.tools_stale());
}
