//! The file of durable memory: where it lies, and how it is opened.

use std::path::PathBuf;
use std::sync::Arc;

use contextweaver::memory::{BundleParts, Limits, Memory, MemoryBundle, MemoryError};
use weaver_gateway::config;
use weaver_trace_store::{RecordsOptions, SqliteRecords};
use weaver_types::SystemClock;

use super::args::MemoryFile;
use crate::{Exit, Failure};

/// Opens a file that is there.
pub(super) fn existing(place: &MemoryFile) -> Result<Memory, Failure> {
    let (path, limits) = path(place)?;
    if !path.exists() {
        let message = format!("{}: there is no such file", path.display());
        return Err(Failure::new(Exit::Store, "memory.missing", message)
            .next("name it with --store, or remember something first: weaver memory put"));
    }
    at(path, limits)
}

/// Opens the file, and makes it where there is none.
pub(super) fn any(place: &MemoryFile) -> Result<Memory, Failure> {
    let (path, limits) = path(place)?;
    at(path, limits)
}

/// A failure of memory, as its user sees it.
pub(super) fn failed(error: &MemoryError) -> Failure {
    let exit = match error {
        MemoryError::Key { .. }
        | MemoryError::TooLarge { .. }
        | MemoryError::Value { .. }
        | MemoryError::Claims { .. } => Exit::Invalid,
        MemoryError::NoClaim { .. } => Exit::Unknown,
        _ => Exit::Store,
    };
    let failure = Failure::new(exit, error.code(), error);
    match error {
        MemoryError::Full { .. } => failure.next("weaver memory forget --expired"),
        MemoryError::Claims { .. } | MemoryError::NoClaim { .. } => {
            failure.next("weaver memory get KEY --kind fact --json")
        }
        _ => failure,
    }
}

/// There is nothing under this key.
pub(super) fn nothing(key: &str) -> Failure {
    let shown = weaver_text::escape::line(&weaver_text::escape::shorten(key, 80)).into_owned();
    let message = format!("nothing is remembered under `{shown}`, or it has expired");
    Failure::new(Exit::Unknown, "memory.unknown", message)
        .next("look at the keys with `weaver memory list`; facts and episodes need --kind")
}

fn path(place: &MemoryFile) -> Result<(PathBuf, Limits), Failure> {
    if let Some(path) = &place.store {
        return Ok((path.clone(), Limits::default()));
    }
    let config = config::load(&place.config)?;
    let limits = config.memory.as_ref().map(|memory| memory.limits);
    Ok((config.memory_file(), limits.unwrap_or_default()))
}

fn at(path: PathBuf, limits: Limits) -> Result<Memory, Failure> {
    let opened = SqliteRecords::open(&path, RecordsOptions::default());
    let store = opened.map_err(|error| Failure::store(&path, &error))?;
    let parts = BundleParts::new(Arc::new(SystemClock::default()));
    let memory_store = Some(Arc::new(store) as Arc<_>);
    Ok(MemoryBundle::create(BundleParts { memory_store, limits, ..parts }).durable)
}
