//! `weaver` alone: how things stand, and the three most useful next commands.

use weaver_gateway::clients::ConnectionState;
use weaver_gateway::config::{self, Config};
#[cfg(unix)]
use weaver_gateway::daemon::{self, DaemonError};
use weaver_text::escape;
use weaver_trace_store::Reader;
use weaver_trace_store::verify::verify;
use weaver_types::{Clock as _, SystemClock};

use super::connect::{self, ConnectedGateway};
use super::trace::last_day::LastDay;
use super::{Exit, Failure, approve, config_path, output};

/// Up to how many events the log is verified while one waits.
const VERIFIED: u64 = 20_000;

pub(super) fn run() -> Result<Exit, Failure> {
    let Some(file) = config_path::look() else {
        output::text(&format!(
            "{}: no weaver.toml here, in a folder above, or in your own folder\n\n{}",
            output::bold("Weaver is not set up"),
            commands(&[
                NextStep::new("weaver init", "sets it up from the MCP clients on this machine"),
                NextStep::new("weaver demo", "shows the whole path in a minute, offline"),
                NextStep::new("weaver --help", "lists every command"),
            ])
        ))?;
        return Ok(Exit::Ok);
    };
    let place = ConnectedGateway::open(Some(&file))?;
    let mut steps: Vec<NextStep> = Vec::new();
    let mut out = String::new();
    out.push_str(&servers(&place.config, &mut steps));
    out.push_str(&gateway(&place.config));
    out.push_str(&clients(&place, &mut steps)?);
    out.push_str(&waiting(&file, &place.config, &mut steps));
    out.push_str(&log(&place.config, &mut steps)?);
    steps.extend([
        NextStep::new("weaver trace", "tells what happened today"),
        NextStep::new("weaver update", "takes in new servers and tools"),
        NextStep::new("weaver check", "says what is wrong in the configuration"),
        NextStep::new("weaver --help", "lists every command"),
    ]);
    steps.truncate(3);
    output::text(&format!("{out}\n{}", commands(&steps)))?;
    Ok(Exit::Ok)
}

/// A command that makes sense now, and what it does.
struct NextStep {
    command: String,
    purpose: &'static str,
}

impl NextStep {
    fn new(command: impl Into<String>, purpose: &'static str) -> Self {
        Self { command: command.into(), purpose }
    }
}

fn commands(steps: &[NextStep]) -> String {
    let width = steps.iter().map(|step| step.command.len()).max().unwrap_or(0);
    steps
        .iter()
        .map(|NextStep { command, purpose }| {
            let pad = " ".repeat(width - command.len());
            format!("  {}{pad}  {purpose}\n", output::bold(command))
        })
        .collect()
}

fn row(name: &str, text: &str) -> String {
    format!("{name:<10} {text}\n")
}

fn servers(config: &Config, steps: &mut Vec<NextStep>) -> String {
    let names: Vec<&str> = config.upstreams.iter().map(|one| one.name.as_str()).collect();
    let file = config.file.display().to_string();
    let now = SystemClock::default().now();
    let mut out = row("config", &escape::line(&file));
    out.push_str(&row("servers", &names.join(", ")));
    match config::load_policy(config, config::SignatureChecks::Required, now) {
        Ok(set) => {
            if let Some(notice) = set.observation_notice() {
                out.push_str(&row("policy", &output::bold(&escape::line(&notice))));
                let suggest = "proposes rules from what was observed";
                steps.push(NextStep::new("weaver policy suggest", suggest));
            }
        }
        Err(errors) => {
            let many = errors.findings().len();
            let bad = output::bad(&format!("refused, {many} findings"));
            out.push_str(&row("documents", &bad));
            steps.push(NextStep::new("weaver check", "says what is wrong in the documents"));
        }
    }
    out
}

/// Whether the daemon runs, and what is the matter with its servers.
#[cfg(unix)]
fn gateway(config: &Config) -> String {
    let status = match daemon::status(&config.store) {
        Ok(status) => status,
        Err(DaemonError::NotRunning) => {
            return row("gateway", "not running; the next client starts it");
        }
        Err(error) => return row("gateway", &escape::line(&error.to_string())),
    };
    let sessions = match status.server.sessions.len() {
        1 => "1 client connected".to_owned(),
        many => format!("{many} clients connected"),
    };
    let mut out = row("gateway", &format!("{}, {sessions}", output::good("running")));
    for (name, server) in status.server.servers.iter().filter(|(_, server)| !server.is_ready()) {
        let problem = server.problem.as_deref().unwrap_or_default();
        out.push_str(&row("", &format!("{name}: {}", escape::line(problem))));
    }
    out
}

#[cfg(not(unix))]
fn gateway(_config: &Config) -> String {
    String::new()
}

fn clients(place: &ConnectedGateway, steps: &mut Vec<NextStep>) -> Result<String, Failure> {
    let states = connect::client_states(place)?;
    let live = |state| matches!(state, ConnectionState::Connected | ConnectionState::Edited);
    let names: Vec<&str> =
        states.iter().filter(|one| live(one.state)).map(|one| one.name.as_str()).collect();
    let lost: Vec<&str> =
        states.iter().filter(|one| !live(one.state)).map(|one| one.name.as_str()).collect();
    let text = if names.is_empty() { "none is connected".to_owned() } else { names.join(", ") };
    let mut out = row("clients", &text);
    if !lost.is_empty() {
        out.push_str(&row("", &format!("not any more: {}", lost.join(", "))));
    }
    if names.is_empty() || !lost.is_empty() {
        steps.push(NextStep::new("weaver connect", "puts your MCP clients behind Weaver"));
    }
    Ok(out)
}

fn waiting(file: &std::path::Path, config: &Config, steps: &mut Vec<NextStep>) -> String {
    // Without a ledger nothing waits.
    if !config.store.is_file() {
        return row("waiting", "nothing");
    }
    match approve::waiting(file) {
        Ok(0) => row("waiting", "nothing"),
        Ok(many) => {
            steps.push(NextStep::new("weaver approve list", "shows the calls that wait for you"));
            row("waiting", &output::bold(&format!("{many} for a person")))
        }
        Err(failure) => row("waiting", &format!("unknown: {}", escape::line(&failure.message))),
    }
}

fn log(config: &Config, steps: &mut Vec<NextStep>) -> Result<String, Failure> {
    let store = &config.store;
    if !store.is_file() {
        return Ok(row("today", "nothing was called yet"));
    }
    let reader = Reader::open(store).map_err(|error| Failure::store(store, &error))?;
    let today = LastDay::of(&reader, config.run.locale)
        .map_err(|error| Failure::new(Exit::Store, error.code(), error))?;
    let mut out = row("today", &today.summary());
    let size = reader.head().map_err(|error| Failure::store(store, &error))?.size;
    if size > VERIFIED {
        out.push_str(&row("log", &format!("{size} events; `weaver trace verify` verifies them")));
        return Ok(out);
    }
    match verify(&reader, None) {
        Ok(report) => {
            let until = report.last_at.map(|at| format!(", until {}", at.rfc3339()));
            let good = output::good("verified");
            out.push_str(&row(
                "log",
                &format!("{size} events, {good}{}", until.unwrap_or_default()),
            ));
        }
        Err(error) => {
            let bad = output::bad("does not verify");
            out.push_str(&row("log", &format!("{bad}: {}", escape::line(&error.to_string()))));
            let store = config.store.display();
            steps.insert(
                0,
                NextStep::new(
                    format!("weaver trace verify --store {store}"),
                    "says where the log was changed",
                ),
            );
        }
    }
    Ok(out)
}
