//! What would be kept from the servers' processes on this machine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use weaver_drivers::confine::{ConfineError, Enforced, Files, Launcher, Protection};

use crate::cli::LAUNCH;
use crate::config::{Config, TOOLS, Transport, Way};

/// The process of one server.
pub(super) struct Child {
    pub(super) name: String,
    outcome: Result<Enforced, ConfineError>,
}

/// Tries the confinement of every server that is a process, and of own programs: a launcher confines itself and ends.
pub(super) fn of(config: &Config) -> Vec<Child> {
    let launcher = Launcher::this_program(LAUNCH);
    let tried = config.upstreams.iter().filter_map(|upstream| {
        let Transport::Stdio { confine, .. } = &upstream.transport else { return None };
        let outcome = launcher.probe(&config.confinement(confine.as_ref()));
        Some(Child { name: upstream.name.to_string(), outcome })
    });
    let own = config.tools.iter().filter_map(|tool| {
        let Way::Program(program) = &tool.way else { return None };
        let outcome = launcher.probe(&config.confinement(program.confine.as_ref()));
        Some(Child { name: format!("{TOOLS}.{}", tool.name), outcome })
    });
    tried.chain(own).collect()
}

impl Child {
    /// What is enforced, in a line.
    pub(super) fn line(&self) -> String {
        match &self.outcome {
            Ok(enforced) => enforced.to_string(),
            Err(_) => "it would not be started".to_owned(),
        }
    }

    /// What is less than it should be.
    pub(super) fn note(&self) -> Option<String> {
        let name = &self.name;
        match &self.outcome {
            Ok(enforced) if enforced.is_whole() => None,
            Ok(enforced) => {
                let lacking: Vec<&str> = enforced.lacking.iter().map(|one| one.code()).collect();
                let lacking = lacking.join(", ");
                Some(format!("the process of `{name}` would run without: {lacking}"))
            }
            Err(error) => Some(format!("the process of `{name}` would not be started: {error}")),
        }
    }
}

pub(super) fn json(children: &[Child]) -> Value {
    let entry = |child: &Child| {
        let value = match &child.outcome {
            Ok(enforced) => enforced.to_json(),
            Err(error) => json!({ "refused": error.code(), "message": error.to_string() }),
        };
        (child.name.clone(), value)
    };
    Value::Object(children.iter().map(entry).collect::<Map<_, _>>())
}

/// The folders above the gateway's state: a server whose files are not named can neither list them
/// nor make new entries in them. None where no server is such a one, or nothing is confined.
pub(super) fn closed(config: &Config, children: &[Child]) -> Vec<String> {
    let open = config.upstreams.iter().any(|upstream| match &upstream.transport {
        Transport::Stdio { confine, .. } => {
            confine.as_ref().is_none_or(|section| section.files == Files::AllButDenied)
        }
        Transport::Http { .. } => false,
    });
    let files = |child: &Child| {
        let enforced = child.outcome.as_ref().ok();
        enforced.is_some_and(|enforced| enforced.protections.contains(&Protection::Files))
    };
    if !open || !children.iter().any(files) {
        return Vec::new();
    }
    let state = config.state();
    let absolute = state.iter().filter_map(|path| std::path::absolute(path).ok());
    let above: BTreeSet<PathBuf> = absolute
        .flat_map(|path| path.ancestors().skip(1).map(Path::to_path_buf).collect::<Vec<_>>())
        .collect();
    above.iter().map(|path| path.display().to_string()).collect()
}
