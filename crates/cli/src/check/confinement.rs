//! What would be kept from the servers' processes on this machine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use weaver_drivers::confine::{ConfineError, EnforcedConfinement, Files, Launcher, Protection};
use weaver_gateway::config::{Config, TOOLS, ToolImplementation, Transport};
use weaver_gateway::serve::LAUNCH;

/// The process of one server.
pub(super) struct Child {
    pub(super) name: String,
    outcome: Result<EnforcedConfinement, ConfineError>,
}

/// Tries the confinement of every server that is a process, and of own programs: a launcher confines itself and ends.
pub(super) fn of(config: &Config) -> Vec<Child> {
    let launcher = Launcher::this_program(LAUNCH);
    let tried = config.upstreams.iter().filter_map(|upstream| {
        let Transport::Stdio { confine, .. } = &upstream.transport else { return None };
        let outcome = launcher.probe(&config.server_confinement(confine.as_ref()));
        Some(Child { name: upstream.name.to_string(), outcome })
    });
    let own = config.tools.iter().filter_map(|tool| {
        let ToolImplementation::Program(program) = &tool.implementation else { return None };
        let outcome = launcher.probe(&config.confinement(program.confine.as_ref()));
        Some(Child { name: format!("{TOOLS}.{}", tool.name), outcome })
    });
    tried.chain(own).collect()
}

impl Child {
    /// What is enforced, in a line.
    pub(super) fn line(&self) -> String {
        match &self.outcome {
            Ok(enforced) => {
                let seccomp = match enforced.protections.contains(&Protection::SystemCalls) {
                    true => "system calls filtered by seccomp",
                    false => "system calls not filtered",
                };
                let user = match enforced.protections.contains(&Protection::User) {
                    true => "a user of its own",
                    false => "the gateway's user",
                };
                format!(
                    "{enforced}; state denied by {}; {seccomp}; runs as {user}",
                    means(enforced)
                )
            }
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

/// By which means the gateway's state is kept from a process.
fn means(enforced: &EnforcedConfinement) -> &'static str {
    let has = |protection| enforced.protections.contains(&protection);
    match (has(Protection::Mounts), has(Protection::Files)) {
        (true, _) => "mounts",
        (false, true) => "landlock alone",
        (false, false) => "nothing",
    }
}

/// The files and folders of the gateway that are kept from every process, as far as they exist.
pub(super) fn denied(config: &Config) -> Vec<String> {
    let state = config.state();
    let inside = |path: &PathBuf| path.ancestors().skip(1).any(|above| state.contains(above));
    let top = state.iter().filter(|path| path.exists() && !inside(path));
    top.map(|path| path.display().to_string()).collect()
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
/// nor make new entries in them. None where no server is such a one, where mounts cover the state,
/// and where nothing is confined.
pub(super) fn closed(config: &Config, children: &[Child]) -> Vec<String> {
    let unnamed = |name: &str| {
        config.upstreams.iter().any(|upstream| match &upstream.transport {
            Transport::Stdio { confine, .. } if upstream.name.as_str() == name => {
                confine.as_ref().is_none_or(|section| section.files == Files::AllButDenied)
            }
            _ => false,
        })
    };
    let rules_alone = |child: &Child| {
        let enforced = child.outcome.as_ref().ok();
        enforced.is_some_and(|enforced| {
            enforced.protections.contains(&Protection::Files)
                && !enforced.protections.contains(&Protection::Mounts)
        })
    };
    if !children.iter().any(|child| rules_alone(child) && unnamed(&child.name)) {
        return Vec::new();
    }
    let state = config.state();
    let absolute = state.iter().filter_map(|path| std::path::absolute(path).ok());
    let above: BTreeSet<PathBuf> = absolute
        .flat_map(|path| path.ancestors().skip(1).map(Path::to_path_buf).collect::<Vec<_>>())
        .collect();
    above.iter().map(|path| path.display().to_string()).collect()
}
