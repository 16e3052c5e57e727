//! Whether a process has one of certain files open.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::denied_paths;
use super::server_processes::{unless_ended, unreadable};
use crate::confine::CoverRefreshError;
use crate::confine::work_limit::WorkLimit;

/// How much of what the kernel says of a descriptor is read.
const MAX_DESCRIPTOR_BYTES: u64 = 4 * 1024;

/// Files by device and inode.
pub(in crate::confine) type FilesById = BTreeMap<(u64, u64), PathBuf>;

/// What no process of a child may have open.
pub(in crate::confine) struct DeniedFiles {
    /// The files among the denied paths.
    files: FilesById,
    /// The folders among them, and everything in these: such a folder is visible for a moment where
    /// another took its place.
    inside: FilesById,
}

impl DeniedFiles {
    /// Looks up what is at the denied paths now.
    ///
    /// # Errors
    /// [`CoverRefreshError::TooMuch`], if the folders have too many entries.
    pub(in crate::confine) fn at(
        denied: &BTreeSet<PathBuf>,
        limit: &mut WorkLimit,
    ) -> Result<Self, CoverRefreshError> {
        let denied = denied_paths::with_resolved_links(denied);
        let is_folder = |path: &PathBuf| path.symlink_metadata().is_ok_and(|about| about.is_dir());
        let mut inside = FilesById::new();
        let mut ahead: Vec<PathBuf> =
            denied.iter().filter(|path| is_folder(path)).cloned().collect();
        while let Some(path) = ahead.pop() {
            limit.spend()?;
            // It may have been removed meanwhile.
            let Ok(about) = path.symlink_metadata() else { continue };
            if inside.insert((about.dev(), about.ino()), path.clone()).is_none() && about.is_dir() {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                ahead.extend(entries.map(|entry| entry.path()));
            }
        }
        Ok(Self { files: by_id(denied.iter()), inside })
    }

    fn by_id(&self, about: &Metadata) -> Option<PathBuf> {
        let id = (about.dev(), about.ino());
        self.files.get(&id).or_else(|| self.inside.get(&id)).cloned()
    }
}

fn by_id<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> FilesById {
    let id = |path: &PathBuf| {
        let about = path.symlink_metadata().ok().filter(|about| !about.is_dir())?;
        Some(((about.dev(), about.ino()), path.clone()))
    };
    paths.filter_map(id).collect()
}

/// Fails if a process has one of the files open or mapped, or may have.
pub(in crate::confine) fn check_not_open(
    process: u32,
    denied: &DeniedFiles,
    limit: &mut WorkLimit,
) -> Result<(), CoverRefreshError> {
    let failed = |error: io::Error| unreadable(process, &error);
    for task in entries(&PathBuf::from(format!("/proc/{process}/task"))).map_err(failed)? {
        let task = task.map_err(failed)?;
        // Threads can have folders and descriptors of their own.
        for folder in ["cwd", "root"] {
            let about = unless_ended(fs::metadata(task.join(folder))).map_err(failed)?;
            if let Some(path) = about.and_then(|about| denied.by_id(&about)) {
                return Err(CoverRefreshError::Open { process, path });
            }
        }
        for descriptor in entries(&task.join("fd")).map_err(failed)? {
            limit.spend()?;
            let descriptor = descriptor.map_err(failed)?;
            let about = unless_ended(fs::metadata(&descriptor)).map_err(failed)?;
            let path = about.and_then(|about| denied.by_id(&about));
            if let Some(path) = path.or_else(|| replaced_file(&descriptor, &denied.files)) {
                return Err(CoverRefreshError::Open { process, path });
            }
        }
        for descriptor in entries(&task.join("fdinfo")).map_err(failed)? {
            limit.spend()?;
            let descriptor = descriptor.map_err(failed)?;
            let about = unless_ended(read_beginning(&descriptor)).map_err(failed)?;
            if about.is_some_and(|about| has_descriptors_in_flight(&about)) {
                return Err(CoverRefreshError::DescriptorsInFlight { process });
            }
        }
    }
    let maps = unless_ended(fs::File::open(format!("/proc/{process}/maps"))).map_err(failed)?;
    for line in maps.into_iter().flat_map(|maps| BufReader::new(maps).lines()) {
        limit.spend()?;
        let Some(line) = unless_ended(line).map_err(failed)? else { break };
        if let Some(path) = mapped(&line, denied) {
            return Err(CoverRefreshError::Open { process, path });
        }
    }
    Ok(())
}

/// The beginning of what the kernel says of a descriptor. That of a socket is short; that of a
/// descriptor which watches others grows with them.
fn read_beginning(descriptor: &Path) -> io::Result<String> {
    let mut beginning = Vec::new();
    fs::File::open(descriptor)?.take(MAX_DESCRIPTOR_BYTES).read_to_end(&mut beginning)?;
    Ok(String::from_utf8_lossy(&beginning).into_owned())
}

/// The denied path whose former file a descriptor shows. While a file is replaced, the kernel takes
/// the cover away a moment before the new file is there, and the former one can be opened.
fn replaced_file(descriptor: &Path, files: &FilesById) -> Option<PathBuf> {
    let shown = fs::read_link(descriptor).ok()?;
    let name = shown.file_name()?.to_str()?.strip_suffix(" (deleted)")?;
    files.values().find(|path| path.file_name().is_some_and(|known| known == name)).cloned()
}

/// The entries of a kernel folder; none if the process has ended.
fn entries(folder: &Path) -> io::Result<impl Iterator<Item = io::Result<PathBuf>>> {
    let listed = unless_ended(fs::read_dir(folder))?.into_iter().flatten();
    Ok(listed.filter_map(|entry| Some(unless_ended(entry).transpose()?.map(|one| one.path()))))
}

/// A Unix socket says how many descriptors wait in its queue.
fn has_descriptors_in_flight(about: &str) -> bool {
    let counts = about.lines().filter_map(|line| line.strip_prefix("scm_fds:"));
    counts.map(str::trim).any(|count| count != "0")
}

/// The file that a line of `maps` shows. The device is not compared, because some file systems show
/// another one here; of what is in a folder, the name is.
fn mapped(line: &str, denied: &DeniedFiles) -> Option<PathBuf> {
    let inode: u64 = line.split_whitespace().nth(4)?.parse().ok()?;
    let shown = Path::new(line.trim_end_matches(" (deleted)")).file_name();
    let of_inode = |files: &FilesById, accepts: &dyn Fn(&Path) -> bool| {
        let mut found = files.iter().filter(|((_, known), _)| *known == inode);
        found.find(|(_, path)| accepts(path)).map(|(_, path)| path.clone())
    };
    of_inode(&denied.files, &|_| true)
        .or_else(|| of_inode(&denied.inside, &|path| path.file_name() == shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_of_descriptors_is_read() {
        assert!(!has_descriptors_in_flight("pos:\t0\nscm_fds:\t0\n"));
        assert!(has_descriptors_in_flight("pos:\t0\nscm_fds:\t1\n"));
        assert!(!has_descriptors_in_flight("pos:\t0\nino:\t1\n"));
        let denied = DeniedFiles {
            files: FilesById::from([((1, 77), PathBuf::from("/k"))]),
            inside: FilesById::from([((1, 79), PathBuf::from("/f/in"))]),
        };
        let line = |inode: u64, name: &str| {
            format!("7f00-7f01 r--s 00000000 fe:00 {inode}   {name} (deleted)")
        };
        assert_eq!(mapped(&line(77, "/k"), &denied), Some(PathBuf::from("/k")));
        assert_eq!(mapped(&line(78, "/k"), &denied), None);
        assert_eq!(mapped(&line(79, "/f/in"), &denied), Some(PathBuf::from("/f/in")));
        assert_eq!(mapped(&line(79, "/memory"), &denied), None, "of another file system");
        assert_eq!(mapped("7f00-7f01 rw-p 00000000 00:00 0", &denied), None);
    }

    #[test]
    fn a_file_that_is_open_is_found_and_a_closed_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["a", "b"].map(|name| folder.path().join(name));
        for path in &paths {
            fs::write(path, "x").unwrap();
        }
        let open = fs::File::open(&paths[0]).unwrap();
        let process = std::process::id();
        let at = |paths: &[PathBuf]| {
            let paths = paths.iter().cloned().collect();
            DeniedFiles::at(&paths, &mut WorkLimit::new()).unwrap()
        };
        let check = |path: &PathBuf| {
            check_not_open(process, &at(std::slice::from_ref(path)), &mut WorkLimit::new())
        };
        let above = folder.path().to_path_buf();
        for denied in [&paths[0], &above] {
            let found = check(denied).unwrap_err();
            assert!(matches!(&found, CoverRefreshError::Open { path, .. } if *path == paths[0]));
        }
        drop(open);
        let entered = fs::File::open(&above).unwrap();
        assert!(matches!(check(&above), Err(CoverRefreshError::Open { .. })), "the folder itself");
        drop(entered);
        let former = fs::File::open(&paths[0]).unwrap();
        fs::write(folder.path().join("new"), "y").unwrap();
        fs::rename(folder.path().join("new"), &paths[0]).unwrap();
        assert!(matches!(check(&paths[0]), Err(CoverRefreshError::Open { .. })), "the former one");
        drop(former);
        // Other tests of this process may have descriptors in a socket.
        assert!(!matches!(check(&paths[1]), Err(CoverRefreshError::Open { .. })));
        let mut limit = WorkLimit::of_looks(2);
        let checked = check_not_open(process, &at(&paths), &mut limit);
        assert_eq!(checked, Err(CoverRefreshError::TooMuch));
        let found = DeniedFiles::at(&[above].into(), &mut WorkLimit::of_looks(2));
        assert!(matches!(found, Err(CoverRefreshError::TooMuch)));
    }
}
