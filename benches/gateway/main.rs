//! Calls through the gateway beside calls directly to its server, and what many callers, a long
//! session, many servers and a start cost.
//!
//! All ways use the same client and the same small server, in turns, so that whatever else the
//! machine does hits all alike. A read is recorded in the ledger without waiting for the disk, a
//! write waits until its intent is synced: the two levels of durability. The program starts itself
//! again as server, as relay and as gateway; `--weaver FILE` measures that command in the place of
//! the last. With `--sdk FILE`, client and server are also those of the official SDK, whose own work
//! is a part of each call, as it is for programs in use.
//!
//! `cargo xtask speed gateway`, or `cargo bench -p weaver-benches --bench gateway`; without `--bench`
//! or with `--test` it makes a few calls and measures nothing.

mod documents;
mod echo;
mod part;
mod program;
mod proxy;
mod relay;
mod role;
mod sdk;
mod spread;
mod ways;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use mimalloc::MiMalloc;
use serde_json::Value;
use weaver_drivers::confine;
use weaver_gateway::serve;

use part::Effort;
use program::Programs;

/// The allocator of the `weaver` command.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The error of the bench.
pub(crate) type Failure = Box<dyn std::error::Error>;

/// The arguments under which the program is a server, a relay or a gateway.
pub(crate) const AS_SERVER: &str = "as-server";
pub(crate) const AS_RELAY: &str = "as-relay";
pub(crate) const AS_RELAY_END: &str = "as-relay-end";
pub(crate) const AS_GATEWAY: &str = "as-gateway";
pub(crate) const AS_SHIM: &str = "as-shim";
pub(crate) const AS_DAEMON: &str = "as-daemon";

fn main() -> Result<ExitCode, Failure> {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|verb| verb == serve::LAUNCH_SUBCOMMAND) {
        return Ok(confine::launch(words));
    }
    run().map(|()| ExitCode::SUCCESS)
}

fn run() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    if let Some(done) = role::run(&arguments) {
        return done;
    }
    if has("--list") {
        return Ok(());
    }
    let program = |flag: &str| value_of(flag).map(PathBuf::from);
    let programs = Programs { weaver: program("--weaver"), sdk: program("--sdk") };
    let in_earnest = has("--bench") && !has("--test");
    let mut effort = if in_earnest { Effort::FULL } else { Effort::SMOKE };
    if let Some(calls) = value_of("--session") {
        effort.session = calls.to_str().ok_or("the number of calls is not UTF-8")?.parse()?;
    }
    let proxies = proxy::read(value_of("--proxies").map(PathBuf::from).as_deref())?;
    let only = value_of("--only");
    let measured = part::measure(&programs, &effort, &proxies, only.as_deref())?;
    match (has("--json"), in_earnest) {
        (true, _) => println!("{measured}"),
        (false, true) => print!("{}", shown(&measured)),
        (false, false) => println!("Testing gateway\nSuccess"),
    }
    Ok(())
}

/// What follows a flag.
fn value_of(flag: &str) -> Option<OsString> {
    let mut words = std::env::args_os().skip_while(|word| word != flag);
    words.nth(1)
}

fn shown(measured: &Value) -> String {
    let parts = measured.as_object().into_iter().flatten();
    let lines = parts.flat_map(|(part, figures)| {
        let figures = figures.as_object().into_iter().flatten();
        figures.map(move |(name, figure)| format!("gateway/{part} {name}: {figure}\n"))
    });
    lines.collect()
}
