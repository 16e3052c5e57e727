//! One call over stdio: through `weaver serve` against directly to the server, as a ratio.
//!
//! Both ways use the same client and the same small server, in turns, so that whatever else the
//! machine does hits both alike. The read is recorded in the ledger without waiting for the disk,
//! the write waits until its intent is synced: the two levels of durability. The program starts
//! itself again as server and as gateway.
//!
//! `cargo bench -p weaver-benches --bench gateway`; without `--bench` or with `--test` it makes a
//! few calls and measures nothing.

mod documents;
mod echo;
mod ways;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use weaver_drivers::confine;
use weaver_gateway::serve;
use weaver_trace_store::{Reader, verify};
use weaver_types::{Clock, SystemClock};

use documents::Setup;
use ways::Ways;

/// The error of the bench.
pub(crate) type Failure = Box<dyn std::error::Error>;

/// The arguments under which the program is a server or a gateway.
pub(crate) const AS_SERVER: &str = "as-server";
pub(crate) const AS_GATEWAY: &str = "as-gateway";

const CALLS: usize = 1_000;
const WARM_UP: usize = 100;
const FEW: usize = 5;

fn main() -> Result<ExitCode, Failure> {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|verb| verb == serve::LAUNCH) {
        return Ok(confine::launch(words));
    }
    run().map(|()| ExitCode::SUCCESS)
}

fn run() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some(AS_SERVER) => Ok(echo::serve()?),
        Some(AS_GATEWAY) => gateway(Path::new(arguments.get(1).ok_or("no configuration")?)),
        _ if arguments.iter().any(|argument| argument == "--list") => Ok(()),
        _ => {
            let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
            measure(has("--bench") && !has("--test"))
        }
    }
}

/// What `weaver serve` does.
fn gateway(config: &Path) -> Result<(), Failure> {
    let config = weaver_gateway::config::load(config)?;
    serve::run(config, serve::ServeOptions::default())?;
    Ok(())
}

fn measure(in_earnest: bool) -> Result<(), Failure> {
    let (calls, warm_up) = if in_earnest { (CALLS, WARM_UP) } else { (FEW, 1) };
    let setup = Setup::write(SystemClock::default().now())?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        let ways = Ways::open(&setup.config).await?;
        for (tool, durability) in [("get", "process death"), ("put", "power loss")] {
            ways.compare(tool, warm_up).await?;
            let times = ways.compare(tool, calls).await?;
            if in_earnest {
                let (direct, through) = (median(times.direct), median(times.through));
                let ratio = through.as_secs_f64() / direct.as_secs_f64();
                println!(
                    "gateway/{tool}: direct {direct:?}, through the gateway {through:?}, \
                     ratio {ratio:.2} (median of {calls}; survives {durability})"
                );
            } else {
                println!("Testing gateway/{tool}\nSuccess");
            }
        }
        ways.close().await;
        Ok::<(), Failure>(())
    })?;
    check(&setup.ledger, (calls + warm_up) as u64)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// The ledger verifies, and as many writes as were made waited for the disk.
fn check(ledger: &Path, writes: u64) -> Result<(), Failure> {
    let report = verify::verify(&Reader::open(ledger)?, None)?;
    if report.synced < writes || report.head.size < 4 * writes {
        return Err(format!("{} events, {} synced", report.head.size, report.synced).into());
    }
    Ok(())
}
