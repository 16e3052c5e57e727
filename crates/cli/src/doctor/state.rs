//! Checks the ledger and its file system, the clock, the daemon with its servers, and the clients.

use std::path::Path;
use std::time::Duration;

use weaver_gateway::daemon::{self, DaemonError, DaemonStatus};
use weaver_gateway::publish::status::PublishStatus;
use weaver_text::escape;
use weaver_trace_store::Reader;
use weaver_trace_store::verify::verify;
use weaver_types::ledger::LedgerError;

use super::CheckContext;
use super::health_check::HealthCheck;
use crate::connect::{self, GatewayConnections};
use crate::output;
use crate::trace::compare_runs_with_log;

/// The largest log, in events, that is verified while the user waits.
const MAX_EVENTS_TO_VERIFY: u64 = 100_000;
/// Below this many free bytes the disk may soon be full.
#[cfg(unix)]
const LOW_SPACE_BYTES: u64 = 1 << 30;
/// Below this many free bytes the disk is as good as full.
#[cfg(unix)]
const MIN_SPACE_BYTES: u64 = 64 << 20;
/// How far the log may be ahead of the clock, because other machines may have written it.
const CLOCK_LEEWAY: Duration = Duration::from_secs(60);
/// The greatest age of the last signed checkpoint.
const MAX_CHECKPOINT_AGE: Duration = Duration::from_secs(2 * 86_400);

pub(super) fn checks(context: &CheckContext) -> Vec<HealthCheck> {
    let mut found = Vec::new();
    found.extend(disk_check(context));
    found.extend(log_checks(context));
    found.extend(gateway_checks(context));
    found.push(clients_check(context));
    found
}

/// The free space of the file system that holds the ledger.
#[cfg(unix)]
fn disk_check(context: &CheckContext) -> Option<HealthCheck> {
    let folder = context.config.store_path.ancestors().skip(1).find(|folder| folder.is_dir())?;
    let stats = rustix::fs::statvfs(folder).ok()?;
    let free = stats.f_bavail.saturating_mul(stats.f_frsize);
    let finding =
        format!("{} MB free in {}", free >> 20, escape::line(&folder.display().to_string()));
    let next = "make room, or prune the log: `weaver trace prune --help`; with none left, calls are refused";
    Some(match free {
        0..MIN_SPACE_BYTES => HealthCheck::bad("disk", finding, next),
        MIN_SPACE_BYTES..LOW_SPACE_BYTES => HealthCheck::notable("disk", finding, next),
        _ => HealthCheck::good("disk", finding),
    })
}

#[cfg(not(unix))]
fn disk_check(_context: &CheckContext) -> Option<HealthCheck> {
    None
}

/// Checks whether the log verifies, whether the clock is behind it, and whether checkpoints are
/// signed.
fn log_checks(context: &CheckContext) -> Vec<HealthCheck> {
    let store = &context.config.store_path;
    if !store.is_file() {
        return vec![HealthCheck::good("log", "none yet; the first call begins it")];
    }
    let restore = "restore the ledger from a copy: `docs/guide/operating.md`, *Backup*";
    let unreadable = |error: LedgerError| {
        let found = format!("{}: {error}", store.display());
        vec![HealthCheck::bad("log", escape::line(&found), restore)]
    };
    let reader = match Reader::open(store) {
        Ok(reader) => reader,
        Err(error) => return unreadable(error),
    };
    let size = match reader.head() {
        Ok(head) => head.size,
        Err(error) => return unreadable(error),
    };
    let mut found = Vec::new();
    if size > MAX_EVENTS_TO_VERIFY {
        let finding = format!("{size} events, too many to verify in passing");
        found.push(HealthCheck::notable("log", finding, "`weaver trace verify` verifies them"));
    } else {
        match verify(&reader, None) {
            Ok(report) => {
                found.push(HealthCheck::good("log", format!("{size} events, verified")));
                let ahead = report.last_at.filter(|at| at.since(context.now) > CLOCK_LEEWAY);
                found.extend(ahead.map(|at| {
                    let finding = format!("the log goes to {}, which is yet to come", at.rfc3339());
                    let next = "set the clock; rates and times of approvals depend on it";
                    HealthCheck::bad("clock", finding, next)
                }));
                found.extend(runs_check(&reader));
            }
            Err(error) => {
                let finding = format!("it does not verify: {error}");
                let next =
                    "`weaver trace verify` says where it was changed; keep the file as it is";
                found.push(HealthCheck::bad("log", escape::line(&finding), next));
            }
        }
    }
    found.extend(checkpoint_checks(context, &reader));
    found
}

/// Checks the stored states of runs against the log, whose events are few enough.
fn runs_check(reader: &Reader) -> Option<HealthCheck> {
    let next = "its calls are denied; `weaver approve end-run RUN` lets its client begin another; \
                find out who wrote the file";
    let finding = match compare_runs_with_log(reader) {
        Ok(runs) => runs.first_bad?.to_string(),
        Err(error) => format!("they cannot be compared with the log: {error}"),
    };
    Some(HealthCheck::bad("runs", escape::line(&finding), next))
}

fn checkpoint_checks(context: &CheckContext, reader: &Reader) -> Vec<HealthCheck> {
    let Ok(Some(status)) = PublishStatus::read_from(reader) else { return Vec::new() };
    let mut found = Vec::new();
    if let Some(trouble) = &status.refused {
        let finding = format!("none is signed since {}: {}", trouble.at.rfc3339(), trouble.problem);
        found.push(HealthCheck::bad(
            "checkpoints",
            escape::line(&finding),
            "`weaver check` says more",
        ));
    }
    for (name, target) in &status.targets {
        let Some(trouble) = &target.failed else { continue };
        let finding =
            format!("none arrives at {name} since {}: {}", trouble.at.rfc3339(), trouble.problem);
        let next = "look at the place under `[log] publish`; they are sent again by themselves";
        found.push(HealthCheck::bad("checkpoints", escape::line(&finding), next));
    }
    match &status.signed {
        Some(signed) if context.now.since(signed.at) > MAX_CHECKPOINT_AGE => {
            let finding = format!("the last was signed at {}", signed.at.rfc3339());
            let next = "`weaver trace checkpoint` signs one; a running gateway does it by itself";
            found.push(HealthCheck::notable("checkpoints", finding, next));
        }
        Some(signed) if found.is_empty() => {
            let finding = format!("{} events signed at {}", signed.size, signed.at.rfc3339());
            found.push(HealthCheck::good("checkpoints", finding));
        }
        _ => {}
    }
    found
}

/// The daemon that goes on with an older configuration, since the one on disk cannot be used.
pub(super) fn gateway_with_old_configuration(file: &Path) -> Vec<HealthCheck> {
    let Some((_, status)) = crate::daemon::running_in_spite_of(file) else { return Vec::new() };
    let mut found = running_gateway_checks(file, &status);
    let finding = "the daemon goes on with an older configuration, and would not start again";
    let next = "correct the configuration before the next restart";
    found.push(HealthCheck::bad("gateway", finding, next));
    found
}

/// Checks the daemon and its servers.
fn gateway_checks(context: &CheckContext) -> Vec<HealthCheck> {
    match daemon::status(&context.config.store_path) {
        Ok(status) => running_gateway_checks(&context.config.file, &status),
        Err(DaemonError::NotRunning) => {
            let finding = "no daemon runs; the next client starts it";
            vec![HealthCheck::good("gateway", finding)]
        }
        Err(error) => {
            let next = "`weaver restart` starts another; `weaver logs` says what happened";
            vec![HealthCheck::bad("gateway", escape::line(&error.to_string()), next)]
        }
    }
}

fn running_gateway_checks(file: &Path, status: &DaemonStatus) -> Vec<HealthCheck> {
    let own = env!("CARGO_PKG_VERSION");
    let finding = format!(
        "version {}, process {}, {} sessions",
        status.version,
        status.pid,
        status.server.sessions.len()
    );
    let mut found = vec![if status.version == own {
        HealthCheck::good("gateway", finding)
    } else {
        let finding = format!("{finding}; installed is {own}");
        HealthCheck::notable("gateway", finding, "`weaver restart` brings the installed version")
    }];
    for (name, server) in &status.server.servers {
        let subject = format!("server {name}");
        let problem = server.problem.as_deref().map(escape::line);
        found.push(match problem {
            None if server.changed_tools + server.suspicious_tools > 0 => {
                let changed = output::counted(server.changed_tools, "tool");
                let finding = match server.suspicious_tools {
                    0 => format!("not as approved: {changed}"),
                    new if server.changed_tools == 0 => format!(
                        "hidden until approved: {}, whose description addresses the model",
                        output::counted(new, "tool")
                    ),
                    new => format!("not as approved: {changed}; hidden until approved: {new} more"),
                };
                let finding = match server.new_tools {
                    0 => finding,
                    new => format!("{finding}; new: {}", output::counted(new, "tool")),
                };
                let next = format!("`weaver contracts diff --surface {name}` shows which, and why");
                HealthCheck::notable(&subject, finding, &next)
            }
            None if server.new_tools > 0 => {
                let new = output::counted(server.new_tools, "tool");
                let finding =
                    format!("ready, with {new} that no contract names: its calls wait for you");
                HealthCheck::notable(&subject, finding, "`weaver update` takes new tools in")
            }
            None => HealthCheck::good(&subject, "ready"),
            Some(problem) if server.state == "starting" => {
                HealthCheck::notable(&subject, problem, "wait a moment and look again")
            }
            Some(problem) => {
                let line = format!("`[mcpServers.{name}]` in {}", file.display());
                HealthCheck::bad(
                    &subject,
                    problem,
                    &format!("mend {line}; it is tried again by itself"),
                )
            }
        });
    }
    if let Some(problem) = &status.server.refused_configuration {
        let finding = format!("the daemon refuses the one on disk: {}", escape::line(problem));
        let next = "the old one is in force until it is mended; `weaver check` says more";
        found.push(HealthCheck::bad("configuration", finding, next));
    }
    if let Some(problem) = &status.server.refused_documents {
        let finding = format!("the daemon refuses those on disk: {}", escape::line(problem));
        let next = "the old ones are in force until they are mended; `weaver check` says more";
        found.push(HealthCheck::bad("documents", finding, next));
    }
    if status.server.held > 0 {
        let finding = format!("{} calls wait for a person", status.server.held);
        found.push(HealthCheck::notable("approvals", finding, "`weaver approve list` shows them"));
    }
    found
}

fn clients_check(context: &CheckContext) -> HealthCheck {
    let states = GatewayConnections::open(&context.config.file)
        .and_then(|gateway| connect::client_states(&gateway));
    let states = match states {
        Ok(states) => states,
        Err(failure) => {
            let next = "`weaver connect --status` says more";
            return HealthCheck::bad("clients", escape::line(&failure.message), next);
        }
    };
    let disconnected: Vec<&str> = states
        .iter()
        .filter(|one| !one.state.is_connected())
        .map(|one| one.name.as_str())
        .collect();
    if !disconnected.is_empty() {
        let finding = format!("{} no longer come through Weaver", disconnected.join(", "));
        return HealthCheck::bad("clients", finding, "`weaver connect` puts them behind it again");
    }
    match states.as_slice() {
        [] => {
            HealthCheck::notable("clients", "none was connected", "`weaver connect` connects yours")
        }
        all => {
            let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
            HealthCheck::good("clients", names.join(", "))
        }
    }
}
