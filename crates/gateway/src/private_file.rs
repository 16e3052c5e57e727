//! Files and folders that only this user can access, on systems with permissions.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::path::Path;

/// The name of the folder for the gateway's own state, which servers are denied.
pub(crate) const STATE_FOLDER: &str = ".weaver";

/// Options that create a file for this user alone. What else they do is up to the caller.
pub(crate) fn file_options() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there are no modes"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a folder for this user alone. Fails if it exists.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    folder_builder().create(path)
}

/// Creates a folder for this user alone, unless there is one. Fails if something else, such as a link,
/// has its name.
pub(crate) fn create_own_folder(path: &Path) -> io::Result<()> {
    match create_folder(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            match path.symlink_metadata()?.is_dir() {
                true => Ok(()),
                false => Err(io::ErrorKind::NotADirectory.into()),
            }
        }
        made => made,
    }
}

/// Creates a folder and those above it for this user alone, unless they exist.
pub(crate) fn create_folders(path: &Path) -> io::Result<()> {
    folder_builder().recursive(true).create(path)
}

fn folder_builder() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there are no modes"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}
