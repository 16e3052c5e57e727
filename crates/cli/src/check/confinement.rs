//! Reports how the processes of servers would be confined on this machine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use weaver_drivers::confine::{
    ConfineError, EnforcedConfinement, FileAccess, Launcher, Protection,
};
use weaver_gateway::config::{
    Config, OWN_TOOLS_NAMESPACE, ToolImplementation, TransportSettings, process_of_tool,
};
use weaver_gateway::serve::LAUNCH_SUBCOMMAND;

/// A server's process, and how far it could be confined.
pub(super) struct ProbedProcess {
    pub(super) name: String,
    outcome: Result<EnforcedConfinement, ConfineError>,
}

/// Probes the confinement of every server process and every tool program: a launcher confines
/// itself and exits.
pub(super) fn probe_all(config: &Config) -> Vec<ProbedProcess> {
    let launcher = Launcher::this_program(LAUNCH_SUBCOMMAND);
    let tried = config.upstreams.iter().filter_map(|upstream| {
        let TransportSettings::Stdio { confine, .. } = &upstream.transport else { return None };
        let outcome =
            launcher.probe(&config.server_confinement(confine.as_ref(), upstream.name.as_str()));
        Some(ProbedProcess { name: upstream.name.to_string(), outcome })
    });
    let own = config.tools.iter().filter_map(|tool| {
        let ToolImplementation::Program(program) = &tool.implementation else { return None };
        let process = process_of_tool(tool);
        let outcome = launcher.probe(&config.confinement(program.confine.as_ref(), &process));
        Some(ProbedProcess { name: format!("{OWN_TOOLS_NAMESPACE}.{}", tool.name), outcome })
    });
    tried.chain(own).collect()
}

impl ProbedProcess {
    /// What is enforced, in one line.
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
                    state_protection(enforced)
                )
            }
            Err(_) => "it would not be started".to_owned(),
        }
    }

    /// A protection that is missing, if any.
    pub(super) fn note(&self) -> Option<String> {
        let name = &self.name;
        match &self.outcome {
            Ok(enforced) if enforced.is_complete() => None,
            Ok(enforced) => {
                let lacking: Vec<&str> = enforced.lacking.iter().map(|one| one.code()).collect();
                let lacking = lacking.join(", ");
                Some(format!("the process of `{name}` would run without: {lacking}"))
            }
            Err(error) => Some(format!("the process of `{name}` would not be started: {error}")),
        }
    }
}

/// The mechanism that keeps the gateway's state from a process.
fn state_protection(enforced: &EnforcedConfinement) -> &'static str {
    let has = |protection| enforced.protections.contains(&protection);
    match (has(Protection::Mounts), has(Protection::Files)) {
        (true, _) => "mounts",
        (false, true) => "landlock alone",
        (false, false) => "nothing",
    }
}

/// The files and folders of the gateway that every process is denied, if they exist.
pub(super) fn denied_paths(config: &Config) -> Vec<String> {
    let state = config.state_paths();
    let inside = |path: &PathBuf| path.ancestors().skip(1).any(|above| state.contains(above));
    let top = state.iter().filter(|path| path.exists() && !inside(path));
    top.map(|path| path.display().to_string()).collect()
}

pub(super) fn to_json(children: &[ProbedProcess]) -> Value {
    let entry = |child: &ProbedProcess| {
        let value = match &child.outcome {
            Ok(enforced) => enforced.to_json(),
            Err(error) => json!({ "refused": error.code(), "message": error.to_string() }),
        };
        (child.name.clone(), value)
    };
    Value::Object(children.iter().map(entry).collect::<Map<_, _>>())
}

/// The folders above the gateway's state that a server without a list of files can neither list nor
/// create entries in. Landlock can only allow, so it must leave out these folders to deny what is
/// inside. Empty if no server is without such a list, if mounts hide the state, or if nothing is
/// confined.
pub(super) fn closed_folders(config: &Config, children: &[ProbedProcess]) -> Vec<String> {
    let unnamed = |name: &str| {
        config.upstreams.iter().any(|upstream| match &upstream.transport {
            TransportSettings::Stdio { confine, .. } if upstream.name.as_str() == name => {
                confine.as_ref().is_none_or(|section| section.files == FileAccess::AllButDenied)
            }
            _ => false,
        })
    };
    let rules_alone = |child: &ProbedProcess| {
        let enforced = child.outcome.as_ref().ok();
        enforced.is_some_and(|enforced| {
            enforced.protections.contains(&Protection::Files)
                && !enforced.protections.contains(&Protection::Mounts)
        })
    };
    if !children.iter().any(|child| rules_alone(child) && unnamed(&child.name)) {
        return Vec::new();
    }
    let state = config.state_paths();
    let absolute = state.iter().filter_map(|path| std::path::absolute(path).ok());
    let above: BTreeSet<PathBuf> = absolute
        .flat_map(|path| path.ancestors().skip(1).map(Path::to_path_buf).collect::<Vec<_>>())
        .collect();
    above.iter().map(|path| path.display().to_string()).collect()
}
