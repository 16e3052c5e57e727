//! Files that are written completely or not at all.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use super::open_folder::FilePermissions;
use super::temporary_file::TemporaryFile;
use crate::interruption;

/// Replaces or creates a file: a temporary file is written and synced, then renamed. An existing file
/// keeps its permissions; a new one is accessible to this user only. A symbolic link is followed, so
/// that it stays a link. Below a gateway's folder the temporary file is made in `.weaver`, which
/// servers are denied; anywhere else it is made next to the file.
///
/// # Errors
/// Those of the system; the file is then unchanged, and the temporary one is removed. Also if another
/// file took its place while it was written.
pub fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    let target = match crate::canonical_path(path) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error),
    };
    let permissions = fs::metadata(&target).ok().map(|data| data.permissions());
    let mut temporary = TemporaryFile::create(&target, FilePermissions::OwnerOnly)?;
    write_in_steps(&mut temporary, text.as_bytes())?;
    if let Some(permissions) = permissions {
        temporary.set_permissions(permissions)?;
    }
    temporary.replace_target()
}

/// Replaces a file; a new one is for everybody whom the process's file mode mask lets read it.
///
/// # Errors
/// As [`replace_file`] and [`NewFile::create`].
pub fn replace_public_file(path: &Path, text: &str) -> io::Result<()> {
    if path.symlink_metadata().is_ok() {
        return replace_file(path, text);
    }
    let mut file = NewFile::create(path, FilePermissions::Default)?;
    file.write_all(text.as_bytes())?;
    file.commit()
}

/// Writes a new file for this user only, synced to disk.
///
/// # Errors
/// Those of the system, including that the file exists. There is no file under this name then.
pub fn write_new_file(path: &Path, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = NewFile::create(path, FilePermissions::OwnerOnly)?;
    write_in_steps(&mut file, contents.as_ref())?;
    file.commit()
}

fn write_in_steps(file: &mut impl io::Write, contents: &[u8]) -> io::Result<()> {
    let (first, rest) = contents.split_at(contents.len() / 2);
    file.write_all(first)?;
    interruption::step();
    file.write_all(rest)
}

/// A new file. It is written to a temporary file and gets its name when it is complete; without
/// [`NewFile::commit`] it is removed.
#[derive(Debug)]
pub struct NewFile(TemporaryFile);

impl NewFile {
    /// Begins the file.
    ///
    /// # Errors
    /// Those of the system, including that there is a file of this name already.
    pub fn create(path: &Path, permissions: FilePermissions) -> io::Result<Self> {
        if fs::symlink_metadata(path).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        Ok(Self(TemporaryFile::create(path, permissions)?))
    }

    /// Syncs the file and gives it its name.
    ///
    /// # Errors
    /// Those of the system, including that there is a file of this name by now.
    pub fn commit(self) -> io::Result<()> {
        self.0.become_target()
    }
}

impl io::Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
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

    #[cfg(unix)]
    #[test]
    fn what_an_ended_process_left_goes_and_what_one_writes_stays() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(name);
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let (ended, mine) = (child.id(), std::process::id());
        let left =
            [format!("a.weaver-{ended}-x"), format!("a.weaver-{mine}-x"), "a.weaver-y".into()];
        left.iter().for_each(|name| fs::write(file(name), "half").unwrap());
        replace_file(&file("a"), "whole").unwrap();
        let stay: Vec<bool> = left.iter().map(|name| file(name).exists()).collect();
        assert_eq!(stay, [false, true, true]);
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
