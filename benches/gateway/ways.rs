//! The ways to the server, and calls over all of them in turns.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use weaver_drivers::mcp::{CallOutcome, CallRequest, Upstream};
use weaver_trace_store::{OpenOptions, SqliteLedger};
use weaver_types::ledger::{Batch, Durability, Ledger, NewEvent};
use weaver_types::{Clock as _, EventKind, SystemClock};

use crate::Failure;
use crate::spread::Spread;

/// 64 bytes.
const TEXT: &str = "The quick brown fox jumps over the lazy dog. The quick brown fox";
/// How often the gateway is asked for its tools until it has them, 20 ms apart.
const PATIENCE: usize = 500;
/// Bytes of the event that is appended for comparison.
const EVENT: usize = 300;

/// One way, by its name in the table.
pub(crate) struct CallRoute {
    pub(crate) name: String,
    end: End,
}

enum End {
    /// A call of a tool.
    Server(Arc<Upstream>),
    /// One append to a ledger, acknowledged after its sync: what a call that is synced waits for.
    Append(SqliteLedger),
}

impl CallRoute {
    /// A way to a server; it is ready when the tools are listed.
    pub(crate) async fn to(upstream: Upstream) -> Result<Self, Failure> {
        ready(&upstream).await?;
        Ok(Self { name: upstream.config().name.clone(), end: End::Server(Arc::new(upstream)) })
    }

    pub(crate) fn append(ledger: &Path) -> Result<Self, Failure> {
        let ledger = SqliteLedger::open(ledger, OpenOptions::default())?;
        Ok(Self { name: "append".to_owned(), end: End::Append(ledger) })
    }

    pub(crate) async fn call(&self, tool: &str) -> Result<Duration, Failure> {
        match &self.end {
            End::Server(upstream) => call(upstream, tool).await,
            End::Append(ledger) => append(ledger).await,
        }
    }

    /// The calls a second that this number of callers reaches together.
    pub(crate) async fn rate(&self, callers: usize, each: usize) -> Result<f64, Failure> {
        let End::Server(upstream) = &self.end else { return Err("no server".into()) };
        let start = Instant::now();
        let callers: Vec<_> = (0..callers)
            .map(|_| {
                let upstream = Arc::clone(upstream);
                tokio::spawn(async move {
                    for _ in 0..each {
                        call(&upstream, "get").await.map_err(|error| error.to_string())?;
                    }
                    Ok::<usize, String>(each)
                })
            })
            .collect();
        let mut calls = 0;
        for caller in callers {
            calls += caller.await??;
        }
        Ok(calls as f64 / start.elapsed().as_secs_f64())
    }

    pub(crate) async fn close(self) {
        if let End::Server(upstream) = &self.end {
            upstream.close().await;
        }
    }
}

/// Calls the tool `rounds` times over each way, in turns.
pub(crate) async fn turns(
    ways: &[CallRoute],
    tool: &str,
    rounds: usize,
) -> Result<Vec<Spread>, Failure> {
    let mut times = vec![Vec::with_capacity(rounds); ways.len()];
    for _ in 0..rounds {
        for (way, times) in ways.iter().zip(&mut times) {
            times.push(way.call(tool).await?);
        }
    }
    Ok(times.into_iter().map(Spread::of).collect())
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

async fn append(ledger: &SqliteLedger) -> Result<Duration, Failure> {
    let event = NewEvent {
        kind: EventKind::Intent,
        at: SystemClock::default().now(),
        run: None,
        call: None,
        payload: format!("{{\"text\":\"{}\"}}", "x".repeat(EVENT)).into_bytes().into(),
    };
    let start = Instant::now();
    ledger.commit(Batch::new(Durability::Disk).with_event(event)).await?;
    Ok(start.elapsed())
}
