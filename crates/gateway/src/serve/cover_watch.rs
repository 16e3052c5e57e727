//! Files of the gateway's own that others replace: a mount covers a file only until then.
//!
//! Folders are covered with all that is ever made in them, so what the gateway itself writes is
//! none of this. What is left are files that an operator edits or makes, such as `weaver.toml` and
//! keys. When one of them is replaced or made, the servers from which mounts keep it are ended at
//! once and started anew.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::gateway::Gateway;
use crate::config::Config;

/// How often the files are looked at.
const INTERVAL: Duration = Duration::from_millis(250);

/// Which file stands under a path: its device and its number there.
type Identity = (u64, u64);

/// Watches the files for as long as the gateway serves.
pub(crate) async fn watch(gateway: Arc<Gateway>) {
    let mut known = identities(&gateway.config);
    loop {
        tokio::time::sleep(INTERVAL).await;
        let found = identities(&gateway.config);
        // A file that is gone leaves nothing to be kept from anybody.
        let replaced = found.iter().any(|(path, file)| known.get(path) != Some(file));
        known = found;
        if replaced {
            gateway.upstreams.restart_covered().await;
        }
    }
}

#[cfg(unix)]
fn identities(config: &Config) -> BTreeMap<PathBuf, Identity> {
    use std::os::unix::fs::MetadataExt as _;
    let state = config.state();
    let folders: Vec<&PathBuf> = state.iter().filter(|path| path.is_dir()).collect();
    let covered =
        |path: &PathBuf| folders.iter().any(|folder| *folder != path && path.starts_with(folder));
    let files = state.iter().filter(|path| !covered(path));
    let known = files.filter_map(|path| {
        let about = path.symlink_metadata().ok()?;
        Some((path.clone(), (about.dev(), about.ino())))
    });
    known.collect()
}

/// Nothing is covered here.
#[cfg(not(unix))]
fn identities(_config: &Config) -> BTreeMap<PathBuf, Identity> {
    BTreeMap::new()
}
