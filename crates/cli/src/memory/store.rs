//! Opens the file of durable memory.

use std::path::PathBuf;
use std::sync::Arc;

use contextweaver::memory::{BundleParts, Limits, Memory, MemoryBundle, MemoryError};
use weaver_gateway::config;
use weaver_trace_store::{RecordsOptions, SqliteRecords};
use weaver_types::SystemClock;

use super::args::MemoryFile;
use crate::{Exit, Failure};

/// Opens an existing file.
pub(super) fn open_existing(place: &MemoryFile) -> Result<Memory, Failure> {
    let (path, limits) = path_and_limits(place)?;
    if !path.exists() {
        let message = format!("{}: there is no such file", path.display());
        return Err(Failure::new(Exit::Store, "memory.missing", message).with_next_step(
            "name it with --store, or remember something first: weaver memory put",
        ));
    }
    open(path, limits)
}

/// Opens the file, and creates it if there is none.
pub(super) fn open_or_create(place: &MemoryFile) -> Result<Memory, Failure> {
    let (path, limits) = path_and_limits(place)?;
    open(path, limits)
}

/// Turns a memory error into a failure.
pub(super) fn memory_failure(error: &MemoryError) -> Failure {
    let exit = match error {
        MemoryError::Key { .. }
        | MemoryError::TooLarge { .. }
        | MemoryError::Value { .. }
        | MemoryError::Claims { .. } => Exit::Invalid,
        MemoryError::NoClaim { .. } => Exit::NotFound,
        _ => Exit::Store,
    };
    let failure = Failure::new(exit, error.code(), error);
    match error {
        MemoryError::Full { .. } => failure.with_next_step("weaver memory forget --expired"),
        MemoryError::Claims { .. } | MemoryError::NoClaim { .. } => {
            failure.with_next_step("weaver memory get KEY --kind fact --json")
        }
        _ => failure,
    }
}

/// The failure if there is no entry with this key.
pub(super) fn not_found_failure(key: &str) -> Failure {
    let shown = weaver_text::escape::line(&weaver_text::escape::shorten(key, 80)).into_owned();
    let message = format!("nothing is remembered under `{shown}`, or it has expired");
    Failure::new(Exit::NotFound, "memory.unknown", message).with_next_step(
        "look at the keys with `weaver memory list`; facts and episodes need --kind",
    )
}

fn path_and_limits(place: &MemoryFile) -> Result<(PathBuf, Limits), Failure> {
    if let Some(path) = &place.store {
        return Ok((path.clone(), Limits::default()));
    }
    let config = config::load(place.config.path())?;
    let limits = config.memory.as_ref().map(|memory| memory.limits);
    Ok((config.memory_file(), limits.unwrap_or_default()))
}

fn open(path: PathBuf, limits: Limits) -> Result<Memory, Failure> {
    let opened = SqliteRecords::open(&path, RecordsOptions::default());
    let store = opened.map_err(|error| Failure::store(&path, &error))?;
    let parts = BundleParts::new(Arc::new(SystemClock::default()));
    let memory_store = Some(Arc::new(store) as Arc<_>);
    Ok(MemoryBundle::create(BundleParts { memory_store, limits, ..parts }).durable)
}
