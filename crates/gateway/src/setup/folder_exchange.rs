//! Prepares a new signed folder, and exchanges it with the one in force.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::error::{SetupError, io_error};
use crate::clients::is_same_mount;
use crate::config::Config;
use crate::private_file;

/// The signed folder until it is exchanged, in the gateway's private folder.
const PRIVATE_STAGING_FOLDER: &str = "update";
/// The same next to the documents, where these are on another file system.
const STAGING_FOLDER: &str = ".weaver-update";

/// Where the folder is prepared that will take the place of the documents: where no server can make or
/// replace anything in it, unless it could not be moved from there.
pub(super) fn staging_folder(config: &Config) -> PathBuf {
    let (documents, private) = (&config.documents_folder, config.private_folder());
    let is_movable =
        private.is_dir() && documents.parent().is_some_and(|above| is_same_mount(&private, above));
    match is_movable {
        true => private.join(PRIVATE_STAGING_FOLDER),
        false => documents.with_file_name(STAGING_FOLDER),
    }
}

/// Copies the documents to the staging folder, without the files whose names begin with one of
/// `except`.
pub(super) fn copy_for_staging(
    config: &Config,
    except: &[impl AsRef<str>],
) -> Result<PathBuf, SetupError> {
    let folder = &config.documents_folder;
    config.make_private_folder().map_err(io_error("make", &config.private_folder()))?;
    let staging = staging_folder(config);
    match fs::remove_dir_all(&staging) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(io_error("remove", &staging)(error));
        }
        _ => {}
    }
    let permissions = fs::metadata(folder).map(|about| about.permissions());
    let made = private_file::create_folder(&staging);
    let made = made.and_then(|()| fs::set_permissions(&staging, permissions?));
    made.map_err(io_error("make", &staging))?;
    let entries = fs::read_dir(folder).map_err(io_error("read", folder))?;
    for from in entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()) {
        let name = from.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !except.iter().any(|start| name.starts_with(start.as_ref())) {
            copy_new(&from, &staging.join(&name)).map_err(io_error("copy", &from))?;
        }
    }
    Ok(staging)
}

/// Copies a file to a name that must be free.
fn copy_new(from: &Path, to: &Path) -> io::Result<()> {
    let mut copy = private_file::file_options().write(true).create_new(true).open(to)?;
    copy.write_all(&fs::read(from)?)?;
    copy.set_permissions(fs::metadata(from)?.permissions())?;
    copy.sync_all()
}

/// Exchanges the staging folder with another one, atomically if the system can.
pub(super) fn exchange_folders(staging: &Path, other: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        if renameat_with(CWD, staging, CWD, other, RenameFlags::EXCHANGE).is_ok() {
            return Ok(());
        }
    }
    let aside = staging.with_extension("old");
    let _ = fs::remove_dir_all(&aside);
    fs::rename(other, &aside)?;
    if let Err(error) = fs::rename(staging, other) {
        fs::rename(&aside, other)?;
        return Err(error);
    }
    fs::remove_dir_all(aside)
}
