//! `weaver` without a command: the state of the gateway, and the three most useful next commands.

use std::collections::BTreeSet;
use std::path::PathBuf;

use weaver_gateway::clients::ConnectedFileState;
use weaver_gateway::config::{self, Config};
use weaver_gateway::daemon::{self, DaemonError};
use weaver_text::escape;
use weaver_trace_store::Reader;
use weaver_trace_store::verify::verify;
use weaver_types::{Clock as _, SystemClock};

use super::connect::{self, GatewayConnections};
use super::trace::last_day::LastDay;
use super::{Exit, Failure, approve, config_path, init, output};

/// The largest log, in events, that is verified while the user waits.
const MAX_EVENTS_TO_VERIFY: u64 = 20_000;

pub(super) fn run(named: Option<PathBuf>) -> Result<Exit, Failure> {
    let Some(file) = named.or_else(config_path::find_default) else {
        output::text(&format!(
            "{}: no weaver.toml here, in a folder above, or in your own folder\n\n{}",
            output::bold("Weaver is not set up"),
            next_steps_text(&[
                NextStep::new("weaver init", "sets it up from the MCP clients on this machine"),
                NextStep::new("weaver demo", "shows the whole path in a minute, offline"),
                NextStep::new("weaver --help", "lists every command"),
            ])
        ))?;
        return Ok(Exit::Ok);
    };
    let gateway = GatewayConnections::open(&file)?;
    let mut steps: Vec<NextStep> = Vec::new();
    let held = held_calls_row(&file, &gateway.config, &mut steps);
    let mut out = String::new();
    // What a person has to do comes first: a call that waits is lost when its time is over.
    let has_held_calls = !steps.is_empty();
    if has_held_calls {
        out.push_str(&held);
    }
    out.push_str(&server_rows(&gateway.config, &mut steps));
    out.push_str(&daemon_rows(&gateway.config, &mut steps));
    out.push_str(&client_rows(&gateway, &mut steps)?);
    if !has_held_calls {
        out.push_str(&held);
    }
    out.push_str(&log_rows(&gateway.config, &mut steps)?);
    steps.extend([
        NextStep::new("weaver trace", "tells what happened today"),
        NextStep::new(UPDATE, "takes in new servers and tools"),
        NextStep::new("weaver check", "says what is wrong in the configuration"),
        NextStep::new("weaver --help", "lists every command"),
    ]);
    let mut seen = BTreeSet::new();
    steps.retain(|step| seen.insert(step.command.clone()));
    steps.truncate(3);
    output::text(&format!("{out}\n{}", next_steps_text(&steps)))?;
    Ok(Exit::Ok)
}

/// A command that makes sense now, and its purpose.
struct NextStep {
    command: String,
    purpose: &'static str,
}

impl NextStep {
    fn new(command: impl Into<String>, purpose: &'static str) -> Self {
        Self { command: command.into(), purpose }
    }
}

fn next_steps_text(steps: &[NextStep]) -> String {
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

fn server_rows(config: &Config, steps: &mut Vec<NextStep>) -> String {
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

const UPDATE: &str = "weaver update";

const CONTRACTS_DIFF: &str = "weaver contracts diff";

/// Whether the daemon runs, and the problems of its servers.
fn daemon_rows(config: &Config, steps: &mut Vec<NextStep>) -> String {
    let status = match daemon::status(&config.store_path) {
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
    let (starting, away): (Vec<_>, Vec<_>) = (status.server.servers.iter())
        .filter(|(_, server)| !server.is_ready())
        .partition(|(_, server)| server.state == "starting");
    if !starting.is_empty() {
        let names: Vec<&str> = starting.iter().map(|(name, _)| name.as_str()).collect();
        out.push_str(&row("", &format!("starting: {}", escape::line(&names.join(", ")))));
    }
    for (name, server) in away {
        let problem = server.problem.as_deref().unwrap_or_default();
        out.push_str(&row("", &format!("{name}: {}", escape::line(problem))));
    }
    let noted = (status.server.servers.iter())
        .filter(|(_, one)| one.changed_tools + one.suspicious_tools + one.new_tools > 0);
    for (name, server) in noted {
        let is_hidden = server.changed_tools + server.suspicious_tools > 0;
        if is_hidden && steps.iter().all(|step| !step.command.starts_with(CONTRACTS_DIFF)) {
            let command = format!("{CONTRACTS_DIFF} --surface {name}");
            steps.push(NextStep::new(command, "shows which, and why"));
        }
        if server.new_tools > 0 && steps.iter().all(|step| step.command != UPDATE) {
            steps.push(NextStep::new(UPDATE, "takes in the new tools"));
        }
        let counted = |count, why: &str| {
            let text = format!("{name}: {} {why}", output::counted(count, "tool"));
            if count > 0 { row("", &output::bold(&text)) } else { String::new() }
        };
        out.push_str(&counted(server.changed_tools, "changed since approved, and hidden"));
        let why = "hidden until you approve: the description addresses the model";
        out.push_str(&counted(server.suspicious_tools, why));
        let why = "new, so the calls wait for you until it is taken in";
        out.push_str(&counted(server.new_tools, why));
    }
    out
}

fn client_rows(gateway: &GatewayConnections, steps: &mut Vec<NextStep>) -> Result<String, Failure> {
    let states = connect::client_states(gateway)?;
    let is_connected =
        |state| matches!(state, ConnectedFileState::Connected | ConnectedFileState::Edited);
    // A client has one file of its user's, and one in each project.
    let names: BTreeSet<&str> =
        states.iter().filter(|one| is_connected(one.state)).map(|one| one.name.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let disconnected: Vec<&str> =
        states.iter().filter(|one| !is_connected(one.state)).map(|one| one.name.as_str()).collect();
    let text = if names.is_empty() { "none is connected".to_owned() } else { names.join(", ") };
    let mut out = row("clients", &text);
    if !disconnected.is_empty() {
        out.push_str(&row("", &format!("not any more: {}", disconnected.join(", "))));
    }
    let folders = init::found_servers::folders().ok();
    for (file, names) in folders.iter().flat_map(connect::project_servers) {
        let text =
            format!("{} starts {} of this folder itself", file.client_name, names.join(", "));
        out.push_str(&row("", &escape::line(&text)));
        steps.push(NextStep::new("weaver connect --project", "puts this folder behind Weaver"));
    }
    if names.is_empty() || !disconnected.is_empty() {
        steps.push(NextStep::new("weaver connect", "puts your MCP clients behind Weaver"));
    }
    Ok(out)
}

fn held_calls_row(file: &std::path::Path, config: &Config, steps: &mut Vec<NextStep>) -> String {
    // A gateway without a ledger has never held a call.
    if !config.store_path.is_file() {
        return row("waiting", "nothing");
    }
    match approve::open_request_count(file) {
        Ok(0) => row("waiting", "nothing"),
        Ok(many) => {
            steps.push(NextStep::new("weaver approve list", "shows the calls that wait for you"));
            row("waiting", &output::bold(&format!("{many} for a person")))
        }
        Err(failure) => row("waiting", &format!("unknown: {}", escape::line(&failure.message))),
    }
}

fn log_rows(config: &Config, steps: &mut Vec<NextStep>) -> Result<String, Failure> {
    let store = &config.store_path;
    if !store.is_file() {
        return Ok(row("today", "nothing was called yet"));
    }
    let reader = Reader::open(store).map_err(|error| Failure::store(store, &error))?;
    let today = LastDay::of(&reader, config.run.locale)
        .map_err(|error| Failure::new(Exit::Store, error.code(), error))?;
    let mut out = row("today", &today.summary());
    let size = reader.head().map_err(|error| Failure::store(store, &error))?.size;
    if size > MAX_EVENTS_TO_VERIFY {
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
            let store = config.store_path.display();
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
