//! The agent's side: an MCP client of a `weaver serve` that runs as a child process.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::runtime::{Builder, Runtime};
use weaver_drivers::mcp::{
    CallOutcome, CallRequest, Connection, Endpoint, McpError, StdioConfig, UpstreamConfig,
};

use super::DemoError;
use super::answer::ToolAnswer;
use super::documents::utf8;
use super::folder::DemoFolder;

/// The longest wait for one answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// A running `weaver serve` and the connection to it.
pub(super) struct GatewayClient {
    runtime: Runtime,
    connection: Connection,
}

impl GatewayClient {
    /// Starts this same program as `weaver serve` and shakes hands.
    pub(super) fn start(folder: &DemoFolder) -> Result<Self, DemoError> {
        let system = |error: std::io::Error| DemoError::System {
            what: "start `weaver serve`",
            reason: error.to_string(),
        };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(system)?;
        let program = std::env::current_exe().map_err(system)?;
        let config = folder.config();
        let child = StdioConfig {
            command: utf8(&program)?.to_owned(),
            args: ["serve", "--standalone", "--config", utf8(&config)?].map(str::to_owned).to_vec(),
            cwd: Some(folder.dir().to_owned()),
            ..StdioConfig::default()
        };
        let mut upstream = UpstreamConfig::new("weaver", Endpoint::Stdio(child));
        "weaver-demo".clone_into(&mut upstream.client_name);
        upstream.limits.initialize_timeout = ANSWER_TIMEOUT;
        upstream.limits.call_timeout = ANSWER_TIMEOUT;
        let connection = runtime
            .block_on(Connection::connect(Arc::new(upstream)))
            .map_err(|error| no_answer("initialize", &error))?;
        Ok(Self { runtime, connection })
    }

    /// Calls one of Weaver's tools.
    pub(super) fn call(&self, tool: &str, arguments: Value) -> Result<ToolAnswer, DemoError> {
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            _ => Map::new(),
        };
        let outcome =
            self.runtime.block_on(self.connection.call(CallRequest::new(tool, arguments)));
        let failed = |reason: String| DemoError::Serve { request: format!("`{tool}`"), reason };
        match outcome.map_err(|error| no_answer(tool, &error))? {
            CallOutcome::Complete(reply) => ToolAnswer::read(reply.value()).ok_or_else(|| {
                failed(format!("the result is not one of Weaver's: {}", excerpt(reply.raw())))
            }),
            CallOutcome::Error(error) => {
                Err(failed(format!("code {}: {}", error.code, error.message)))
            }
            CallOutcome::InputRequired(_) | CallOutcome::Task(_) => {
                Err(failed("the answer is not a result".to_owned()))
            }
        }
    }

    /// Ends `weaver serve` by closing its input, and waits until it has ended.
    pub(super) fn end(self) {
        self.runtime.block_on(self.connection.close());
    }
}

fn no_answer(request: &str, error: &McpError) -> DemoError {
    DemoError::Serve { request: format!("`{request}`"), reason: error.to_string() }
}

/// The start of a long text, for an error message.
fn excerpt(text: &str) -> String {
    weaver_text::escape::line(weaver_text::escape::truncate(text, 200)).into_owned()
}
