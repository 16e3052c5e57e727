//! Landlock rules for paths that never include a denied path.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{AccessFs, BitFlags, PathBeneath, RulesetCreated, RulesetCreatedAttr as _};
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, fstat, openat};

use super::cover::CoverMethod;
use super::files::NEWEST_TESTED_ABI;
use super::{denied_paths, kernel_files};
use crate::confine::ConfineError;

/// The most entries of a folder above a denied path.
const MAX_ENTRIES: usize = 65_536;

/// A Landlock ruleset under construction.
///
/// Landlock has no exceptions: everything below an allowed folder is allowed. So, unless mounts
/// cover the denied paths, a folder above a denied path gets no rule itself. Each of its other
/// entries gets one instead, and entries created later get none.
pub(super) struct PathRules {
    ruleset: RulesetCreated,
    denied: BTreeSet<PathBuf>,
    cover_method: CoverMethod,
}

impl PathRules {
    pub(super) fn new(
        ruleset: RulesetCreated,
        denied: BTreeSet<PathBuf>,
        cover_method: CoverMethod,
    ) -> Self {
        Self { ruleset, denied, cover_method }
    }

    pub(super) fn into_inner(self) -> RulesetCreated {
        self.ruleset
    }

    /// Allows a path and everything below it except denied paths.
    pub(super) fn allow(
        &mut self,
        path: &Path,
        access: BitFlags<AccessFs>,
    ) -> Result<(), ConfineError> {
        let failed = |error: std::io::Error| ConfineError::Path {
            path: path.to_path_buf(),
            reason: error.to_string(),
        };
        // Mounts may already hide a denied path, so it is compared by its resolved path.
        let resolved = denied_paths::resolve(path);
        if self.denied.iter().any(|denied| resolved.starts_with(denied)) {
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
        if self.cover_method == CoverMethod::None && above() {
            return self.allow_entries(&file, path, access);
        }
        let access = if kernel_files::is_read_only(path) {
            access & AccessFs::from_read(NEWEST_TESTED_ABI)
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

    /// Allows the entries of a folder above a denied path one by one.
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
            if count > MAX_ENTRIES {
                return Err(ConfineError::TooManyEntries {
                    path: path.to_path_buf(),
                    most: MAX_ENTRIES,
                });
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
            // An entry that cannot be opened, or has just been removed, is not allowed.
            let Ok(file) = openat(folder, name, flags, Mode::empty()) else { continue };
            let Ok(about) = fstat(&file) else { continue };
            // The target of a link is allowed or not by its own rule.
            if FileType::from_raw_mode(about.st_mode) != FileType::Symlink {
                self.allow_open(file, &child, access)?;
            }
        }
        Ok(())
    }
}
