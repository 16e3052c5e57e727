//! The key of a dedicated instance.

use std::path::{Path, PathBuf};

use weaver_types::RunId;

/// Identifies a dedicated instance by the clients it serves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum InstanceKey {
    /// One client, in its current run.
    Run(RunId),
    /// All clients that work in a folder.
    Folder(PathBuf),
}

impl InstanceKey {
    /// The folder of an instance for all clients of a folder, as text.
    pub(crate) fn folder_text(&self) -> Option<String> {
        match self {
            Self::Run(_) => None,
            Self::Folder(folder) => Some(folder_text(folder)),
        }
    }
}

/// The path as text. One that is not valid UTF-8 is quoted and escaped, so that no two paths have the same text: a
/// path that is not quoted begins with `/`.
fn folder_text(folder: &Path) -> String {
    folder.to_str().map_or_else(|| format!("{folder:?}"), str::to_owned)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn paths_that_differ_in_bytes_that_are_no_text_differ_as_text() {
        let text = |bytes: &[u8]| folder_text(Path::new(OsStr::from_bytes(bytes)));
        assert_eq!(text(b"/srv/a"), "/srv/a");
        assert_ne!(text(b"/srv/\xff"), text(b"/srv/\xfe"));
        assert_ne!(text(b"/srv/\xff"), text("/srv/\u{fffd}".as_bytes()));
    }
}
