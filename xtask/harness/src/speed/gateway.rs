//! Calls through the gateway compared with direct calls to its server, and the targets.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};
use xshell::Shell;

use super::line::{self, TargetResult, number, ratio};
use super::peer::{self, Peer};
use super::{Gateway, read_json};
use crate::process;

const MEGABYTES: &str = "MB";

/// Builds the benchmark and the command, installs the proxies, and measures all. A smoke run builds
/// no optimised program, and measures the benchmark instead of the command.
pub fn measure(sh: &Shell, target: &Path, args: &Gateway) -> Result<Value> {
    let Gateway { effort, weaver, session, only } = args;
    let mut words: Vec<String> = Vec::new();
    let mut add = |flag: &str, value: String| words.extend([flag.to_owned(), value]);
    if let Some(weaver) = weaver {
        add("--weaver", weaver.canonicalize()?.display().to_string());
    } else if !effort.smoke {
        let package = ["--package", "weaver-cli", "--bin", "weaver"];
        process::run(process::cargo(sh).args(["build", "--profile", "dist"]).args(package))?;
        add("--weaver", super::program_path(target, "weaver").display().to_string());
    }
    if let Some(calls) = session {
        add("--session", calls.to_string());
    }
    if let Some(part) = only {
        add("--only", part.clone());
    }
    if !effort.no_peer && !effort.smoke {
        let file = target.join("speed").join("proxies.json");
        sh.write_file(&file, proxies(sh, target)?.to_string())?;
        add("--proxies", file.display().to_string());
        add("--sdk", sdk(sh, target)?);
    }
    let profile = if effort.smoke { "dev" } else { "dist" };
    let bench =
        ["bench", "--profile", profile, "--package", "weaver-benches", "--bench", "gateway"];
    let smoke = effort.smoke.then_some("--test");
    read_json(process::cargo(sh).args(bench).args(["--", "--json"]).args(smoke).args(words))
}

/// Builds client and server of the official SDK, in a workspace of their own.
fn sdk(sh: &Shell, target: &Path) -> Result<String> {
    let folder = target.join("sdk");
    let build = ["build", "--release", "--manifest-path", "benches/sdk/Cargo.toml", "--target-dir"];
    process::run(process::cargo(sh).args(build).arg(&folder))?;
    Ok(folder.join("release").join("weaver-sdk-bench").display().to_string())
}

/// How the proxies are started. One that cannot be installed is left out and reported.
fn proxies(sh: &Shell, target: &Path) -> Result<Value> {
    let folder = target.join("speed");
    let installed = |peer: Peer| {
        let python = peer::python(sh, &folder, peer);
        python.map_err(|error| eprintln!("a proxy is left out: {error:#}")).ok()
    };
    let fastmcp = installed(peer::FASTMCP).map(|python| {
        let script = "from fastmcp.server import create_proxy\n\
             import sys\n\
             server = {'command': sys.argv[1], 'args': [sys.argv[2]]}\n\
             create_proxy({'mcpServers': {'echo': server}}).run(show_banner=False)";
        json!({ "name": "FastMCP 4.1.2", "command": python, "args": ["-c", script, "{server}", "{role}"] })
    });
    let mcp_proxy = installed(peer::MCP_PROXY).map(|python| {
        let words =
            ["-m", "mcp_proxy", "--port", "{port}", "--stateless", "--", "{server}", "{role}"];
        let url = "http://127.0.0.1:{port}/mcp";
        json!({ "name": "mcp-proxy 0.13.0", "command": python, "args": words, "url": url })
    });
    Ok([fastmcp, mcp_proxy].into_iter().flatten().collect())
}

fn lines(ours: &Value) -> Vec<TargetResult> {
    let mut lines = one_caller(ours);
    lines.extend(with_sdk(ours));
    lines.extend(under_load(ours));
    lines.extend(shim_start(ours));
    lines
}

/// One caller over pipes and over HTTP.
fn one_caller(ours: &Value) -> Vec<TargetResult> {
    let median = |tool, way| number(ours, &["one_caller", tool, way, "median_us"]);
    let p99 = |tool, way| number(ours, &["one_caller", tool, way, "p99_us"]);
    let http = |way| number(ours, &["http", way, "median_us"]);
    let shared = median("get", "shared");
    let synced = median("put", "shared").zip(median("put", "append"));
    vec![
        at_most_ratio(
            "a read through shim and daemon, of a direct one",
            ratio(shared, median("get", "direct")),
            5.0,
        ),
        at_most_ratio(
            "the same, of a raw relay through two processes",
            ratio(shared, median("get", "relay")),
            2.5,
        ),
        at_most_ratio(
            "its slowest hundredth, of its median",
            ratio(p99("get", "shared"), shared),
            3.0,
        ),
        at_most_ratio(
            "a read through shim and daemon, of a gateway alone",
            ratio(shared, median("get", "alone")),
            1.2,
        ),
        at_most_ratio(
            "a synced write less one synced append, of a direct one",
            ratio(synced.map(|(call, append)| call - append), median("put", "direct")),
            5.0,
        ),
        at_most_ratio(
            "a read over HTTP, of a direct one",
            ratio(http("shared"), http("direct")),
            1.6,
        ),
    ]
}

/// Client and server of the official SDK, whose own work is a part of each call.
fn with_sdk(ours: &Value) -> Vec<TargetResult> {
    let of = |way, what| number(ours, &["sdk", way, what]);
    let compared = |what, way, direct| ratio(of(way, what), of(direct, what));
    let at_least = |name, value| TargetResult { name, value, target: 0.2, unit: "x" };
    vec![
        at_most_ratio(
            "official SDK: a read through shim and daemon, of a direct one",
            compared("median_us", "shared", "direct"),
            5.0,
        ),
        at_most_ratio(
            "official SDK: its slowest hundredth, of its median",
            ratio(of("shared", "p99_us"), of("shared", "median_us")),
            3.0,
        ),
        at_most_ratio(
            "official SDK: a read over HTTP, of a direct one",
            compared("median_us", "http_shared", "http_direct"),
            1.6,
        ),
        at_least(
            "official SDK: calls a second of 64 callers, of direct ones",
            compared("calls_per_s", "shared", "direct"),
        ),
        at_least(
            "official SDK: the same over HTTP",
            compared("calls_per_s", "http_shared", "http_direct"),
        ),
    ]
}

/// Many callers, many calls, many servers.
fn under_load(ours: &Value) -> Vec<TargetResult> {
    let callers = |what| number(ours, &["callers", what]);
    let session = |what| number(ours, &["session", what]);
    let servers = |what| number(ours, &["servers", what]);
    let rate = ratio(callers("shared_per_s"), callers("direct_per_s"));
    vec![
        TargetResult {
            name: "calls a second of 64 callers, of direct ones",
            value: rate,
            target: 0.2,
            unit: "x",
        },
        at_most_ratio(
            "the last tenth of a long session, of its first",
            ratio(session("last_us"), session("first_us")),
            1.1,
        ),
        at_most_ratio(
            "memory at its end, of that in the middle",
            ratio(session("last_mb"), session("middle_mb")),
            1.1,
        ),
        at_most(
            "many servers: ready after the last",
            servers("ready_after_last_ms"),
            2_000.0,
            "ms",
        ),
        at_most("many servers: memory", servers("memory_mb"), 150.0, MEGABYTES),
    ]
}

/// The start of a shim with a running daemon.
fn shim_start(ours: &Value) -> Vec<TargetResult> {
    let answer = number(ours, &["shim", "first_answer", "median_us"]).map(|us| us / 1e3);
    vec![
        at_most("a shim: from its start to its first answer", answer, 30.0, "ms"),
        at_most("a shim: memory", number(ours, &["shim", "memory_mb"]), 15.0, MEGABYTES),
    ]
}

fn at_most_ratio(name: &'static str, value: Option<f64>, target: f64) -> TargetResult {
    at_most(name, value, target, "x")
}

fn at_most(
    name: &'static str,
    value: Option<f64>,
    target: f64,
    unit: &'static str,
) -> TargetResult {
    TargetResult { name, value, target: -target, unit }
}

/// For scripts.
pub fn json(ours: &Value) -> Value {
    line::json(&lines(ours), ours, &Value::Null)
}

/// For people.
pub fn table(ours: &Value) -> String {
    let mut out = String::from("one caller: microseconds of a call\n\n");
    let of = |way: &Value, what: &str| {
        way.get(what).and_then(Value::as_f64).map_or("-".to_owned(), |us| format!("{us:.0}"))
    };
    let groups = [&["one_caller", "get"][..], &["one_caller", "put"], &["http"]];
    for path in groups {
        let found = path.iter().try_fold(ours, |at, key| at.get(key));
        let direct = found.and_then(|ways| number(ways, &["direct", "median_us"]));
        for (name, way) in found.and_then(Value::as_object).into_iter().flatten() {
            let times = ratio(number(way, &["median_us"]), direct);
            let times = times.map_or("-".to_owned(), |times| format!("{times:.2}"));
            let (median, p99) = (of(way, "median_us"), of(way, "p99_us"));
            let group = path.join(" ");
            let _ = writeln!(out, "{group:<16}{name:<22}{median:>8}  p99 {p99:>8}  {times:>7} x");
        }
    }
    out.push('\n');
    for part in ["sdk", "callers", "session", "servers", "shim"] {
        if let Some(figures) = ours.get(part) {
            let _ = writeln!(out, "{part:<10}{figures}");
        }
    }
    out.push('\n');
    out + &line::text(&lines(ours))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_figure_stands_beside_its_target() {
        let spread =
            |median_us: u32, p99_us: u32| json!({ "median_us": median_us, "p99_us": p99_us });
        let ours = json!({
            "one_caller": {
                "get": {
                    "direct": spread(100, 200), "relay": spread(200, 300),
                    "alone": spread(450, 900), "shared": spread(490, 1_500),
                },
                "put": { "direct": spread(100, 200), "shared": spread(4_600, 9_000), "append": spread(4_000, 8_000) },
            },
            "http": { "direct": spread(300, 400), "shared": spread(480, 900) },
            "sdk": {
                "direct": { "median_us": 100, "calls_per_s": 10_000 },
                "shared": { "median_us": 400, "p99_us": 1_300, "calls_per_s": 2_100 },
                "http_direct": { "median_us": 400, "calls_per_s": 8_000 },
                "http_shared": { "median_us": 600, "calls_per_s": 1_500 },
            },
            "callers": { "direct_per_s": 10_000.0, "shared_per_s": 1_900.0 },
            "session": { "first_us": 500.0, "last_us": 540.0, "middle_mb": 50.0, "last_mb": 56.0 },
            "servers": { "ready_after_last_ms": 300.0, "memory_mb": 160.0 },
            "shim": { "first_answer": spread(20_000, 40_000), "memory_mb": 9.0 },
        });
        let good: Vec<bool> = lines(&ours).iter().filter_map(TargetResult::is_met).collect();
        let of_sdk = [true, false, true, true, false];
        let target = [
            &[true, true, false, true, false, true][..],
            &of_sdk,
            &[false, true, false, true, false, true, true],
        ]
        .concat();
        assert_eq!(good, target);
        assert!(table(&ours).contains("4.90 x"));
        assert!(lines(&json!({})).iter().all(|line| line.is_met().is_none()));
    }
}
