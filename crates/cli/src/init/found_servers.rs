//! Finds the clients' configurations and their servers on this machine.

use std::ffi::OsString;
use std::path::PathBuf;

use weaver_gateway::clients::{ClientFile, ClientFolders, ServerTransport};
use weaver_gateway::setup::{HostEnvironment, Selection, SkippedServer, UsedNames};
use weaver_text::escape;

use super::questions;
use crate::{Exit, Failure, output};

/// The longest text about commands that a person is asked about: what scrolls by is not read.
const MAX_ASKED_CHARS: usize = 6_000;

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

/// What becomes of servers that a file of the current folder names. Listing the tools of a server
/// runs its command, and whoever made the folder wrote that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProjectServers {
    /// They are taken like the others.
    Take,
    /// The user is shown the commands and decides.
    Ask,
    /// They are named and left out.
    LeaveOut,
}

impl ProjectServers {
    /// `taken` is what the command line says; a command that asks questions asks this one too.
    pub(super) fn new(taken: bool, asks: bool) -> Self {
        match (taken, asks) {
            (true, _) => Self::Take,
            (false, true) if questions::has_terminal() => Self::Ask,
            (false, _) => Self::LeaveOut,
        }
    }

    /// The files without those of the current folder that are not to be used.
    pub(super) fn filter(self, files: Vec<ClientFile>) -> Result<Vec<ClientFile>, Failure> {
        if self == Self::Take {
            return Ok(files);
        }
        let names_servers =
            |file: &ClientFile| file.servers.iter().any(|server| !server.is_gateway());
        let (of_project, mut kept): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|file| file.comes_with_project && names_servers(file));
        if of_project.is_empty() {
            return Ok(kept);
        }
        let commands = commands_text(&of_project);
        let is_readable = commands.chars().count() <= MAX_ASKED_CHARS;
        output::stderr(&commands);
        if !is_readable {
            output::stderr("That is too long to be asked about: look at these files.\n");
        }
        let asks = self == Self::Ask && is_readable;
        if asks && questions::agrees("Start them to list their tools?")? {
            kept.extend(of_project);
        } else {
            output::stderr("They are left out; `--project` takes them.\n");
        }
        Ok(kept)
    }
}

/// What the servers of these files start, and with what, or where they are: all of it, since the
/// user answers for all of it.
fn commands_text(files: &[ClientFile]) -> String {
    let mut out = output::bold("Files of this folder name servers. Their commands come with it:\n");
    for file in files {
        for server in &file.servers {
            let Ok(entry) = &server.entry else { continue };
            let path = file.path.display().to_string();
            out.push_str(&format!(
                "  {:<16} {}\n",
                escape::line(&server.name),
                output::dim(&escape::line(&path))
            ));
            for line in transport_lines(&entry.transport) {
                out.push_str(&format!("    {}\n", escape::line(&line)));
            }
        }
    }
    out
}

/// A program with its folder and variables, or an address with its headers.
fn transport_lines(transport: &ServerTransport) -> Vec<String> {
    match transport {
        ServerTransport::Program { command, args, env, cwd } => {
            let program = format!("{command} {}", args.join(" ")).trim_end().to_owned();
            let folder = cwd.iter().map(|cwd| format!("in {}", cwd.display()));
            let variables = env.iter().map(|(name, value)| format!("with {name}={value}"));
            [program].into_iter().chain(folder).chain(variables).collect()
        }
        ServerTransport::Address { url, headers } => {
            let headers = headers.iter().map(|(name, value)| format!("with {name}: {value}"));
            [url.clone()].into_iter().chain(headers).collect()
        }
    }
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
