//! Watches the gateway's own files that mounts hide from servers: a mount hides a file only until
//! the file is replaced.
//!
//! Hidden folders also hide whatever is created in them, so files that the gateway itself writes
//! need no watching. What remains are files that an operator edits or creates, such as
//! `weaver.toml` and keys. When one of them is replaced or created, it is hidden from the running
//! servers too; calls in progress go on. A server that may have opened it already is killed and
//! started again. Each server has a task of its own, so that none waits for another.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch::{self, Receiver};
use tokio::task::JoinSet;

use super::gateway::Gateway;
use super::managed_server::ManagedServer;
use crate::config::Config;

const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The identity of the file at a path: device and inode.
type FileId = (u64, u64);

/// Watches the files for as long as the gateway serves.
pub(crate) async fn watch(gateway: Arc<Gateway>) {
    let mut known_files = file_ids(&gateway.upstreams.config());
    let replacements = watch::Sender::new(());
    // Aborted with this task.
    let mut tasks = JoinSet::new();
    let mut known_servers: Vec<Arc<ManagedServer>> = Vec::new();
    loop {
        // Before the files are looked at: a file that was replaced since a server was started is
        // hidden from that one too.
        let servers = gateway.upstreams.servers();
        for server in &servers {
            if !known_servers.iter().any(|known| Arc::ptr_eq(known, server)) {
                tasks.spawn(hide_from(Arc::clone(server), replacements.subscribe()));
            }
        }
        known_servers = servers;
        while tasks.try_join_next().is_some() {}
        let current_files = file_ids(&gateway.upstreams.config());
        // A removed file needs no protection.
        let was_replaced =
            current_files.iter().any(|(path, file)| known_files.get(path) != Some(file));
        known_files = current_files;
        if was_replaced {
            replacements.send_replace(());
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Hides files from one server whenever some were replaced, until it ends. Those that are replaced
/// meanwhile are hidden afterwards.
async fn hide_from(server: Arc<ManagedServer>, mut replacements: Receiver<()>) {
    loop {
        tokio::select! {
            () = server.has_ended() => return,
            replaced = replacements.changed() => if replaced.is_err() { return },
        }
        server.hide_replaced_files().await;
    }
}

#[cfg(unix)]
fn file_ids(config: &Config) -> BTreeMap<PathBuf, FileId> {
    use std::os::unix::fs::MetadataExt as _;
    let state = config.state_paths();
    let folders: Vec<&PathBuf> = state.iter().filter(|path| path.is_dir()).collect();
    let is_inside_state_folder =
        |path: &PathBuf| folders.iter().any(|folder| *folder != path && path.starts_with(folder));
    let files = state.iter().filter(|path| !is_inside_state_folder(path));
    let ids = files.filter_map(|path| {
        let about = path.symlink_metadata().ok()?;
        Some((path.clone(), (about.dev(), about.ino())))
    });
    ids.collect()
}

/// Mounts hide nothing on this system.
#[cfg(not(unix))]
fn file_ids(_config: &Config) -> BTreeMap<PathBuf, FileId> {
    BTreeMap::new()
}
