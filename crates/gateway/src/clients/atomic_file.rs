//! Files that are written whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use weaver_types::{OsRandom, random_text};

/// Replaces a file, or makes it: a temporary file beside it is written and synced, then renamed.
/// Permissions stay those of the file that was there; a new one is for this user alone. A link is
/// followed, so that it stays a link.
///
/// # Errors
/// Those of the system. The file is as it was then, and the temporary one is gone.
pub fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error),
    };
    let permissions = fs::metadata(&target).ok().map(|data| data.permissions());
    let beside = temporary_beside(&target)?;
    let written = write_synced(&beside, text).and_then(|()| {
        if let Some(permissions) = permissions {
            fs::set_permissions(&beside, permissions)?;
        }
        fs::rename(&beside, &target)
    });
    if let Err(error) = written {
        // What is left of the attempt.
        let _ = fs::remove_file(&beside);
        return Err(error);
    }
    sync_folder(&target)
}

/// Writes a file that is not there yet, for this user alone, synced to disk.
///
/// # Errors
/// Those of the system, also where the file exists.
pub fn write_new_file(path: &Path, text: &str) -> io::Result<()> {
    write_synced(path, text)
}

fn write_synced(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// A name beside the file that nobody else has.
fn temporary_beside(path: &Path) -> io::Result<PathBuf> {
    let fresh = random_text(".weaver-", 8, &OsRandom).map_err(io::Error::other)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(fresh);
    Ok(path.with_file_name(name))
}

/// Makes a rename last. Where folders cannot be synced, the system does as it does.
fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        File::open(folder)?.sync_all()?;
    }
    #[cfg(not(unix))]
    let _ = (path, File::open::<&Path>);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_link_and_its_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real.json"), dir.path().join("link.json"));
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&real, &link).unwrap();
        replace_file(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_new_file_is_never_written_over_another() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a");
        write_new_file(&file, "one").unwrap();
        assert!(write_new_file(&file, "two").is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "one");
    }
}
