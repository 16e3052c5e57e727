//! Which word vectors are used to find tools.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contextweaver::route::{TableError, TokenTable};

use crate::bounded_file;

/// The keyword for the table in the binary.
const BUILT_IN: &str = "built-in";
/// The keyword for no table.
const NONE: &str = "none";
/// The largest file of a table.
const MAX_FILE_BYTES: usize = 256 * 1024 * 1024;
/// Possible vocabulary files; the first that exists is used.
const VOCABULARIES: [&str; 2] = ["vocab.txt", "tokenizer.json"];

/// The location of a table of word vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WordVectorSource {
    /// Compiled into the binary.
    BuiltIn,
    /// A folder as model2vec writes it: one safetensors file, and `vocab.txt` or `tokenizer.json`.
    Folder(PathBuf),
}

/// Why the table cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WordVectorError {
    /// A file cannot be read.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        error: io::Error,
    },
    /// The files contain no valid table.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl WordVectorError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "table.unreadable",
            Self::Table(error) => error.code(),
        }
    }
}

impl WordVectorSource {
    /// Parses `built-in`, `none` (which gives `None`), or a folder relative to `base`.
    #[must_use]
    pub fn from_name(name: &str, base: &Path) -> Option<Self> {
        match name {
            NONE => None,
            BUILT_IN => Some(Self::BuiltIn),
            folder => Some(Self::Folder(base.join(folder))),
        }
    }

    /// Loads the table.
    ///
    /// # Errors
    /// [`WordVectorError`]: files that are missing, unreadable, too large or invalid.
    pub fn load(&self) -> Result<Arc<TokenTable>, WordVectorError> {
        match self {
            Self::BuiltIn => Ok(TokenTable::built_in()?),
            Self::Folder(folder) => read(folder),
        }
    }
}

fn read(folder: &Path) -> Result<Arc<TokenTable>, WordVectorError> {
    let unreadable = |path: &Path| {
        let path = path.to_path_buf();
        move |error| WordVectorError::Unreadable { path, error }
    };
    let tensor_file = tensor_file(folder).map_err(unreadable(folder))?;
    let bytes = bounded_file::read_bytes(&tensor_file, MAX_FILE_BYTES);
    let bytes = bytes.map_err(io::Error::other).map_err(unreadable(&tensor_file))?;
    let words = VOCABULARIES.map(|name| folder.join(name));
    let words = words.iter().find(|path| path.is_file()).ok_or_else(|| {
        let missing = "it has neither vocab.txt nor tokenizer.json";
        unreadable(folder)(io::Error::new(io::ErrorKind::NotFound, missing))
    })?;
    let text = bounded_file::read_text(words, MAX_FILE_BYTES);
    let text = text.map_err(io::Error::other).map_err(unreadable(words))?;
    Ok(Arc::new(TokenTable::read(&bytes, &text)?))
}

/// The only tensor file in a folder.
fn tensor_file(folder: &Path) -> io::Result<PathBuf> {
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
            let problem = format!("expected exactly one .safetensors file, found {count}");
            Err(io::Error::new(io::ErrorKind::InvalidInput, problem))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(folder: &Path) -> String {
        WordVectorSource::from_name("table", folder).unwrap().load().unwrap_err().to_string()
    }

    #[test]
    fn the_built_in_table_is_there() {
        assert_eq!(
            WordVectorSource::from_name("built-in", Path::new("/x")),
            Some(WordVectorSource::BuiltIn)
        );
        assert_eq!(WordVectorSource::from_name("none", Path::new("/x")), None);
        assert_eq!(WordVectorSource::BuiltIn.load().unwrap().dimensions(), 256);
    }

    #[test]
    fn what_is_missing_or_broken_is_named() {
        let base = tempfile::tempdir().unwrap();
        let table = base.path().join("table");
        assert!(problem(base.path()).starts_with(&*table.display().to_string()));
        std::fs::create_dir(&table).unwrap();
        assert!(problem(base.path()).contains("one .safetensors file, found 0"));
        std::fs::write(table.join("a.safetensors"), "no tensors").unwrap();
        assert!(problem(base.path()).contains("neither vocab.txt nor tokenizer.json"));
        std::fs::write(table.join("vocab.txt"), "a\n").unwrap();
        assert!(problem(base.path()).contains("not a safetensors file"));
        std::fs::write(table.join("vocab.txt"), [0xff]).unwrap();
        assert!(problem(base.path()).contains("vocab.txt"));
        std::fs::write(table.join("b.safetensors"), "").unwrap();
        assert!(problem(base.path()).contains("found 2"));
    }

    #[test]
    fn a_table_is_loaded_from_a_folder() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../contextweaver/assets");
        let base = tempfile::tempdir().unwrap();
        let own = base.path().join("own");
        std::fs::create_dir(&own).unwrap();
        let copy = |from: &str, to: &str| std::fs::copy(folder.join(from), own.join(to)).unwrap();
        copy("token_table.safetensors", "model.safetensors");
        copy("token_table.vocab.txt", "vocab.txt");
        assert_eq!(
            WordVectorSource::from_name("own", base.path()).unwrap().load().unwrap().dimensions(),
            256
        );
    }
}
