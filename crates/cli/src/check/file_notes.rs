//! Notes about the files and folders that a configuration names: what is missing, and what servers
//! could read though they should not.

use std::path::{Path, PathBuf};

use weaver_drivers::confine::FileAccess;
use weaver_gateway::config::{CheckpointTarget, Config, TransportSettings, WORKSPACE_FOLDER};
use weaver_text::escape;

/// The files of a gateway's state that no server may read.
const STATE_FILES: [&str; 3] = ["ledger.db", "secrets.env", "keys/root.key"];

pub(super) fn all(config: &Config) -> Vec<String> {
    let mut notes = missing_paths(config);
    notes.extend(state_copies(config));
    notes
}

/// Paths that servers or the log need and that do not exist.
fn missing_paths(config: &Config) -> Vec<String> {
    let mut notes = Vec::new();
    for upstream in &config.upstreams {
        let TransportSettings::Stdio { cwd, confine, .. } = &upstream.transport else { continue };
        let section = format!("[mcpServers.{}]", upstream.name);
        let folder = cwd.iter().map(|folder| ("cwd", folder));
        let listed = confine.iter().filter_map(|confine| match &confine.files {
            FileAccess::Only(paths) => Some(paths),
            FileAccess::AllButDenied => None,
        });
        let listed = listed.flat_map(|paths| {
            let read = paths.read.iter().map(|path| ("confine.read", path));
            read.chain(paths.write.iter().map(|path| ("confine.write", path)))
        });
        notes.extend(folder.chain(listed).filter_map(|(key, path)| {
            missing(path).map(|path| format!("`{key}` under `{section}` does not exist: {path}"))
        }));
    }
    let targets = config.log.signing.iter().flat_map(|signing| &signing.targets);
    notes.extend(targets.filter_map(|target| {
        let CheckpointTarget::File(path) = &target.location else { return None };
        let folder = missing(config.base().join(path).parent()?)?;
        Some(format!("checkpoints cannot be published: there is no folder {folder}"))
    }));
    notes
}

/// The path for display, if it does not exist.
fn missing(path: &Path) -> Option<String> {
    let is_template = path.to_string_lossy().contains(WORKSPACE_FOLDER);
    (!is_template && !path.exists()).then(|| escape::line(&path.display().to_string()).into_owned())
}

/// Copies of a gateway's state beside the configuration. Servers are denied the state itself, and
/// not its copies.
fn state_copies(config: &Config) -> Vec<String> {
    let state = config.state_paths();
    let Ok(entries) = std::fs::read_dir(config.base()) else { return Vec::new() };
    let folders = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir());
    let copies = folders.filter(|folder| {
        let is_state = |file: &PathBuf| state.iter().any(|own| file.starts_with(own));
        let files = STATE_FILES.iter().map(|name| folder.join(name));
        files.filter(|file| file.is_file()).any(|file| !is_state(&file))
    });
    let notes = copies.map(|folder| {
        let folder = folder.display().to_string();
        let folder = escape::line(&folder);
        format!("{folder} looks like a copy of a gateway's state; servers can read it there")
    });
    notes.collect()
}
