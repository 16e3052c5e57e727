//! Calls over several ways to the same tool, in turns.

use std::time::{Duration, Instant};

use rmcp::model::{CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::RunningService;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{ConfigureCommandExt as _, StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{Peer, RoleClient, ServiceExt as _};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::Failure;

/// 64 bytes.
const TEXT: &str = "The quick brown fox jumps over the lazy dog. The quick brown fox";
/// Calls over one way before it is the next one's turn.
const TURN: usize = 100;
/// How often a server is asked for its tools until it has them, 20 ms apart.
const PATIENCE: usize = 500;

/// What is measured.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plan {
    ways: Vec<CallRoute>,
    /// Calls of one caller over each way.
    calls: usize,
    /// Callers at once, and calls of each of them.
    callers: usize,
    each: usize,
}

/// A way to the server: a program with its pipes, or an address.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallRoute {
    name: String,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    url: Option<String>,
}

type Client = RunningService<RoleClient, ClientConfig>;

/// The median and the slowest hundredth of one caller, and the calls a second of many, by way.
pub(crate) async fn measure(plan: Plan) -> Result<Value, Failure> {
    let mut clients = Vec::new();
    for way in &plan.ways {
        clients.push(connect(way).await?);
    }
    for client in &clients {
        repeat(client.peer(), plan.calls.min(TURN)).await?;
    }
    let mut times = vec![Vec::new(); clients.len()];
    for turn in 0..plan.calls.div_ceil(TURN) {
        let calls = TURN.min(plan.calls - turn * TURN);
        for (client, times) in clients.iter().zip(&mut times) {
            times.extend(repeat(client.peer(), calls).await?);
        }
    }
    let mut figures = Map::new();
    for ((way, client), mut times) in plan.ways.iter().zip(&clients).zip(times) {
        times.sort_unstable();
        let at =
            |part: usize| times.get(times.len() * part / 100).map(|time| time.as_secs_f64() * 1e6);
        let rate = rate(client, plan.callers, plan.each).await?;
        let figure = json!({ "median_us": at(50), "p99_us": at(99), "calls_per_s": rate });
        figures.insert(way.name.clone(), figure);
    }
    for client in clients {
        client.cancel().await?;
    }
    Ok(Value::Object(figures))
}

async fn connect(way: &CallRoute) -> Result<Client, Failure> {
    let identity = Implementation::new("bench", "1");
    let info = ClientConfig::new(ClientCapabilities::default(), identity);
    let client = match (&way.url, way.command.split_first()) {
        (Some(url), _) => {
            let config = StreamableHttpClientTransportConfig::with_uri(url.clone());
            info.serve(StreamableHttpClientTransport::from_config(config)).await?
        }
        (None, Some((program, arguments))) => {
            let command = tokio::process::Command::new(program);
            let command = command.configure(|command| {
                command.args(arguments);
            });
            let child = TokioChildProcess::builder(command).stderr(std::process::Stdio::null());
            info.serve(child.spawn()?.0).await?
        }
        (None, None) => return Err(format!("`{}` leads nowhere", way.name).into()),
    };
    for _ in 0..PATIENCE {
        if client.list_all_tools().await?.iter().any(|tool| tool.name == "get") {
            return Ok(client);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Err(format!("`{}` never listed its tools", way.name).into())
}

async fn repeat(peer: &Peer<RoleClient>, calls: usize) -> Result<Vec<Duration>, Failure> {
    let arguments = Map::from_iter([("text".to_owned(), Value::from(TEXT))]);
    let params = CallToolRequestParams::new("get").with_arguments(arguments);
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let begun = Instant::now();
        let result = peer.call_tool(params.clone()).await?;
        times.push(begun.elapsed());
        if result.is_error == Some(true) {
            return Err(format!("unexpected: {result:?}").into());
        }
    }
    Ok(times)
}

async fn rate(client: &Client, callers: usize, each: usize) -> Result<f64, Failure> {
    let begun = Instant::now();
    let callers: Vec<_> = (0..callers)
        .map(|_| {
            let peer = client.peer().clone();
            tokio::spawn(async move { repeat(&peer, each).await })
        })
        .collect();
    let mut calls = 0;
    for caller in callers {
        calls += caller.await??.len();
    }
    Ok(calls as f64 / begun.elapsed().as_secs_f64())
}
