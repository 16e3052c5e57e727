//! The official Rust SDK as counterpart: over stdio and Streamable HTTP, in both eras.

use std::sync::Arc;

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer, ServiceExt};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use weaver_drivers::mcp::{
    CallOutcome, Connection, Endpoint, Era, EraChoice, HttpConfig, McpError, UpstreamConfig,
};

use crate::support::{complete, config, connect_with, request};

#[derive(Clone)]
struct Server;

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("sdk", "9"))
            .with_instructions("from the sdk")
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let Value::Object(schema) = json!({"type": "object", "x-odd": {"y": 1}}) else { panic!() };
        let schema = Arc::new(schema);
        let tool = |name: &'static str| Tool::new(name, "a tool", Arc::clone(&schema));
        Ok(ListToolsResult::with_all_items(vec![tool("echo"), tool("count"), tool("größe/1")]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name == "count" {
            for n in 1..=50_u8 {
                if let Some(token) = context.meta.get_progress_token() {
                    let step = ProgressNotificationParam::new(token, f64::from(n));
                    let _ = context.peer.notify_progress(step).await;
                }
            }
        }
        if request.name == "fail" {
            return Err(ErrorData::invalid_params("no such tool", None));
        }
        let text = Value::Object(request.arguments.unwrap_or_default()).to_string();
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

/// Runs the server on standard input and output; never returns to the test.
pub(crate) fn serve_stdio() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let running = Server.serve(rmcp::transport::stdio()).await.unwrap();
        let _ = running.waiting().await;
    });
}

async fn serve_http(sessions: bool, json: bool) -> String {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(sessions)
        .with_json_response(json);
    let service: StreamableHttpService<Server, LocalSessionManager> =
        StreamableHttpService::new(|| Ok(Server), Default::default(), config);
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/mcp")
}

async fn connect_http(url: &str, era: EraChoice) -> Result<Connection, McpError> {
    let http = HttpConfig { url: url.to_owned(), ..HttpConfig::default() };
    let mut config = UpstreamConfig::new("sdk", Endpoint::Http(http));
    config.era = era;
    connect_with(config).await
}

/// What every pairing must do.
async fn exercise(connection: &Connection, era: Era) {
    assert_eq!(connection.server().era(), era);
    assert_eq!(connection.server().name(), Some("sdk"));
    assert_eq!(connection.server().instructions(), Some("from the sdk"));
    let tools = connection.list_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(names, ["echo", "count", "größe/1"]);
    assert_eq!(tools[0].value()["inputSchema"]["x-odd"], json!({"y": 1}));
    for name in ["echo", "größe/1"] {
        let reply = complete(connection, name, json!({"a": [1, "ü"]})).await;
        assert_eq!(reply.value()["content"][0]["text"], r#"{"a":[1,"ü"]}"#);
        assert!(!reply.is_error());
    }
    let outcome = connection.call(request("fail", json!({}))).await.unwrap();
    assert!(matches!(outcome, CallOutcome::Error(error) if error.code == -32602));
}

/// All steps arrive before the reply. The server may reorder them itself, so the order is tested
/// against our own fixture.
async fn count(connection: &Connection) {
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let call = request("count", json!({})).progress(move |step| {
        let _ = sender.send(step.progress);
    });
    assert!(matches!(connection.call(call).await, Ok(CallOutcome::Complete(_))));
    let mut steps = 0;
    while receiver.try_recv().is_ok() {
        steps += 1;
    }
    assert_eq!(steps, 50);
}

#[tokio::test]
async fn over_stdio_in_both_eras() {
    for (choice, era) in [
        (EraChoice::Auto, Era::Legacy),
        (EraChoice::Legacy, Era::Legacy),
        (EraChoice::Modern, Era::Modern),
    ] {
        let mut config = config("sdk");
        config.era = choice;
        let connection = connect_with(config).await.unwrap();
        exercise(&connection, era).await;
        count(&connection).await;
        connection.close().await;
    }
}

#[tokio::test]
async fn over_http_in_both_eras_and_forms() {
    for sessions in [true, false] {
        for json in [true, false] {
            let url = serve_http(sessions, json).await;
            for (choice, era) in [(EraChoice::Auto, Era::Legacy), (EraChoice::Modern, Era::Modern)]
            {
                let connection = connect_http(&url, choice).await.unwrap();
                exercise(&connection, era).await;
                if !json {
                    count(&connection).await;
                }
                connection.close().await;
            }
        }
    }
}
