//! Which table of word vectors helps to find tools, and where it lies.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contextweaver::route::{TableError, TokenTable};

/// The word for the table in the binary.
const BUILT_IN: &str = "built-in";
/// The word for no table.
const NONE: &str = "none";
/// The largest file of a table, in bytes.
const MAX_FILE: u64 = 256 * 1024 * 1024;
/// Files that may hold the vocabulary, the first that is there.
const VOCABULARIES: [&str; 2] = ["vocab.txt", "tokenizer.json"];

/// Where a table of word vectors lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WordTable {
    /// In the binary.
    BuiltIn,
    /// In a folder, as model2vec writes it: one safetensors file, and `vocab.txt` or
    /// `tokenizer.json`.
    Folder(PathBuf),
}

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WordTableError {
    /// A file that cannot be read.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        error: io::Error,
    },
    /// What was read is no table.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl WordTableError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "table.unreadable",
            Self::Table(error) => error.code(),
        }
    }
}

impl WordTable {
    /// `built-in`, or a folder, which starts at `base` unless it is absolute; nothing for `none`.
    #[must_use]
    pub fn named(name: &str, base: &Path) -> Option<Self> {
        match name {
            NONE => None,
            BUILT_IN => Some(Self::BuiltIn),
            folder => Some(Self::Folder(base.join(folder))),
        }
    }

    /// Reads the table.
    ///
    /// # Errors
    /// [`WordTableError`]: files that are missing, unreadable or too large, or hold no table.
    pub fn load(&self) -> Result<Arc<TokenTable>, WordTableError> {
        match self {
            Self::BuiltIn => Ok(TokenTable::built_in()?),
            Self::Folder(folder) => read(folder),
        }
    }
}

fn read(folder: &Path) -> Result<Arc<TokenTable>, WordTableError> {
    let unreadable = |path: &Path| {
        let path = path.to_path_buf();
        move |error| WordTableError::Unreadable { path, error }
    };
    let tensors = tensors(folder).map_err(unreadable(folder))?;
    let bytes = contents(&tensors).map_err(unreadable(&tensors))?;
    let words = VOCABULARIES.map(|name| folder.join(name));
    let words = words.iter().find(|path| path.is_file()).ok_or_else(|| {
        let missing = "it has neither vocab.txt nor tokenizer.json";
        unreadable(folder)(io::Error::new(io::ErrorKind::NotFound, missing))
    })?;
    let text = contents(words).and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
    let text = text.map_err(unreadable(words))?;
    Ok(Arc::new(TokenTable::read(&bytes, &text)?))
}

/// The one file of tensors in a folder.
fn tensors(folder: &Path) -> io::Result<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension() == Some(OsStr::new("safetensors")) {
            found.push(path);
        }
    }
    let count = found.len();
    match <[PathBuf; 1]>::try_from(found) {
        Ok([only]) => Ok(only),
        Err(_) => {
            let problem = format!("it has {count} files that end in .safetensors; it must be one");
            Err(io::Error::new(io::ErrorKind::InvalidInput, problem))
        }
    }
}

fn contents(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path)?.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if read as u64 > MAX_FILE {
        return Err(io::Error::other(format!("it has more than {MAX_FILE} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(folder: &Path) -> String {
        WordTable::named("table", folder).unwrap().load().unwrap_err().to_string()
    }

    #[test]
    fn the_built_in_table_is_there() {
        assert_eq!(WordTable::named("built-in", Path::new("/x")), Some(WordTable::BuiltIn));
        assert_eq!(WordTable::named("none", Path::new("/x")), None);
        assert_eq!(WordTable::BuiltIn.load().unwrap().dimensions(), 128);
    }

    #[test]
    fn what_is_missing_or_broken_is_named() {
        let base = tempfile::tempdir().unwrap();
        let table = base.path().join("table");
        assert!(problem(base.path()).starts_with(&*table.display().to_string()));
        std::fs::create_dir(&table).unwrap();
        assert!(problem(base.path()).contains("it has 0 files that end in .safetensors"));
        std::fs::write(table.join("a.safetensors"), "no tensors").unwrap();
        assert!(problem(base.path()).contains("neither vocab.txt nor tokenizer.json"));
        std::fs::write(table.join("vocab.txt"), "a\n").unwrap();
        assert!(problem(base.path()).contains("no safetensors file"));
        std::fs::write(table.join("vocab.txt"), [0xff]).unwrap();
        assert!(problem(base.path()).contains("vocab.txt"));
        std::fs::write(table.join("b.safetensors"), "").unwrap();
        assert!(problem(base.path()).contains("it has 2 files"));
    }

    #[test]
    fn a_folder_gives_the_table_that_lies_in_it() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../contextweaver/assets");
        let base = tempfile::tempdir().unwrap();
        let own = base.path().join("own");
        std::fs::create_dir(&own).unwrap();
        let copy = |from: &str, to: &str| std::fs::copy(folder.join(from), own.join(to)).unwrap();
        copy("token_table.safetensors", "model.safetensors");
        copy("token_table.vocab.txt", "vocab.txt");
        assert_eq!(WordTable::named("own", base.path()).unwrap().load().unwrap().dimensions(), 128);
    }
}
