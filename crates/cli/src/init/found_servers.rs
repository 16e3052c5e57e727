//! Finds the clients' configurations and their servers on this machine.

use std::ffi::OsString;
use std::path::PathBuf;

use weaver_gateway::clients::{ClientFile, ClientFolders};
use weaver_gateway::setup::{HostEnvironment, Selection, SkippedServer, UsedNames};
use weaver_text::escape;

use crate::{Exit, Failure, output};

/// The named files, or else those of all clients. A broken file of a client is reported and
/// skipped.
pub(super) fn client_files(from: &[PathBuf]) -> Result<Vec<ClientFile>, Failure> {
    if !from.is_empty() {
        let read = from.iter().map(|path| ClientFile::read_from(path).map_err(Failure::from));
        return read.collect();
    }
    let folders = folders()?;
    let mut files = Vec::new();
    for read in ClientFile::find_all(&folders) {
        match read {
            Ok(file) => files.push(file),
            Err(error) => output::stderr(&format!(
                "{}: passed over:\n{}",
                output::bold("note"),
                output::finding_text(error.finding())
            )),
        }
    }
    Ok(files)
}

/// The folders of this user.
pub(crate) fn folders() -> Result<ClientFolders, Failure> {
    ClientFolders::for_current_user().ok_or_else(|| {
        let message = "it is not known which folder is yours: HOME is not set";
        Failure::new(Exit::Invalid, "init.no_home", message)
            .with_next_step("set HOME, or name files with `--from FILE --dir DIR`")
    })
}

/// Selects the servers in these files.
pub(super) fn select(files: &[ClientFile], taken: &UsedNames) -> Selection {
    let search_path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
    let variable = |name: &str| std::env::var_os(name);
    let machine = HostEnvironment { search_path: &search_path, variable: &variable };
    Selection::from_files(files, &machine, taken)
}

/// The files and their servers, as text.
pub(super) fn found_text(files: &[ClientFile], selection: &Selection) -> String {
    let mut out = String::new();
    for file in files.iter().filter(|file| !file.servers.is_empty()) {
        let names: Vec<&str> = file.servers.iter().map(|server| server.name.as_str()).collect();
        let path = file.path.display().to_string();
        out.push_str(&format!(
            "{:<16} {}  {}\n",
            escape::line(&file.client_name),
            escape::line(&names.join(", ")),
            output::dim(&escape::line(&path)),
        ));
    }
    out.push_str(&left_out_text(&selection.skipped));
    out
}

/// What clients leave out of their servers, and Weaver does not.
pub(super) fn tool_filter_text(selection: &Selection) -> String {
    let mut out = String::new();
    for server in &selection.servers {
        let clients: Vec<&str> = server.widened_clients().collect();
        if !clients.is_empty() {
            out.push_str(&format!(
                "{}: {} leaves out some tools of {}, which another client takes; Weaver has one policy for \
                 all, so these tools stay\n",
                output::bold("note"),
                escape::line(&clients.join(", ")),
                server.name,
            ));
        }
    }
    out
}

/// The servers that were left out, each with its reason.
pub(super) fn left_out_text(left: &[SkippedServer]) -> String {
    let mut out = String::new();
    for SkippedServer { origin, line, reason } in left {
        let (name, client) = (escape::line(&origin.name), escape::line(&origin.client));
        let place = if *line > 0 { format!(", line {line}") } else { String::new() };
        let note = output::bold("left out");
        out.push_str(&format!("{note}: {name} of {client}{place}: {}\n", escape::line(reason)));
    }
    out
}

/// The failure if no server can be used.
pub(super) fn no_servers_failure(selection: &Selection) -> Failure {
    let message = if selection.skipped.is_empty() {
        "no MCP server was found in the configurations of your clients".to_owned()
    } else {
        format!("none of the {} servers that were found can be taken over", selection.skipped.len())
    };
    Failure::new(Exit::NotFound, "init.no_servers", message).with_next_step(
        "name a file with servers: `weaver init --from mcp.json`; or see it work: `weaver demo`",
    )
}
