//! Where the process of a server or of an own tool starts that names no folder.
//!
//! Programs trust the folder that they start in: Python imports modules from it, `npx` and `uvx` read
//! settings there. So each process may have one of its own, of which the others are denied.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::tool::{OwnTool, ToolImplementation};
use super::{Config, TransportSettings};
use crate::private_file;

/// The name of the process of an own tool, which no server can have.
#[must_use]
pub fn process_of_tool(tool: &OwnTool) -> String {
    format!("{}.tool", tool.name)
}

impl Config {
    /// Where a process starts that names no folder; `None` for where the gateway was started.
    pub(crate) fn start_folder(&self, process: &str) -> Option<PathBuf> {
        let work = self.work_folder.as_ref()?;
        Some(if self.own_work_folders { work.join(process) } else { work.clone() })
    }

    /// The same, made for this user alone if it is missing: a server may be new, or of no configuration
    /// yet. One that cannot be made fails the start.
    pub(crate) fn made_start_folder(&self, process: &str) -> Option<PathBuf> {
        let folder = self.start_folder(process)?;
        let _ = private_file::create_folders(&folder);
        Some(folder)
    }

    /// The folders in which processes start, and in which another one has no business.
    pub(crate) fn start_folders_of_others(&self, process: &str) -> BTreeSet<PathBuf> {
        if !self.own_work_folders {
            return BTreeSet::new();
        }
        let others = self.process_names().into_iter().filter(|other| other != process);
        others.filter_map(|other| self.start_folder(&other)).collect()
    }

    /// The names of all processes that the gateway starts.
    pub(super) fn process_names(&self) -> Vec<String> {
        let servers = self
            .upstreams
            .iter()
            .filter(|server| matches!(server.transport, TransportSettings::Stdio { .. }));
        let programs = self
            .tools
            .iter()
            .filter(|tool| matches!(tool.implementation, ToolImplementation::Program(_)));
        servers.map(|server| server.name.to_string()).chain(programs.map(process_of_tool)).collect()
    }
}
