//! A catalog from what was named on the command line.

use std::io;
use std::path::Path;

use contextweaver::catalog::Catalog;
use contextweaver::catalog::load::{self, CatalogFormat, LoadedCatalog, Source};
use contextweaver::error::CatalogError;
use weaver_gateway::bounded_file::{self, ReadError};

use super::args::InputArgs;
use super::{Exit, Failure, skills};

/// The largest file, in bytes.
const MAX_INPUT: usize = 256 * 1024 * 1024;

/// The text of a file, or of standard input for `-`.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    let read = if path.as_os_str() == "-" {
        bounded_file::all(io::stdin().lock(), MAX_INPUT)
            .and_then(|bytes| String::from_utf8(bytes).map_err(|_| ReadError::NotText))
    } else {
        bounded_file::text(path, MAX_INPUT)
    };
    read.map_err(|error| {
        let message = format!("{}: {error}", path.display());
        Failure::new(Exit::Invalid, "catalog.unreadable", message).next("name a file, or `-`")
    })
}

/// The entries of a catalog, those that are no items among them.
pub(crate) fn entries(path: &Path, form: &InputArgs) -> Result<LoadedCatalog, Failure> {
    let source = Source { format: form.format, namespace: form.prefix.as_deref() };
    if path.is_dir() {
        let entries = skills::entries(path, source.namespace)?;
        return Ok(LoadedCatalog { format: CatalogFormat::Skill, entries });
    }
    load::read(&text(path)?, source).map_err(|error| {
        failed(path, &error).next("mend the file, or say with --format what it is")
    })
}

/// A whole catalog.
pub(crate) fn catalog(path: &Path, form: &InputArgs) -> Result<Catalog, Failure> {
    entries(path, form)?.catalog().map_err(|error| failed(path, &error))
}

pub(crate) fn failed(path: &Path, error: &CatalogError) -> Failure {
    let message = format!("{}: {error}", path.display());
    let next = "`weaver catalog lint` tells everything that is wrong, at once";
    Failure::new(Exit::Invalid, error.code(), message).next(next)
}
