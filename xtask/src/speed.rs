//! `cargo xtask speed redaction`: how fast a part is, beside its peer on the same inputs.

mod peer;
mod report;

use anyhow::{Context, Result};
use clap::Subcommand;
use serde_json::Value;
use xshell::Shell;

use crate::{process, workspace};

/// What is measured.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// The redactor, hostile texts, memory, calls and drill-downs, beside agent-kernel (Python).
    Redaction(Redaction),
}

/// Options of `speed redaction`.
#[derive(clap::Args)]
struct Redaction {
    /// Little text and few runs, to see that it works.
    #[arg(long)]
    smoke: bool,
    /// Leave out the peer, which is installed from PyPI.
    #[arg(long)]
    no_peer: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Measure one part.
///
/// # Errors
/// When the programs do not build, fail, or the peer cannot be installed.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let What::Redaction(args) = &args.what;
    let target = workspace::metadata()?.target_directory.into_std_path_buf();
    process::run(process::cargo(sh).args([
        "build",
        "--release",
        "--package",
        "weaver-benches",
        "--bin",
        "redaction-speed",
    ]))?;
    let program =
        target.join("release").join(format!("redaction-speed{}", std::env::consts::EXE_SUFFIX));
    let smoke = if args.smoke { Some("--smoke") } else { None };
    let ours = read(xshell::cmd!(sh, "{program} {smoke...}"))?;
    let theirs = match args.no_peer {
        true => Value::Null,
        false => {
            let workloads = target.join("speed").join("workloads");
            process::run(xshell::cmd!(sh, "{program} workloads {workloads}"))?;
            let python = peer::python(sh, &target.join("speed"))?;
            let script = workspace::root()?.join("benches/redaction/peer.py");
            read(xshell::cmd!(sh, "{python} {script} {workloads} {smoke...}"))?
        }
    };
    if args.json {
        println!("{}", report::json(&ours, &theirs));
    } else {
        print!("{}", report::table(&ours, &theirs));
    }
    Ok(())
}

fn read(command: xshell::Cmd<'_>) -> Result<Value> {
    let shown = command.to_string();
    let text = command.read().with_context(|| format!("`{shown}` failed"))?;
    serde_json::from_str(&text).with_context(|| format!("`{shown}` gave no JSON"))
}
