//! Where the daemon of a store is reached.
//!
//! The address depends on the store's path alone, not on the environment, which differs between a
//! terminal, a desktop and a service; so one store never gets two daemons.

use std::path::{Path, PathBuf};

#[cfg(unix)]
use sha2::{Digest as _, Sha256};
#[cfg(unix)]
use weaver_types::hex;

/// The longest socket path that every Unix accepts: macOS allows 104 bytes including the
/// terminator.
#[cfg(unix)]
pub(crate) const MAX_SOCKET_PATH_BYTES: usize = 103;
const SOCKET_NAME: &str = "d.sock";

/// The folder of a daemon, next to its store.
pub(crate) fn run_folder(store: &Path) -> PathBuf {
    let store = std::path::absolute(store).unwrap_or_else(|_| store.to_path_buf());
    store.with_added_extension("run")
}

/// The socket of a daemon: in its folder, or in one with a short path where its own is too long for
/// a socket.
#[cfg(unix)]
pub(crate) fn socket(store: &Path) -> PathBuf {
    let socket = run_folder(store).join(SOCKET_NAME);
    match socket.as_os_str().len() <= MAX_SOCKET_PATH_BYTES {
        true => socket,
        false => short_folder(store).join(SOCKET_NAME),
    }
}

/// A folder with a short path. Its name contains a digest of the store's path. Anybody can create
/// it in `/tmp`, so its owner is checked.
#[cfg(unix)]
fn short_folder(store: &Path) -> PathBuf {
    let store = std::path::absolute(store).unwrap_or_else(|_| store.to_path_buf());
    let digest = Sha256::digest(store.as_os_str().as_encoded_bytes());
    let short = hex(digest.get(..8).unwrap_or_default());
    let name = format!("weaver-{}-{short}", rustix::process::getuid().as_raw());
    Path::new("/tmp").join(name)
}

/// Named pipes have no file; this one names the folder that their name is derived from.
#[cfg(not(unix))]
pub(crate) fn socket(store: &Path) -> PathBuf {
    run_folder(store).join(SOCKET_NAME)
}
