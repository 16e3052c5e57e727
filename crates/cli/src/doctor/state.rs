//! The ledger and what it lies on, the clock, the daemon with its servers, and the clients.

use std::time::Duration;

use weaver_gateway::clients::ConnectionState;
#[cfg(unix)]
use weaver_gateway::daemon::{self, DaemonError, DaemonStatus};
use weaver_gateway::publish::status::Status;
use weaver_text::escape;
use weaver_trace_store::Reader;
use weaver_trace_store::verify::verify;
use weaver_types::ledger::LedgerError;

use super::CheckContext;
use super::health_check::HealthCheck;
use crate::connect::{self, ConnectedGateway};

/// Up to how many events the log is verified while one waits.
const VERIFIED: u64 = 100_000;
/// Below so many free bytes the ledger may soon not be written.
const LITTLE_SPACE: u64 = 1 << 30;
const NO_SPACE: u64 = 64 << 20;
/// By how much the log may be ahead of the clock: other machines may have written it.
const CLOCK_LEEWAY: Duration = Duration::from_secs(60);
/// How old the last signed checkpoint may be.
const OLD_CHECKPOINT: Duration = Duration::from_secs(2 * 86_400);

pub(super) fn all(checked: &CheckContext) -> Vec<HealthCheck> {
    let mut found = Vec::new();
    found.extend(disk(checked));
    found.extend(log(checked));
    #[cfg(unix)]
    found.extend(gateway(checked));
    found.push(clients(checked));
    found
}

/// The file system that the ledger lies on.
#[cfg(unix)]
fn disk(checked: &CheckContext) -> Option<HealthCheck> {
    let folder = checked.config.store.ancestors().skip(1).find(|folder| folder.is_dir())?;
    let seen = rustix::fs::statvfs(folder).ok()?;
    let free = seen.f_bavail.saturating_mul(seen.f_frsize);
    let found =
        format!("{} MB free in {}", free >> 20, escape::line(&folder.display().to_string()));
    let next = "make room, or prune the log: `weaver trace prune --help`; with none left, calls are refused";
    Some(match free {
        0..NO_SPACE => HealthCheck::bad("disk", found, next),
        NO_SPACE..LITTLE_SPACE => HealthCheck::notable("disk", found, next),
        _ => HealthCheck::good("disk", found),
    })
}

#[cfg(not(unix))]
fn disk(_patient: &CheckContext) -> Option<HealthCheck> {
    None
}

/// The log: whether it verifies, whether the clock is behind it, and whether checkpoints are signed.
fn log(checked: &CheckContext) -> Vec<HealthCheck> {
    let store = &checked.config.store;
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
    if size > VERIFIED {
        let said = format!("{size} events, too many to verify in passing");
        found.push(HealthCheck::notable("log", said, "`weaver trace verify` verifies them"));
    } else {
        match verify(&reader, None) {
            Ok(report) => {
                found.push(HealthCheck::good("log", format!("{size} events, verified")));
                let ahead = report.last_at.filter(|at| at.since(checked.now) > CLOCK_LEEWAY);
                found.extend(ahead.map(|at| {
                    let said = format!("the log goes to {}, which is yet to come", at.rfc3339());
                    let next = "set the clock; rates and times of approvals depend on it";
                    HealthCheck::bad("clock", said, next)
                }));
            }
            Err(error) => {
                let said = format!("it does not verify: {error}");
                let next =
                    "`weaver trace verify` says where it was changed; keep the file as it is";
                found.push(HealthCheck::bad("log", escape::line(&said), next));
            }
        }
    }
    found.extend(checkpoints(checked, &reader));
    found
}

fn checkpoints(checked: &CheckContext, reader: &Reader) -> Vec<HealthCheck> {
    let Ok(Some(status)) = Status::of(reader) else { return Vec::new() };
    let mut found = Vec::new();
    if let Some(trouble) = &status.refused {
        let said = format!("none is signed since {}: {}", trouble.at.rfc3339(), trouble.problem);
        found.push(HealthCheck::bad(
            "checkpoints",
            escape::line(&said),
            "`weaver check` says more",
        ));
    }
    for (name, target) in &status.targets {
        let Some(trouble) = &target.failed else { continue };
        let said =
            format!("none arrives at {name} since {}: {}", trouble.at.rfc3339(), trouble.problem);
        let next = "look at the place under `[log] publish`; they are sent again by themselves";
        found.push(HealthCheck::bad("checkpoints", escape::line(&said), next));
    }
    match &status.signed {
        Some(signed) if checked.now.since(signed.at) > OLD_CHECKPOINT => {
            let said = format!("the last was signed at {}", signed.at.rfc3339());
            let next = "`weaver trace checkpoint` signs one; a running gateway does it by itself";
            found.push(HealthCheck::notable("checkpoints", said, next));
        }
        Some(signed) if found.is_empty() => {
            let said = format!("{} events signed at {}", signed.size, signed.at.rfc3339());
            found.push(HealthCheck::good("checkpoints", said));
        }
        _ => {}
    }
    found
}

/// The daemon and its servers. Without one, the programs of the servers.
#[cfg(unix)]
fn gateway(checked: &CheckContext) -> Vec<HealthCheck> {
    match daemon::status(&checked.config.store) {
        Ok(status) => running(checked, &status),
        Err(DaemonError::NotRunning) => {
            let said = "no daemon runs; the next client starts it";
            vec![HealthCheck::good("gateway", said)]
        }
        Err(error) => {
            let next = "`weaver restart` starts another; `weaver logs` says what happened";
            vec![HealthCheck::bad("gateway", escape::line(&error.to_string()), next)]
        }
    }
}

#[cfg(unix)]
fn running(checked: &CheckContext, status: &DaemonStatus) -> Vec<HealthCheck> {
    let own = env!("CARGO_PKG_VERSION");
    let said = format!(
        "version {}, process {}, {} sessions",
        status.version,
        status.pid,
        status.server.sessions.len()
    );
    let mut found = vec![if status.version == own {
        HealthCheck::good("gateway", said)
    } else {
        let said = format!("{said}; installed is {own}");
        HealthCheck::notable("gateway", said, "`weaver restart` brings the installed version")
    }];
    for (name, server) in &status.server.servers {
        let subject = format!("server {name}");
        let problem = server.problem.as_deref().map(escape::line);
        found.push(match problem {
            None if server.changed_tools > 0 => {
                let said = format!("{} of its tools are not as approved", server.changed_tools);
                HealthCheck::notable(&subject, said, "`weaver contracts list` shows what changed")
            }
            None => HealthCheck::good(&subject, "ready"),
            Some(problem) if server.state == "starting" => {
                HealthCheck::notable(&subject, problem, "wait a moment and look again")
            }
            Some(problem) => {
                let line = format!("`[mcpServers.{name}]` in {}", checked.config.file.display());
                HealthCheck::bad(
                    &subject,
                    problem,
                    &format!("mend {line}; it is tried again by itself"),
                )
            }
        });
    }
    if status.server.held > 0 {
        let said = format!("{} calls wait for a person", status.server.held);
        found.push(HealthCheck::notable("approvals", said, "`weaver approve list` shows them"));
    }
    found
}

fn clients(checked: &CheckContext) -> HealthCheck {
    let states = ConnectedGateway::open(Some(&checked.config.file))
        .and_then(|place| connect::client_states(&place));
    let states = match states {
        Ok(states) => states,
        Err(failure) => {
            let next = "`weaver connect --status` says more";
            return HealthCheck::bad("clients", escape::line(&failure.message), next);
        }
    };
    let live = |state| matches!(state, ConnectionState::Connected | ConnectionState::Edited);
    let lost: Vec<&str> =
        states.iter().filter(|one| !live(one.state)).map(|one| one.name.as_str()).collect();
    if !lost.is_empty() {
        let said = format!("{} no longer come through Weaver", lost.join(", "));
        return HealthCheck::bad("clients", said, "`weaver connect` puts them behind it again");
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
