//! `weaver status`: the running daemon, its clients, servers and documents.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use weaver_gateway::config;
use weaver_gateway::daemon::{self, DaemonStatus};
use weaver_text::escape;

use super::{DaemonArgs, absolute_config, daemon_failure, store_of};
use crate::approve::duration::duration_text;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

pub(crate) fn status(args: &DaemonArgs) -> Result<Exit, Failure> {
    let store = store_of(&args.config.path())?;
    let mut status = daemon::status(&store).map_err(|error| daemon_failure(&store, error))?;
    if let Err(errors) = config::load_store_path(absolute_config(&args.config.path())?) {
        // The daemon itself may not have noticed yet.
        let problem = || Failure::from(errors).plain_text();
        status.server.refused_configuration.get_or_insert_with(problem);
    }
    if args.output.json {
        output::json(&json!(status))?;
    } else {
        output::text(&status_text(&status))?;
    }
    Ok(Exit::Ok)
}

/// The daemon that runs, although its configuration cannot be read any more: its store and status.
pub(crate) fn running_in_spite_of(config: &Path) -> Option<(PathBuf, DaemonStatus)> {
    let file = absolute_config(config).ok()?;
    let store = config::guess_store_path(&file)?;
    let status = daemon::status(&store).ok()?;
    (status.config == file).then_some((store, status))
}

fn status_text(status: &DaemonStatus) -> String {
    let mut out = format!(
        "{} {}, process {}, up {}, serves {}\n",
        output::bold("weaver"),
        status.version,
        status.pid,
        duration_text(Duration::from_secs(status.uptime_s)),
        status.config.display()
    );
    if let Some(address) = status.http {
        let scheme = if status.https { "https" } else { "http" };
        out.push_str(&format!("clients over HTTP: {scheme}://{address}/mcp\n"));
    }
    let server = &status.server;
    if let Some(problem) = &server.refused_configuration {
        let what = output::bad("the configuration on disk is refused, an older one is in force");
        out.push_str(&format!("{what}: {}\n", escape::line(problem)));
    }
    out.push_str(&output::bold("\nClients\n"));
    if server.sessions.is_empty() {
        out.push_str("  none is connected\n");
    }
    for session in &server.sessions {
        let label = escape::line(&session.label);
        let under_way = match session.requests {
            0 => "idle".to_owned(),
            1 => "1 request under way".to_owned(),
            many => format!("{many} requests under way"),
        };
        out.push_str(&format!(
            "  {label}, {}, as {}: {under_way}\n",
            session.client, session.principal
        ));
    }
    out.push_str(&output::bold("\nServers\n"));
    for (name, server) in &server.servers {
        let state = match &server.problem {
            None => output::good(&server.state),
            Some(problem) if server.state == "starting" => escape::line(problem).into_owned(),
            Some(problem) => {
                format!("{}: {}", output::bad(&server.state), escape::line(problem))
            }
        };
        let dedicated = match server.dedicated_instances {
            0 => String::new(),
            1 => ", and 1 for another client".to_owned(),
            many => format!(", and {many} for other clients"),
        };
        out.push_str(&format!("  {name}: {state}{dedicated}\n"));
    }
    out.push_str(&output::bold("\nDocuments\n"));
    let documents =
        server.documents.iter().map(|(kind, version)| format!("{kind} version {version}"));
    out.push_str(&format!("  in force: {}\n", documents.collect::<Vec<_>>().join(", ")));
    if let Some(problem) = &server.refused_documents {
        let problem = escape::line(problem);
        out.push_str(&format!("  {}: {problem}\n", output::bad("those on disk are refused")));
    }
    out.push_str(&match server.held {
        0 => "\nNo call waits for an approval.\n".to_owned(),
        1 => "\n1 call waits for an approval: `weaver approve list`\n".to_owned(),
        many => format!("\n{many} calls wait for an approval: `weaver approve list`\n"),
    });
    out
}
