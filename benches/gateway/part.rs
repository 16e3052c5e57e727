//! The parts of the measurement.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use weaver_trace_store::{Reader, verify};

use crate::documents::{Servers, Setup, resident};
use crate::echo::{self, LISTED};
use crate::program::{self, Programs};
use crate::proxy::Proxy;
use crate::spread::{Spread, micros};
use crate::ways::{CallRoute, turns};
use crate::{AS_RELAY, AS_SERVER, Failure};

/// How much is done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Calls over each way, and those before them that do not count.
    pub(crate) calls: usize,
    warm_up: usize,
    /// Calls of each of many callers.
    pub(crate) each: usize,
    /// Calls of the long session.
    pub(crate) session: usize,
    /// Servers, and tools of each.
    servers: usize,
    tools: usize,
    /// Starts of a shim.
    starts: usize,
}

impl Effort {
    pub(crate) const FULL: Self = Self {
        calls: 1_000,
        warm_up: 100,
        each: 100,
        session: 100_000,
        servers: 50,
        tools: 200,
        starts: 50,
    };
    pub(crate) const SMOKE: Self =
        Self { calls: 5, warm_up: 1, each: 2, session: 50, servers: 3, tools: 10, starts: 3 };
}

pub(crate) const CALLERS: usize = 64;
/// How long many servers may take to be ready.
const PATIENCE: Duration = Duration::from_secs(60);
const MEGABYTE: f64 = 1024.0 * 1024.0;

/// Figures of each part, or of the one that is named.
pub(crate) fn measure(
    programs: &Programs,
    effort: &Effort,
    proxies: &[Proxy],
    only: Option<&OsStr>,
) -> Result<Value, Failure> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let wanted = |part: &str| only.is_none_or(|only| only == part);
    runtime.block_on(async {
        let mut measured = Map::new();
        let mut add = |name: &str, figures: Value| {
            eprintln!("{name}: {figures}");
            measured.insert(name.to_owned(), figures);
        };
        if wanted("one_caller") {
            add("one_caller", one_caller(programs, effort, proxies).await?);
        }
        if wanted("http") {
            add("http", over_http(programs, effort, proxies).await?);
        }
        if wanted("callers") {
            add("callers", callers(programs, effort).await?);
        }
        if wanted("sdk")
            && let Some(sdk) = &programs.sdk
        {
            add("sdk", crate::sdk::measure(programs, sdk, effort)?);
        }
        if wanted("session") {
            add("session", session(programs, effort).await?);
        }
        if wanted("servers") {
            add("servers", servers(programs, effort).await?);
        }
        if wanted("shim") {
            add("shim", shim(programs, effort).await?);
        }
        Ok(Value::Object(measured))
    })
}

/// One caller over pipes: a read over every way, and a write beside one synced append.
async fn one_caller(
    programs: &Programs,
    effort: &Effort,
    proxies: &[Proxy],
) -> Result<Value, Failure> {
    let [alone, shared] = [Setup::write(Servers::One)?, Setup::write(Servers::One)?];
    let mut ways = vec![
        CallRoute::to(program::stdio("direct", program::own(AS_SERVER)?)).await?,
        CallRoute::to(program::stdio("relay", program::own(AS_RELAY)?)).await?,
        CallRoute::to(program::stdio("alone", programs.standalone(&alone.config)?)).await?,
        CallRoute::to(program::stdio("shared", programs.shim(&shared.config)?)).await?,
    ];
    for proxy in proxies.iter().filter(|proxy| !proxy.is_http()) {
        ways.push(proxy.way().await?.0);
    }
    let mut figures = Map::new();
    turns(&ways, "get", effort.warm_up).await?;
    figures.insert("get".to_owned(), of_ways(&ways, &turns(&ways, "get", effort.calls).await?));
    // A write of a proxy is no other thing than a read.
    for proxy in ways.drain(4..) {
        proxy.close().await;
    }
    ways.push(CallRoute::append(&shared.beside("appended.db"))?);
    turns(&ways, "put", effort.warm_up).await?;
    figures.insert("put".to_owned(), of_ways(&ways, &turns(&ways, "put", effort.calls).await?));
    for way in ways {
        way.close().await;
    }
    let writes = (effort.calls + effort.warm_up) as u64;
    for setup in [&alone, &shared] {
        check(setup, writes)?;
    }
    Ok(Value::Object(figures))
}

/// A client over HTTP.
async fn over_http(
    programs: &Programs,
    effort: &Effort,
    proxies: &[Proxy],
) -> Result<Value, Failure> {
    let setup = Setup::write(Servers::One)?;
    // The shim starts the daemon, which also listens.
    let shim = CallRoute::to(program::stdio("shim", programs.shim(&setup.config)?)).await?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let direct = format!("http://{}/mcp", listener.local_addr()?);
    let server = tokio::spawn(echo::serve_http(listener));
    let mut ways = vec![
        CallRoute::to(program::http("direct", direct)).await?,
        CallRoute::to(program::http("shared", format!("http://{}/mcp", setup.http))).await?,
    ];
    let mut listening = Vec::new();
    for proxy in proxies.iter().filter(|proxy| proxy.is_http()) {
        let (way, process) = proxy.way().await?;
        ways.push(way);
        listening.extend(process);
    }
    turns(&ways, "get", effort.warm_up).await?;
    let figures = of_ways(&ways, &turns(&ways, "get", effort.calls).await?);
    for way in ways {
        way.close().await;
    }
    shim.close().await;
    server.abort();
    Ok(figures)
}

/// Many callers of one client at once.
async fn callers(programs: &Programs, effort: &Effort) -> Result<Value, Failure> {
    let setup = Setup::write(Servers::One)?;
    let direct = CallRoute::to(program::stdio("direct", program::own(AS_SERVER)?)).await?;
    let shared = CallRoute::to(program::stdio("shared", programs.shim(&setup.config)?)).await?;
    for way in [&direct, &shared] {
        way.rate(CALLERS, effort.warm_up.div_ceil(CALLERS)).await?;
    }
    let rates =
        [direct.rate(CALLERS, effort.each).await?, shared.rate(CALLERS, effort.each).await?];
    direct.close().await;
    shared.close().await;
    Ok(json!({ "callers": CALLERS, "direct_per_s": rates[0], "shared_per_s": rates[1] }))
}

/// A long session: whether its last calls take as long as its first, and its memory.
async fn session(programs: &Programs, effort: &Effort) -> Result<Value, Failure> {
    let setup = Setup::write(Servers::One)?;
    let shared = CallRoute::to(program::stdio("shared", programs.shim(&setup.config)?)).await?;
    for _ in 0..effort.warm_up {
        shared.call("get").await?;
    }
    let (mut tenths, mut memory) = (Vec::new(), Vec::new());
    for _ in 0..10 {
        let mut times = Vec::new();
        for _ in 0..effort.session.div_ceil(10) {
            times.push(shared.call("get").await?);
        }
        tenths.push(micros(Spread::of(times).median));
        memory.push(setup.daemon_memory()?.map(|bytes| bytes as f64 / MEGABYTE));
    }
    shared.close().await;
    Ok(json!({
        "calls": effort.session,
        "first_us": tenths.first(), "last_us": tenths.last(),
        "middle_mb": memory.get(4), "last_mb": memory.last(),
    }))
}

/// Many servers with many tools: how long after the last of them answered all can be used.
async fn servers(programs: &Programs, effort: &Effort) -> Result<Value, Failure> {
    let Effort { servers, tools, .. } = *effort;
    let more = tools.saturating_sub(2);
    let setup = Setup::write(Servers::Many { servers, more })?;
    let client = program::stdio("shared", programs.shim(&setup.config)?);
    let begun = Instant::now();
    // The first request starts the daemon.
    let mut listed = client.list_tools().await?;
    loop {
        if begun.elapsed() > PATIENCE {
            return Err(format!("only {} tools are there", listed.len()).into());
        }
        let status = setup.status()?.server;
        if status.servers.values().filter(|server| server.is_ready()).count() == servers {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let ready = echo::now_us();
    listed = client.list_tools().await?;
    let count = listed.iter().filter(|tool| tool.raw().contains(LISTED)).count();
    if count < servers * tools {
        return Err(format!("of {} tools only {count} are listed", servers * tools).into());
    }
    let last = listed.iter().filter_map(|tool| listed_at(tool.raw())).max();
    let memory = setup.daemon_memory()?.map(|bytes| bytes as f64 / MEGABYTE);
    client.close().await;
    let after = last.map(|last| ready.saturating_sub(last) as f64 / 1e3);
    Ok(json!({
        "servers": servers, "tools": tools,
        "start_ms": begun.elapsed().as_secs_f64() * 1e3, "ready_after_last_ms": after,
        "memory_mb": memory,
    }))
}

/// When a server listed its tools first, by the description of one.
fn listed_at(tool: &str) -> Option<i64> {
    let digits = tool.split_once(LISTED)?.1;
    let end = digits.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end)?.parse().ok()
}

/// A shim whose daemon is there: from its start to its first answer, and its memory.
async fn shim(programs: &Programs, effort: &Effort) -> Result<Value, Failure> {
    let setup = Setup::write(Servers::One)?;
    let first = CallRoute::to(program::stdio("first", programs.shim(&setup.config)?)).await?;
    let command = programs.shim(&setup.config)?;
    let (mut times, mut memory) = (Vec::new(), 0);
    for _ in 0..effort.starts {
        let begun = Instant::now();
        let mut shim = Command::new(&command.command)
            .args(&command.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(mut input), Some(output)) = (shim.stdin.take(), shim.stdout.take()) else {
            return Err("the shim has no pipes".into());
        };
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" },
        } });
        writeln!(input, "{request}")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        times.push(begun.elapsed());
        if !line.contains("serverInfo") {
            return Err(format!("unexpected: {line}").into());
        }
        memory = memory.max(resident(shim.id()).unwrap_or_default());
        drop(input);
        shim.wait()?;
    }
    first.close().await;
    let spread = Spread::of(times);
    Ok(json!({ "first_answer": spread.to_json(), "memory_mb": memory as f64 / MEGABYTE }))
}

fn of_ways(ways: &[CallRoute], spreads: &[Spread]) -> Value {
    let one = |(way, spread): (&CallRoute, &Spread)| (way.name.clone(), spread.to_json());
    Value::Object(ways.iter().zip(spreads).map(one).collect())
}

/// The ledger verifies, and as many writes as were made waited for the disk.
fn check(setup: &Setup, writes: u64) -> Result<(), Failure> {
    let report = verify::verify(&Reader::open(&setup.ledger)?, None)?;
    if report.synced < writes || report.head.size < 4 * writes {
        return Err(format!("{} events, {} synced", report.head.size, report.synced).into());
    }
    Ok(())
}
