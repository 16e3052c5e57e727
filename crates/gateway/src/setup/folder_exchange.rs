//! Prepares a new signed folder next to the one in force, and exchanges the two.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::{SetupError, io_error};

/// The signed folder until it is exchanged.
const STAGING_FOLDER: &str = ".weaver-update";

/// Where the folder is prepared that will take the place of this one.
pub(super) fn staging_folder(folder: &Path) -> PathBuf {
    folder.with_file_name(STAGING_FOLDER)
}

/// Copies a documents folder next to it, without the files whose names begin with one of `except`.
pub(super) fn copy_for_staging(
    folder: &Path,
    except: &[impl AsRef<str>],
) -> Result<PathBuf, SetupError> {
    let staging = staging_folder(folder);
    match fs::remove_dir_all(&staging) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(io_error("remove", &staging)(error));
        }
        _ => {}
    }
    fs::create_dir(&staging).map_err(io_error("make", &staging))?;
    let entries = fs::read_dir(folder).map_err(io_error("read", folder))?;
    for from in entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()) {
        let name = from.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !except.iter().any(|start| name.starts_with(start.as_ref())) {
            fs::copy(&from, staging.join(&name)).map_err(io_error("copy", &from))?;
        }
    }
    Ok(staging)
}

/// Exchanges two folders, atomically if the system can.
pub(super) fn exchange_folders(one: &Path, other: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        if renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok() {
            return Ok(());
        }
    }
    let aside = other.with_file_name(format!("{STAGING_FOLDER}-old"));
    let _ = fs::remove_dir_all(&aside);
    fs::rename(other, &aside)?;
    if let Err(error) = fs::rename(one, other) {
        fs::rename(&aside, other)?;
        return Err(error);
    }
    fs::remove_dir_all(aside)
}
