//! What was found on this machine.

use std::ffi::OsString;
use std::path::PathBuf;

use weaver_gateway::clients::{ClientFile, Folders};
use weaver_gateway::setup::{Machine, Selection, SkippedServer, TakenNames};
use weaver_text::escape;

use crate::{Exit, Failure, output};

/// The named files; or else those of all clients. A broken one among these is reported and skipped.
pub(super) fn files(from: &[PathBuf]) -> Result<Vec<ClientFile>, Failure> {
    if !from.is_empty() {
        let read = from.iter().map(|path| ClientFile::read_from(path).map_err(Failure::from));
        return read.collect();
    }
    let folders = folders()?;
    let mut files = Vec::new();
    for read in ClientFile::find_all(&folders) {
        match read {
            Ok(file) => files.push(file),
            Err(error) => output::aside(&format!(
                "{}: passed over:\n{}",
                output::bold("note"),
                output::finding(error.finding())
            )),
        }
    }
    Ok(files)
}

/// The folders of this user.
pub(crate) fn folders() -> Result<Folders, Failure> {
    Folders::of_this_user().ok_or_else(|| {
        let message = "it is not known which folder is yours: HOME is not set";
        Failure::new(Exit::Invalid, "init.no_home", message)
            .next("set HOME, or name files with `--from FILE --dir DIR`")
    })
}

/// The servers in these files.
pub(super) fn selection(files: &[ClientFile], taken: &TakenNames) -> Selection {
    let search_path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
    let is_set = |name: &str| std::env::var_os(name).is_some();
    let machine = Machine { search_path: &search_path, is_set: &is_set };
    Selection::of(files, &machine, taken)
}

/// The files with their servers, for people.
pub(super) fn told(files: &[ClientFile], selection: &Selection) -> String {
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
    out.push_str(&left_out(&selection.left_out));
    out
}

/// The servers that are not taken over, each with its reason.
pub(super) fn left_out(left: &[SkippedServer]) -> String {
    let mut out = String::new();
    for SkippedServer { origin, line, reason } in left {
        let (name, client) = (escape::line(&origin.name), escape::line(&origin.client));
        let place = if *line > 0 { format!(", line {line}") } else { String::new() };
        let note = output::bold("left out");
        out.push_str(&format!("{note}: {name} of {client}{place}: {}\n", escape::line(reason)));
    }
    out
}

/// Nothing that could be taken over.
pub(super) fn nothing(selection: &Selection) -> Failure {
    let message = if selection.left_out.is_empty() {
        "no MCP server was found in the configurations of your clients".to_owned()
    } else {
        format!(
            "none of the {} servers that were found can be taken over",
            selection.left_out.len()
        )
    };
    Failure::new(Exit::Unknown, "init.no_servers", message).next(
        "name a file with servers: `weaver init --from mcp.json`; or see it work: `weaver demo`",
    )
}
