//! A server with one tool that answers with the text that it is given.

use std::io::Write as _;

use axum::serve::ListenerExt as _;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::stdio;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServiceExt as _, tool, tool_router};

use crate::Failure;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct GetParams {
    text: String,
}

#[derive(Clone)]
struct Echo;

#[tool_router(server_handler)]
impl Echo {
    #[tool(
        description = "Answers with the text that it is given",
        annotations(read_only_hint = true, open_world_hint = false)
    )]
    fn get(&self, Parameters(GetParams { text }): Parameters<GetParams>) -> String {
        text
    }
}

pub(crate) async fn serve_pipes() -> Result<(), Failure> {
    Echo.serve(stdio()).await?.waiting().await?;
    Ok(())
}

/// Serves a free port of this machine, with sessions and streams as the SDK has them by default.
pub(crate) async fn serve_http() -> Result<(), Failure> {
    let config = StreamableHttpServerConfig::default();
    let service =
        StreamableHttpService::new(|| Ok(Echo), LocalSessionManager::default().into(), config);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("http://{}/mcp", listener.local_addr()?);
    std::io::stdout().flush()?;
    // Nagle's algorithm would wait for more to send.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
