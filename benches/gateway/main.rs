//! One call over stdio, as a ratio to one directly to the server: through a gateway of its own, and
//! through the shim and the daemon that many clients share.
//!
//! All ways use the same client and the same small server, in turns, so that whatever else the
//! machine does hits all alike. The read is recorded in the ledger without waiting for the disk,
//! the write waits until its intent is synced: the two levels of durability. The program starts
//! itself again as server and as gateway.
//!
//! `cargo xtask speed gateway`, or `cargo bench -p weaver-benches --bench gateway`; without `--bench`
//! or with `--test` it makes a few calls and measures nothing.

mod documents;
mod echo;
mod ways;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Map, Value, json};
use weaver_drivers::confine;
use weaver_gateway::daemon::{
    self, DaemonCommand, DaemonFolder, DaemonOptions, SessionRequest, ShimOptions,
};
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
pub(crate) const AS_SHIM: &str = "as-shim";
const AS_DAEMON: &str = "as-daemon";
/// After how long without a client the daemon ends.
const IDLE_EXIT: Duration = Duration::from_secs(2);

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
        Some(role @ (AS_GATEWAY | AS_SHIM | AS_DAEMON)) => {
            let config = Path::new(arguments.get(1).ok_or("no configuration")?);
            match role {
                AS_SHIM => shim(config),
                AS_DAEMON => daemon(config),
                _ => gateway(config),
            }
        }
        _ if arguments.iter().any(|argument| argument == "--list") => Ok(()),
        _ => {
            let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
            let measured = measure(has("--bench") && !has("--test"))?;
            print!("{}", if has("--json") { format!("{measured}\n") } else { shown(&measured) });
            Ok(())
        }
    }
}

/// What `weaver serve` does.
fn gateway(config: &Path) -> Result<(), Failure> {
    let config = weaver_gateway::config::load(config)?;
    serve::run(config, serve::ServeOptions::default(), None)?;
    Ok(())
}

/// What `weaver serve` does where clients share a daemon.
fn shim(config: &Path) -> Result<(), Failure> {
    let config = config.canonicalize()?;
    let folder = DaemonFolder::of_store(&weaver_gateway::config::store_of(&config)?);
    let command = DaemonCommand {
        program: std::env::current_exe()?,
        arguments: vec![AS_DAEMON.into(), config.clone().into()],
        directory: config.parent().unwrap_or(Path::new("/")).to_path_buf(),
        input: None,
    };
    let request = SessionRequest {
        config,
        unsigned_development: false,
        profile: None,
        folder: None,
        label: "bench".to_owned(),
        resumed: false,
    };
    Ok(daemon::run_shim(Ok(ShimOptions { folder, command, request }))?)
}

/// What `weaver daemon` does.
fn daemon(config: &Path) -> Result<(), Failure> {
    daemon::leave_session();
    let config = weaver_gateway::config::load(config)?;
    let options = DaemonOptions { idle_exit: Some(IDLE_EXIT), ..DaemonOptions::default() };
    daemon::run(config, serve::ServeOptions::default(), options, || {
        println!("{}", DaemonCommand::ready_line());
        let _ = daemon::detach_output();
    })?;
    Ok(())
}

/// Microseconds of each way, by tool; nothing where nothing was measured.
fn measure(in_earnest: bool) -> Result<Value, Failure> {
    let (calls, warm_up) = if in_earnest { (CALLS, WARM_UP) } else { (FEW, 1) };
    let now = SystemClock::default().now();
    let [alone, shared] = [Setup::write(now)?, Setup::write(now)?];
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let measured = runtime.block_on(async {
        let ways = Ways::open(&alone.config, &shared.config).await?;
        let mut measured = Map::new();
        for tool in ["get", "put"] {
            ways.compare(tool, warm_up).await?;
            let times = ways.compare(tool, calls).await?;
            let spreads = [
                ("direct", Spread::of(times.direct)),
                ("alone", Spread::of(times.alone)),
                ("shared", Spread::of(times.shared)),
            ];
            if in_earnest {
                let spreads = spreads.map(|(way, spread)| (way.to_owned(), spread.to_json()));
                measured.insert(tool.to_owned(), Value::Object(Map::from_iter(spreads)));
            }
        }
        ways.close().await;
        Ok::<Map<String, Value>, Failure>(measured)
    })?;
    let writes = (calls + warm_up) as u64;
    check(&alone.ledger, writes)?;
    check(&shared.ledger, writes)?;
    Ok(Value::Object(measured))
}

fn shown(measured: &Value) -> String {
    let tools = measured.as_object().into_iter().flatten();
    let mut out = String::new();
    for (tool, ways) in tools {
        let number = |way: &str, what: &str| ways[way][what].as_f64().unwrap_or(f64::NAN);
        let direct = number("direct", "median_us");
        for way in ["direct", "alone", "shared"] {
            let (median, p99) = (number(way, "median_us"), number(way, "p99_us"));
            let ratio = median / direct;
            out += &format!(
                "gateway/{tool} {way}: {median:.0} us, {ratio:.2} of direct, p99 {p99:.0} us\n"
            );
        }
    }
    if out.is_empty() { "Testing gateway\nSuccess\n".to_owned() } else { out }
}

/// How long the middle call took, and the one that only a hundredth exceeds.
struct Spread {
    median: Duration,
    p99: Duration,
}

impl Spread {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default();
        Self { median: at(50), p99: at(99) }
    }

    fn to_json(&self) -> Value {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        json!({ "median_us": micros(self.median), "p99_us": micros(self.p99) })
    }
}

/// The ledger verifies, and as many writes as were made waited for the disk.
fn check(ledger: &Path, writes: u64) -> Result<(), Failure> {
    let report = verify::verify(&Reader::open(ledger)?, None)?;
    if report.synced < writes || report.head.size < 4 * writes {
        return Err(format!("{} events, {} synced", report.head.size, report.synced).into());
    }
    Ok(())
}
