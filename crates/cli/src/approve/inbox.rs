//! Dropping signed files: whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use weaver_types::{OsRandom, random_text};

use crate::{Exit, Failure};

/// Writes a signed file into the inbox, under a name that begins with `about`.
pub(super) fn drop(inbox: &Path, about: &str, bytes: &[u8]) -> Result<PathBuf, Failure> {
    let random = random_text("", 8, &OsRandom)
        .map_err(|error| Failure::new(Exit::Internal, "approve.random", error))?;
    let name: String = about
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '-' })
        .take(80)
        .collect();
    let path = inbox.join(format!("{name}-{random}.json"));
    folder(inbox).and_then(|()| whole(&path, bytes)).map_err(|error| {
        let message = format!("{} cannot be written: {error}", path.display());
        Failure::new(Exit::Invalid, "approve.unwritable", message)
            .next("make the inbox writable for this user; the gateway got nothing yet")
    })?;
    Ok(path)
}

/// Writes a file that others see only when it is complete, for this user alone.
pub(super) fn whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    let beside = PathBuf::from(beside);
    let file = options().open(&beside)?;
    let written = fill(file, bytes).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // The half-written file is ours: it was made just now.
        let _ = fs::remove_file(&beside);
    }
    written?;
    // The name is on disk when its folder is; where folders cannot be synced, it comes later.
    let _ = path.parent().map(File::open).map(|folder| folder.and_then(|f| f.sync_all()));
    Ok(())
}

fn options() -> fs::OpenOptions {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn fill(mut file: File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.write_all(b"\n")?;
    file.sync_all()
}

/// The inbox, made for this user alone where it is not there yet.
fn folder(inbox: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(inbox) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_and_private_or_absent() {
        let folder = tempfile::tempdir().unwrap();
        let inbox = folder.path().join("inbox");
        let path = super::drop(&inbox, "../apr_1/ü", b"{}").unwrap();
        assert_eq!(path.parent(), Some(inbox.as_path()));
        assert_eq!(fs::read(&path).unwrap(), b"{}\n");
        #[cfg(unix)]
        for (path, mode) in [(&path, 0o600), (&inbox, 0o700)] {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, mode);
        }
        assert!(super::drop(&folder.path().join("no/inbox"), "apr_1", b"{}").is_err());
        assert_eq!(fs::read_dir(&inbox).unwrap().count(), 1, "nothing is left beside it");
        let other = folder.path().join("mail.json.part");
        fs::write(&other, "somebody's").unwrap();
        assert!(whole(&folder.path().join("mail.json"), b"{}").is_err());
        assert_eq!(fs::read(&other).unwrap(), b"somebody's", "what is not ours stays");
    }
}
