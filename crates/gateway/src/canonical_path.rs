//! The one path of a file.

use std::io;
use std::path::{Path, PathBuf};

/// The absolute path of an existing file or folder, without links. On Windows it has the usual form,
/// with a drive, where it has one: programs do not start in a folder named `\\?\C:\…`, and people do
/// not expect it in their configurations.
///
/// # Errors
/// Those of the system.
pub fn canonical_path(path: &Path) -> io::Result<PathBuf> {
    let path = path.canonicalize()?;
    Ok(if cfg!(windows) { without_verbatim_prefix(path) } else { path })
}

/// Without `\\?\` before a drive. Longer paths than programs are used to keep it.
fn without_verbatim_prefix(path: PathBuf) -> PathBuf {
    /// The longest path without the prefix, `MAX_PATH`.
    const MAX_USUAL_UNITS: usize = 259;

    let Some(usual) = path.to_str().and_then(|text| text.strip_prefix(r"\\?\")) else {
        return path;
    };
    let mut start = usual.chars();
    let has_drive = start.next().is_some_and(|letter| letter.is_ascii_alphabetic())
        && start.next() == Some(':')
        && start.next() == Some('\\');
    match has_drive && usual.encode_utf16().count() <= MAX_USUAL_UNITS {
        true => PathBuf::from(usual),
        false => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_stands_first_and_what_needs_the_prefix_keeps_it() {
        let usual = |path: &str| without_verbatim_prefix(path.into());
        assert_eq!(usual(r"\\?\C:\work\a.toml"), PathBuf::from(r"C:\work\a.toml"));
        for kept in [r"\\?\UNC\host\share\a", r"\\?\Volume{1}\a", r"C:\work", "/srv/a"] {
            assert_eq!(usual(kept), PathBuf::from(kept));
        }
        let long = format!(r"\\?\C:\{}", "x".repeat(300));
        assert_eq!(usual(&long), PathBuf::from(&long));
    }
}
