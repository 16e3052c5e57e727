//! The ways to the server, and calls over all of them in turns.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use weaver_drivers::mcp::{
    CallOutcome, CallRequest, Endpoint, StdioConfig, Upstream, UpstreamConfig,
};

use crate::{AS_GATEWAY, AS_SERVER, AS_SHIM, Failure};

const TEXT: &str = "The quick brown fox jumps over the lazy dog.";
/// How often the gateway is asked for its tools until it has them, 20 ms apart.
const PATIENCE: usize = 500;

/// Directly, through a gateway of its own, and through the shim and the daemon.
pub(crate) struct Ways {
    direct: Upstream,
    alone: Upstream,
    shared: Upstream,
}

/// What calls took.
pub(crate) struct Times {
    pub(crate) direct: Vec<Duration>,
    pub(crate) alone: Vec<Duration>,
    pub(crate) shared: Vec<Duration>,
}

impl Ways {
    /// Starts all and waits until all have their tools.
    pub(crate) async fn open(alone: &Path, shared: &Path) -> Result<Self, Failure> {
        let text = |path: &Path| path.to_str().map(str::to_owned).ok_or("the path is not UTF-8");
        let ways = Self {
            direct: upstream("direct", vec![AS_SERVER.to_owned()])?,
            alone: upstream("alone", vec![AS_GATEWAY.to_owned(), text(alone)?])?,
            shared: upstream("shared", vec![AS_SHIM.to_owned(), text(shared)?])?,
        };
        for way in [&ways.direct, &ways.alone, &ways.shared] {
            ready(way).await?;
        }
        Ok(ways)
    }

    /// Calls the tool `rounds` times over each way, in turns.
    pub(crate) async fn compare(&self, tool: &str, rounds: usize) -> Result<Times, Failure> {
        let mut times = Times { direct: Vec::new(), alone: Vec::new(), shared: Vec::new() };
        for _ in 0..rounds {
            times.direct.push(call(&self.direct, tool).await?);
            times.alone.push(call(&self.alone, tool).await?);
            times.shared.push(call(&self.shared, tool).await?);
        }
        Ok(times)
    }

    /// Ends all.
    pub(crate) async fn close(&self) {
        self.direct.close().await;
        self.alone.close().await;
        self.shared.close().await;
    }
}

fn upstream(name: &str, args: Vec<String>) -> Result<Upstream, Failure> {
    let command = std::env::current_exe()?.to_str().ok_or("the path is not UTF-8")?.to_owned();
    let stdio = StdioConfig { command, args, ..StdioConfig::default() };
    Ok(Upstream::new(UpstreamConfig::new(name, Endpoint::Stdio(stdio))))
}

async fn ready(way: &Upstream) -> Result<(), Failure> {
    for _ in 0..PATIENCE {
        let tools = way.list_tools().await?;
        if ["get", "put"].iter().all(|name| tools.iter().any(|tool| tool.name() == *name)) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Err(format!("`{}` never listed its tools", way.config().name).into())
}

async fn call(way: &Upstream, tool: &str) -> Result<Duration, Failure> {
    let mut arguments = Map::new();
    arguments.insert("text".to_owned(), Value::from(TEXT));
    let request = CallRequest::new(tool, arguments);
    let start = Instant::now();
    let outcome = way.call(request).await?;
    let spent = start.elapsed();
    match outcome {
        CallOutcome::Complete(reply) if !reply.is_error() && reply.raw().contains(TEXT) => {
            Ok(spent)
        }
        CallOutcome::Complete(reply) => Err(format!("unexpected: {}", reply.raw()).into()),
        other => Err(format!("unexpected: {other:?}").into()),
    }
}
