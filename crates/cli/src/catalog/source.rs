//! Loads the catalog that the command line names.

use std::path::Path;

use contextweaver::catalog::Catalog;
use contextweaver::catalog::load::{self, CatalogFormat, LoadOptions, LoadedCatalog};
use contextweaver::error::CatalogError;

use super::args::InputArgs;
use super::{Exit, Failure, skills};
use crate::input;

/// The largest file, in bytes.
const MAX_INPUT_BYTES: usize = 256 * 1024 * 1024;

/// The text of a file, or of standard input for `-`.
pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    input::read_text(path, MAX_INPUT_BYTES)
        .map_err(|error| input::unreadable(path, "catalog.unreadable", error))
}

/// The entries of a catalog, including those that are no valid items.
pub(crate) fn entries(path: &Path, form: &InputArgs) -> Result<LoadedCatalog, Failure> {
    let source = LoadOptions { format: form.format, namespace: form.prefix.as_deref() };
    if path.is_dir() {
        let entries = skills::entries(path, source.namespace)?;
        return Ok(LoadedCatalog { format: CatalogFormat::Skill, entries });
    }
    load::read(&read_text(path)?, source).map_err(|error| {
        catalog_failure(path, &error)
            .with_next_step("mend the file, or say with --format what it is")
    })
}

/// A catalog in which every entry is valid.
pub(crate) fn load_catalog(path: &Path, form: &InputArgs) -> Result<Catalog, Failure> {
    entries(path, form)?.into_catalog().map_err(|error| catalog_failure(path, &error))
}

pub(crate) fn catalog_failure(path: &Path, error: &CatalogError) -> Failure {
    let message = format!("{}: {error}", path.display());
    let next = "`weaver catalog lint` tells everything that is wrong, at once";
    Failure::new(Exit::Invalid, error.code(), message).with_next_step(next)
}
