//! Resolves programs to absolute paths, so that a server also starts under a client with a minimal
//! environment, as desktop clients have.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The most folders of the user's `PATH` that are kept.
const MAX_FOLDERS: usize = 64;
/// Folders in every environment's `PATH`.
const STANDARD_FOLDERS: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];
/// How much of a script is read to find its interpreter.
const MAX_SHEBANG_BYTES: usize = 256;

/// A program that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundProgram {
    /// Its absolute path.
    pub(super) path: PathBuf,
    /// The `PATH` that it needs, if the minimal one is not enough: that by which it was found, in its
    /// order, so that it also finds the same programs as there.
    pub(super) search_path: Option<String>,
}

/// Looks up a program in a `PATH`; a name with a folder is used as it is.
pub(super) fn find_program(command: &str, search_path: &OsStr) -> Option<FoundProgram> {
    let path = if command.contains(['/', '\\']) {
        let path = PathBuf::from(command);
        path.is_absolute().then_some(path).filter(|path| path.is_file())?
    } else {
        search_in_path(command, search_path)?
    };
    // The program needs its own folder, and the interpreter of a script.
    let interpreter = interpreter(&path).and_then(|name| search_in_path(&name, search_path));
    let folders = [Some(path.as_path()), interpreter.as_deref()].into_iter().flatten();
    let mut needed: Vec<String> = Vec::new();
    for folder in folders.filter_map(Path::parent) {
        let folder = folder.display().to_string();
        if !needed.contains(&folder) {
            needed.push(folder);
        }
    }
    let bare = |folder: &String| matches!(folder.as_str(), "/usr/bin" | "/bin");
    let search_path = (!needed.iter().all(bare)).then(|| {
        let folders = std::env::split_paths(search_path).filter(|folder| folder.is_absolute());
        let folders = folders.take(MAX_FOLDERS).map(|folder| folder.display().to_string());
        let mut all: Vec<String> = Vec::new();
        for folder in folders.chain(needed).chain(STANDARD_FOLDERS.map(str::to_owned)) {
            if !all.contains(&folder) {
                all.push(folder);
            }
        }
        all.join(":")
    });
    Some(FoundProgram { path, search_path: search_path.filter(|_| cfg!(unix)) })
}

fn search_in_path(name: &str, search_path: &OsStr) -> Option<PathBuf> {
    let ends: &[&str] = if cfg!(windows) { &[".exe", ".cmd", ".bat", ""] } else { &[""] };
    std::env::split_paths(search_path)
        .filter(|folder| folder.is_absolute())
        .flat_map(|folder| ends.iter().map(move |end| folder.join(format!("{name}{end}"))))
        .find(|path| is_executable(path))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// The program named after `#!/usr/bin/env`.
fn interpreter(path: &Path) -> Option<String> {
    use std::io::Read as _;
    let mut start = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(u64::try_from(MAX_SHEBANG_BYTES).ok()?).read_to_end(&mut start).ok()?;
    let text = String::from_utf8_lossy(&start);
    let line = text.lines().next()?.strip_prefix("#!")?;
    let mut words = line.split_whitespace();
    let program = words.next()?;
    if !program.ends_with("/env") {
        return None;
    }
    words.find(|word| !word.starts_with('-')).map(str::to_owned)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn program(folder: &Path, name: &str, text: &str) -> PathBuf {
        std::fs::create_dir_all(folder).unwrap();
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn a_script_brings_the_folder_of_its_interpreter() {
        let dir = tempfile::tempdir().unwrap();
        let (bin, node) = (dir.path().join("bin"), dir.path().join("node"));
        let npx = program(&bin, "npx", "#!/usr/bin/env node\n");
        program(&node, "node", "");
        std::fs::write(dir.path().join("plain"), "").unwrap();
        let search = std::env::join_paths([dir.path(), &bin, &node]).unwrap();
        let found = find_program("npx", &search).unwrap();
        assert_eq!(found.path, npx);
        let folders = [dir.path(), &bin, &node].map(|folder| folder.display().to_string());
        let wanted = format!("{}:/usr/local/bin:/usr/bin:/bin", folders.join(":"));
        assert_eq!(found.search_path.as_deref(), Some(wanted.as_str()));
        assert_eq!(find_program("plain", &search), None);
        assert_eq!(find_program("absent", &search), None);
    }
}
