//! Rules for paths, none of which reaches what is denied.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{AccessFs, BitFlags, PathBeneath, RulesetCreated, RulesetCreatedAttr as _};
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, fstat, openat};

use super::cover::CoverMethod;
use super::files::KNOWN;
use super::{denied_paths, kernel_files};
use crate::confine::ConfineError;

/// The most entries of a folder that stands above a denied path.
const MOST: usize = 65_536;

/// A set of rules in the making.
///
/// Landlock knows no exceptions: whatever stands below an allowed folder is allowed. So, unless
/// mounts cover what is denied, a folder above a denied path gets no rule itself; each of its other
/// entries gets one, and what is made there later gets none.
pub(super) struct Rules {
    ruleset: RulesetCreated,
    denied: BTreeSet<PathBuf>,
    covering: CoverMethod,
}

impl Rules {
    pub(super) fn new(
        ruleset: RulesetCreated,
        denied: BTreeSet<PathBuf>,
        covering: CoverMethod,
    ) -> Self {
        Self { ruleset, denied, covering }
    }

    pub(super) fn into_inner(self) -> RulesetCreated {
        self.ruleset
    }

    /// Allows a path with all below it, except for what is denied.
    pub(super) fn allow(
        &mut self,
        path: &Path,
        access: BitFlags<AccessFs>,
    ) -> Result<(), ConfineError> {
        let failed = |error: std::io::Error| ConfineError::Path {
            path: path.to_path_buf(),
            reason: error.to_string(),
        };
        // What mounts cover is not there any more.
        let place = denied_paths::settled(path);
        if self.denied.iter().any(|denied| place.starts_with(denied)) {
            return Err(ConfineError::Denied { path: path.to_path_buf() });
        }
        let real = path.canonicalize().map_err(failed)?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file =
            openat(CWD, &real, flags, Mode::empty()).map_err(|error| failed(error.into()))?;
        self.allow_open(file, &real, access)
    }

    fn allow_open(
        &mut self,
        file: OwnedFd,
        path: &Path,
        access: BitFlags<AccessFs>,
    ) -> Result<(), ConfineError> {
        let above = || self.denied.iter().any(|denied| denied.starts_with(path));
        if self.covering == CoverMethod::None && above() {
            return self.allow_entries(&file, path, access);
        }
        let access = if kernel_files::is_closed(path) {
            access & AccessFs::from_read(KNOWN)
        } else {
            access
        };
        let rule = PathBeneath::new(file, access);
        let added = (&mut self.ruleset).add_rule(rule);
        added.map(drop).map_err(|error| ConfineError::Path {
            path: path.to_path_buf(),
            reason: error.to_string(),
        })
    }

    /// Allows the entries of a folder that stands above a denied path, one by one.
    fn allow_entries(
        &mut self,
        folder: &OwnedFd,
        path: &Path,
        access: BitFlags<AccessFs>,
    ) -> Result<(), ConfineError> {
        let failed = |error: rustix::io::Errno| ConfineError::Path {
            path: path.to_path_buf(),
            reason: error.to_string(),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listed =
            openat(folder, ".", flags, Mode::empty()).and_then(Dir::new).map_err(failed)?;
        for (count, entry) in listed.enumerate() {
            if count > MOST {
                return Err(ConfineError::Crowded { path: path.to_path_buf(), most: MOST });
            }
            let entry = entry.map_err(failed)?;
            let bytes = entry.file_name().to_bytes();
            if matches!(bytes, b"." | b"..") {
                continue;
            }
            let name: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(bytes);
            let child = path.join(name);
            if self.denied.contains(&child) {
                continue;
            }
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            // Something that cannot be looked at, or has gone meanwhile, is not allowed.
            let Ok(file) = openat(folder, name, flags, Mode::empty()) else { continue };
            let Ok(about) = fstat(&file) else { continue };
            // What a link leads to has, or has not, a rule of its own.
            if FileType::from_raw_mode(about.st_mode) != FileType::Symlink {
                self.allow_open(file, &child, access)?;
            }
        }
        Ok(())
    }
}
