//! `cargo xtask speed redaction|kernel|gateway|compile|routing`: how fast a part is, beside its peer on the same inputs.

mod compile;
mod gateway;
mod kernel;
mod line;
pub mod peer;
mod redaction;
mod routing;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Subcommand;
use serde_json::Value;
use xshell::{Shell, cmd};

use self::line::Round;
use crate::{process, workspace};

/// What is measured.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: SpeedVerb,
}

#[derive(Subcommand)]
enum SpeedVerb {
    /// The redactor, hostile texts, memory, calls and drill-downs, compared with agent-kernel
    /// (Python).
    Redaction(Turns),
    /// Tokens, grants and calls, with few and with many earlier ones, compared with agent-kernel
    /// (Python).
    Kernel(Turns),
    /// The context compiler, from 100 to 100,000 events, compared with contextweaver (Python).
    Compile(Compile),
    /// Calls through the gateway over pipes and HTTP, many callers, a long session, many servers
    /// and a start, compared with direct calls, a raw relay and two proxies (Python); also with
    /// client and server of the official SDK.
    Gateway(Gateway),
    /// Routing over 83 and 1,000 tools, compared with contextweaver (Python) and a plain BM25.
    Routing(Routing),
}

/// As [`Effort`], and how often ours and the peer are measured in turns.
#[derive(clap::Args)]
struct Turns {
    #[command(flatten)]
    effort: Effort,
    /// Measure Weaver and the peer in turns, this many times; each figure is the median.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..))]
    rounds: u8,
}

/// As [`Effort`], and of which program.
#[derive(clap::Args)]
struct Gateway {
    #[command(flatten)]
    effort: Effort,
    /// Measure this `weaver` instead of building one.
    #[arg(long, value_name = "FILE")]
    weaver: Option<PathBuf>,
    /// Calls of the long session.
    #[arg(long, value_name = "N")]
    session: Option<usize>,
    /// Measure only this: `one_caller`, `http`, `callers`, `sdk`, `session`, `servers` or `shim`.
    #[arg(long, value_name = "PART")]
    only: Option<String>,
}

/// As [`Effort`], and over which tools.
#[derive(clap::Args)]
struct Routing {
    #[command(flatten)]
    effort: Effort,
    /// A folder of sets with `tools.jsonl` and `queries.jsonl`, instead of generated tools.
    #[arg(long)]
    data: Option<PathBuf>,
}

/// How much, and how it is printed.
#[derive(clap::Args)]
struct Effort {
    /// Little work and few runs, only to check that it works.
    #[arg(long)]
    smoke: bool,
    /// Leave out the peer, which is installed from PyPI.
    #[arg(long)]
    no_peer: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// The same for the context compiler.
#[derive(clap::Args)]
struct Compile {
    #[command(flatten)]
    effort: Effort,
    /// Events of the log that both read; the peer takes minutes for 10,000.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    items: usize,
}

/// Measure one part.
///
/// # Errors
/// If the programs do not build or fail, or the peer cannot be installed.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let target = workspace::metadata()?.target_directory.into_std_path_buf();
    let shown = match &args.what {
        SpeedVerb::Redaction(args) => {
            let rounds = measure_redaction(sh, &target, args)?;
            shown(&args.effort, redaction::json(&rounds), redaction::table(&rounds))
        }
        SpeedVerb::Kernel(args) => {
            let rounds = measure_kernel(sh, &target, args)?;
            shown(&args.effort, kernel::json(&rounds), kernel::table(&rounds))
        }
        SpeedVerb::Gateway(args) => {
            let ours = gateway::measure(sh, &target, args)?;
            shown(&args.effort, gateway::json(&ours), gateway::table(&ours))
        }
        SpeedVerb::Compile(args) => {
            let (ours, theirs) = measure_compile(sh, &target, args)?;
            shown(&args.effort, compile::json(&ours, &theirs), compile::table(&ours, &theirs))
        }
        SpeedVerb::Routing(Routing { effort, data }) => {
            let (ours, theirs) = measure_routing(sh, &target, effort, data.as_deref())?;
            shown(effort, routing::json(&ours, &theirs), routing::table(&ours, &theirs))
        }
    };
    print!("{shown}");
    Ok(())
}

/// What is printed, for scripts or for people.
fn shown(effort: &Effort, json: Value, table: String) -> String {
    if effort.json { format!("{json}\n") } else { table }
}

fn measure_redaction(sh: &Shell, target: &Path, args: &Turns) -> Result<Vec<Round>> {
    let program = build_benchmark(sh, target, "redaction-speed")?;
    let calls = build_benchmark(sh, target, "kernel-speed")?;
    let smoke = args.effort.smoke.then_some("--smoke");
    let workloads = target.join("speed").join("workloads");
    let peer = peer_script(sh, target, &args.effort, "benches/redaction/peer.py")?;
    if peer.is_some() {
        process::run(cmd!(sh, "{program} workloads {workloads}"))?;
    }
    measure_rounds(args, || {
        let mut ours = read_json(cmd!(sh, "{program} {smoke...}"))?;
        ours["pipeline"] = read_json(cmd!(sh, "{calls} rows {smoke...}"))?;
        let theirs = match &peer {
            Some(PeerScript { python, script }) => {
                read_json(cmd!(sh, "{python} {script} {workloads} {smoke...}"))?
            }
            None => Value::Null,
        };
        Ok(Round { ours, theirs })
    })
}

fn measure_kernel(sh: &Shell, target: &Path, args: &Turns) -> Result<Vec<Round>> {
    let program = build_benchmark(sh, target, "kernel-speed")?;
    let smoke = args.effort.smoke.then_some("--smoke");
    let peer = peer_script(sh, target, &args.effort, "benches/kernel/peer.py")?;
    measure_rounds(args, || {
        let theirs = match &peer {
            Some(PeerScript { python, script }) => {
                read_json(cmd!(sh, "{python} {script} {smoke...}"))?
            }
            None => Value::Null,
        };
        Ok(Round { ours: read_json(cmd!(sh, "{program} {smoke...}"))?, theirs })
    })
}

/// As many rounds as requested; a smoke run has one.
fn measure_rounds(args: &Turns, mut round: impl FnMut() -> Result<Round>) -> Result<Vec<Round>> {
    let rounds = if args.effort.smoke { 1 } else { args.rounds };
    let measured = (1..=rounds).map(|number| {
        eprintln!("round {number} of {rounds}");
        round()
    });
    measured.collect()
}

/// agent-kernel (Python) and the script that measures it.
struct PeerScript {
    python: PathBuf,
    script: PathBuf,
}

/// `None` if the peer is left out.
fn peer_script(
    sh: &Shell,
    target: &Path,
    effort: &Effort,
    script: &str,
) -> Result<Option<PeerScript>> {
    if effort.no_peer {
        return Ok(None);
    }
    let python = peer::python(sh, &target.join("speed"), peer::AGENT_KERNEL)?;
    Ok(Some(PeerScript { python, script: workspace::root()?.join(script) }))
}

fn measure_compile(sh: &Shell, target: &Path, args: &Compile) -> Result<(Value, Value)> {
    let program = compile_speed(sh, target)?;
    let (smoke, items) = (args.effort.smoke, args.items.to_string());
    let items = if smoke { "1000".to_owned() } else { items };
    let flag = smoke.then_some("--smoke");
    let started = Instant::now();
    eprintln!("ours: append, build and rebuild of up to 100,000 events");
    let ours = read_json(cmd!(sh, "{program} {flag...} --items {items}"))?;
    eprintln!("ours: {:.0} s", started.elapsed().as_secs_f64());
    if args.effort.no_peer {
        return Ok((ours, Value::Null));
    }
    let workloads = target.join("speed").join("events");
    process::run(cmd!(sh, "{program} workloads {workloads} {items}"))?;
    let python = peer::python(sh, &target.join("speed"), peer::CONTEXTWEAVER)?;
    let script = workspace::root()?.join("benches/compile/peer.py");
    let log = workloads.join(format!("events_{items}.jsonl"));
    eprintln!("the peer: {items} events; it says how far it is");
    Ok((ours, read_json(cmd!(sh, "{python} {script} {log}"))?))
}

/// The benchmark of the context compiler, with only the features that it needs.
pub fn compile_speed(sh: &Shell, target: &Path) -> Result<PathBuf> {
    let package = ["--package", "weaver-benches", "--bin", "compile-speed"];
    let features = ["--no-default-features", "--features", "compile"];
    process::run(
        process::cargo(sh).args(["build", "--profile", "dist"]).args(package).args(features),
    )?;
    Ok(program_path(target, "compile-speed"))
}

fn measure_routing(
    sh: &Shell,
    target: &Path,
    effort: &Effort,
    data: Option<&Path>,
) -> Result<(Value, Value)> {
    let program = build_benchmark(sh, target, "routing")?;
    let smoke = effort.smoke.then_some("--smoke");
    let mut more: Vec<&OsStr> = smoke.into_iter().map(OsStr::new).collect();
    more.extend(data.into_iter().flat_map(|data| [OsStr::new("--data"), data.as_os_str()]));
    let more = &more;
    let ours = read_json(cmd!(sh, "{program} speed {more...}"))?;
    if effort.no_peer {
        return Ok((ours, Value::Null));
    }
    let workloads = target.join("speed").join("tools");
    process::run(cmd!(sh, "{program} workloads {workloads} {more...}"))?;
    let python = peer::python(sh, &target.join("speed"), peer::CONTEXTWEAVER)?;
    let script = workspace::root()?.join("benches/routing/peer.py");
    Ok((ours, read_json(cmd!(sh, "{python} {script} {workloads} 83 1000"))?))
}

fn build_benchmark(sh: &Shell, target: &Path, bin: &str) -> Result<PathBuf> {
    let package = ["--package", "weaver-benches", "--bin", bin];
    process::run(process::cargo(sh).args(["build", "--profile", "dist"]).args(package))?;
    Ok(program_path(target, bin))
}

fn program_path(target: &Path, bin: &str) -> PathBuf {
    crate::build::program(&target.join("dist"), bin)
}

fn read_json(command: xshell::Cmd<'_>) -> Result<Value> {
    let shown = command.to_string();
    let text = command.read().with_context(|| format!("`{shown}` failed"))?;
    serde_json::from_str(&text).with_context(|| format!("`{shown}` gave no JSON"))
}
