//! The trace that the shim writes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The length of an entry's header, in bytes.
const HEADER_BYTES: usize = 25;
/// Marks an open of a folder.
const FOLDER_FLAG: i64 = 1 << 32;

/// A file call, or output of the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A file was opened; created if it did not exist.
    Open {
        /// Its name.
        path: PathBuf,
        /// Whether it is a folder.
        folder: bool,
        /// Whether it was truncated to zero.
        emptied: bool,
    },
    /// Bytes were written.
    Write {
        /// To which file.
        path: PathBuf,
        /// From where on.
        offset: u64,
        /// What.
        bytes: Vec<u8>,
    },
    /// A file, or the names in a folder, were synced.
    Sync(PathBuf),
    /// A file was truncated or extended to this length.
    Truncate(PathBuf, u64),
    /// A file was closed.
    Close(PathBuf),
    /// A file was renamed.
    Rename(PathBuf, PathBuf),
    /// A name was removed.
    Unlink(PathBuf),
    /// Bytes on the standard output.
    Output(String),
    /// Bytes were read.
    Read {
        /// From which file.
        path: PathBuf,
        /// From where on, unless that is where the descriptor stood.
        offset: Option<u64>,
        /// How many.
        bytes: u64,
    },
    /// A call failed, or a sync was dropped: nothing changed.
    Failed {
        /// The letter of its kind.
        kind: char,
        /// The error number; zero for a dropped sync.
        errno: i64,
    },
}

impl Step {
    /// Whether it is a call that the shim counts and can make fail.
    #[must_use]
    pub fn is_call(&self) -> bool {
        !matches!(self, Self::Output(_) | Self::Read { .. })
    }
}

/// Reads a trace; an entry that was cut off by the death of the process is left out.
///
/// # Errors
/// When the file cannot be read or is no trace.
pub fn read(path: &Path) -> Result<Vec<Step>, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let (mut rest, mut steps, mut names) = (bytes.as_slice(), Vec::new(), BTreeMap::new());
    while let Some((entry, after)) = Entry::split(rest) {
        steps.push(entry.step(&mut names)?);
        rest = after;
    }
    Ok(steps)
}

struct Entry<'a> {
    kind: u8,
    fd: i32,
    offset: i64,
    result: i64,
    bytes: &'a [u8],
}

impl<'a> Entry<'a> {
    fn split(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (head, rest) = bytes.split_at_checked(HEADER_BYTES)?;
        let (kind, head) = head.split_first()?;
        let (fd, head) = head.split_first_chunk::<4>()?;
        let (offset, head) = head.split_first_chunk::<8>()?;
        let (result, length) = head.split_first_chunk::<8>()?;
        let length = u32::from_le_bytes(*length.first_chunk::<4>()?);
        let (payload, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        let entry = Self {
            kind: *kind,
            fd: i32::from_le_bytes(*fd),
            offset: i64::from_le_bytes(*offset),
            result: i64::from_le_bytes(*result),
            bytes: payload,
        };
        Some((entry, rest))
    }

    fn step(&self, names: &mut BTreeMap<i32, PathBuf>) -> Result<Step, String> {
        let kind = char::from(self.kind);
        if kind == 'C' {
            // A descriptor is closed even when closing it reports an error.
            return names.remove(&self.fd).map(Step::Close).ok_or_else(|| self.invalid_entry());
        }
        if self.result < 0 {
            return Ok(Step::Failed { kind, errno: -self.result });
        }
        let path = || names.get(&self.fd).cloned().ok_or_else(|| self.invalid_entry());
        Ok(match kind {
            'O' => {
                let path = path_from_bytes(self.bytes);
                names.insert(
                    i32::try_from(self.result).map_err(|_| self.invalid_entry())?,
                    path.clone(),
                );
                let emptied = self.offset & i64::from(0o1000) != 0;
                Step::Open { path, folder: self.offset & FOLDER_FLAG != 0, emptied }
            }
            'W' => {
                let offset = u64::try_from(self.offset).map_err(|_| self.invalid_entry())?;
                Step::Write { path: path()?, offset, bytes: self.bytes.to_vec() }
            }
            'S' => Step::Sync(path()?),
            'D' => Step::Failed { kind, errno: 0 },
            'T' => {
                let length = u64::try_from(self.offset).map_err(|_| self.invalid_entry())?;
                Step::Truncate(path()?, length)
            }
            'R' => {
                let mut paths = self.bytes.splitn(2, |byte| *byte == 0).map(path_from_bytes);
                let (from, to) = (paths.next(), paths.next());
                let (Some(from), Some(to)) = (from, to) else { return Err(self.invalid_entry()) };
                Step::Rename(from, to)
            }
            'U' => Step::Unlink(path_from_bytes(self.bytes)),
            'A' => Step::Output(String::from_utf8_lossy(self.bytes).into_owned()),
            'r' => Step::Read {
                path: path()?,
                offset: u64::try_from(self.offset).ok(),
                bytes: u64::try_from(self.result).map_err(|_| self.invalid_entry())?,
            },
            _ => return Err(self.invalid_entry()),
        })
    }

    fn invalid_entry(&self) -> String {
        let Self { kind, fd, offset, result, .. } = self;
        format!("invalid trace entry: kind {kind}, descriptor {fd}, {offset}, {result}")
    }
}

fn path_from_bytes(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}
