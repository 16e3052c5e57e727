//! Handshakes: which era is spoken, and what happens when there is none.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, json};
use weaver_drivers::confine::{Confinement, Launcher};
use weaver_drivers::mcp::{
    CallOutcome, ChildConfinement, Endpoint, Era, EraChoice, ServerList, StdioConfig, Upstream,
    UpstreamConfig,
};

use crate::support::{complete, config, connect, connect_with, request};

#[tokio::test]
async fn a_legacy_server_is_initialized() {
    let connection = connect("plain").await;
    let server = connection.server();
    assert_eq!((server.era(), server.protocol_version()), (Era::Legacy, "2025-11-25"));
    assert_eq!((server.name(), server.instructions()), (Some("fixture"), Some("be kind")));
    assert!(server.has_list(ServerList::Tools));
    // Tools exist only after `initialized` has arrived.
    assert_eq!(connection.list_tools().await.unwrap()[0].name(), "echo");
    assert_eq!(connect("old").await.server().protocol_version(), "2024-11-05");
}

#[tokio::test]
async fn a_modern_server_is_found_and_told_who_calls() {
    for era in [EraChoice::Auto, EraChoice::Modern] {
        let mut config = config("modern");
        config.era = era;
        let connection = connect_with(config).await.unwrap();
        assert_eq!(connection.server().era(), Era::Modern);
        assert_eq!(connection.server().name(), Some("fixture"));
        let mut meta = Map::new();
        meta.insert("x".to_owned(), json!(1));
        meta.insert("io.modelcontextprotocol/clientInfo".to_owned(), json!("forged"));
        meta.insert("progressToken".to_owned(), json!("forged"));
        let call = request("meta", json!({})).meta(meta);
        let CallOutcome::Complete(reply) = connection.call(call).await.unwrap() else { panic!() };
        let meta = &reply.value()["meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "weaver");
        assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({}));
        assert_eq!((&meta["x"], meta.get("progressToken")), (&json!(1), None));
    }
}

#[tokio::test]
async fn a_pinned_era_is_not_left() {
    let mut legacy = config("modern");
    legacy.era = EraChoice::Legacy;
    assert_eq!(connect_with(legacy).await.err().unwrap().code(), "mcp.upstream_refused");
    let mut modern = config("plain");
    modern.era = EraChoice::Modern;
    assert_eq!(connect_with(modern).await.err().unwrap().code(), "mcp.upstream_refused");
}

#[tokio::test]
async fn no_common_version_is_said() {
    let error = connect_with(config("future")).await.err().unwrap();
    assert_eq!(error.code(), "mcp.unsupported_version");
    assert_eq!(error.detail().as_deref(), Some("2031-01-01"));
    let error = connect_with(config("stranger")).await.err().unwrap();
    assert_eq!(error.code(), "mcp.upstream_refused");
    assert!(!error.to_string().contains("what"), "{error}");
    assert_eq!(error.detail().as_deref(), Some("what\\u{1b}[2J?"));
}

#[tokio::test]
async fn a_mute_server_is_given_up_and_named() {
    let mut config = config("mute");
    config.limits.initialize_timeout = Duration::from_millis(300);
    let target = config.target();
    let error = connect_with(config).await.err().unwrap();
    assert_eq!(error.code(), "mcp.initialize_timeout");
    assert!(error.to_string().contains(&target), "{error}");
}

#[tokio::test]
async fn a_server_that_dies_at_start_says_why() {
    let error = connect_with(config("dead")).await.err().unwrap();
    assert_eq!(error.code(), "mcp.upstream_closed");
    assert!(error.to_string().contains("exit status: 3"), "{error}");
    assert!(!error.to_string().contains("cannot find"), "{error}");
    assert!(
        error.with_stderr().contains("cannot find my \\u{1b}[31mconfig"),
        "{}",
        error.with_stderr()
    );
    assert!(error.detail().unwrap().contains("cannot find my \\u{1b}[31mconfig"));
}

/// Somebody who closes does not wait for a handshake that nobody answers.
#[tokio::test]
async fn closing_gives_up_a_handshake_that_is_under_way() {
    let upstream = Arc::new(Upstream::new(config("mute")));
    let connecting = tokio::spawn({
        let upstream = Arc::clone(&upstream);
        async move { upstream.connection().await.err().map(|error| error.code()) }
    });
    // The attempt holds its place before anything is closed.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let closed = tokio::time::timeout(Duration::from_secs(20), upstream.close()).await;
    assert!(closed.is_ok(), "it waits for a server that never answers");
    assert_eq!(connecting.await.unwrap(), Some("mcp.upstream_shutdown"));
}

#[tokio::test]
async fn a_program_that_is_nowhere_in_path_says_where_it_was_looked_for() {
    let mut config = config("plain");
    if let Endpoint::Stdio(stdio) = &mut config.endpoint {
        stdio.command = "no-such-program-anywhere".to_owned();
        stdio.env.insert("PATH".to_owned(), "/opt/one:/opt/two".to_owned());
        let confinement = Confinement::denying(Vec::<PathBuf>::new());
        let launcher = Launcher::new(env!("CARGO_BIN_EXE_weaver-launch"));
        stdio.confinement = Some(ChildConfinement { launcher, confinement, setting: None });
    }
    let error = connect_with(config).await.err().unwrap();
    assert_eq!(error.code(), "mcp.upstream_spawn");
    let said = error.to_string();
    assert!(
        said.contains("no-such-program-anywhere") && said.contains("/opt/one:/opt/two"),
        "{said}"
    );
}

#[tokio::test]
async fn a_command_that_is_absent_is_named() {
    let stdio = StdioConfig { command: "/no/such/program".to_owned(), ..StdioConfig::default() };
    let error = connect_with(UpstreamConfig::new("x", Endpoint::Stdio(stdio))).await.err().unwrap();
    assert_eq!(error.code(), "mcp.upstream_spawn");
    assert!(error.to_string().contains("/no/such/program") && error.is_unsent(), "{error}");
}

#[tokio::test]
async fn a_changed_list_is_stale_until_it_is_listed_again() {
    let connection = connect("plain").await;
    connection.list_tools().await.unwrap();
    assert!(!connection.tools_stale());
    complete(&connection, "change", json!({})).await;
    assert!(connection.tools_stale());
    connection.list_tools().await.unwrap();
    assert!(!connection.tools_stale());
}

#[tokio::test]
async fn a_modern_server_is_asked_for_news_of_its_tools() {
    let connection = connect("modern").await;
    // The answer to this call comes after the news.
    complete(&connection, "meta", json!({})).await;
    assert!(connection.tools_stale());
}
