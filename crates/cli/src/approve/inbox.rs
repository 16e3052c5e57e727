//! Writes signed files into the inbox atomically.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use weaver_types::{OsRandom, random_text};

use crate::{Exit, Failure};

/// Writes a signed file into the inbox, under a name that begins with `subject`.
pub(crate) fn submit(inbox: &Path, subject: &str, bytes: &[u8]) -> Result<PathBuf, Failure> {
    let random = random_text("", 8, &OsRandom)
        .map_err(|error| Failure::new(Exit::Internal, "approve.random", error))?;
    let name: String = subject
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '-' })
        .take(80)
        .collect();
    let path = inbox.join(format!("{name}-{random}.json"));
    create_folder(inbox).and_then(|()| write_atomically(&path, bytes)).map_err(|error| {
        let message = format!("{} cannot be written: {error}", path.display());
        Failure::new(Exit::Invalid, "approve.unwritable", message)
            .with_next_step("make the inbox writable for this user; the gateway got nothing yet")
    })?;
    Ok(path)
}

/// Writes a file that is visible under its name only when complete, and readable for this user
/// alone.
pub(super) fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".part");
    let temporary = PathBuf::from(temporary);
    let file = options().open(&temporary)?;
    let written = write_and_sync(file, bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The incomplete file is ours: it was created above with `create_new`.
        let _ = fs::remove_file(&temporary);
    }
    written?;
    // Syncing the folder makes the new name durable. Some file systems cannot sync a folder; they
    // write the name later.
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

fn write_and_sync(mut file: File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.write_all(b"\n")?;
    file.sync_all()
}

/// Creates the inbox for this user alone, unless it exists.
fn create_folder(inbox: &Path) -> io::Result<()> {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there are no modes"))]
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
        let path = super::submit(&inbox, "../apr_1/ü", b"{}").unwrap();
        assert_eq!(path.parent(), Some(inbox.as_path()));
        assert_eq!(fs::read(&path).unwrap(), b"{}\n");
        #[cfg(unix)]
        for (path, mode) in [(&path, 0o600), (&inbox, 0o700)] {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, mode);
        }
        assert!(super::submit(&folder.path().join("no/inbox"), "apr_1", b"{}").is_err());
        assert_eq!(fs::read_dir(&inbox).unwrap().count(), 1, "nothing is left beside it");
        let other = folder.path().join("mail.json.part");
        fs::write(&other, "somebody's").unwrap();
        assert!(write_atomically(&folder.path().join("mail.json"), b"{}").is_err());
        assert_eq!(fs::read(&other).unwrap(), b"somebody's", "what is not ours stays");
    }
}
