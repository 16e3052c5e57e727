//! Namespaces whose capabilities are loaded on first use.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::ThreadId;

use weaver_types::Capability;

use crate::driver::Driver;
use crate::error::RegistryError;

/// Capabilities with their drivers.
pub(super) type LoadedCapabilities = Vec<(Capability, Arc<dyn Driver>)>;
/// The result of a loader: capabilities with their drivers, or an error.
pub type LoadResult = Result<Vec<(Capability, Arc<dyn Driver>)>, LoadError>;
/// Why a loader failed.
pub type LoadError = Box<dyn std::error::Error + Send + Sync>;

/// A namespace in the list of [`Registry::namespaces`](crate::Registry::namespaces).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceInfo {
    /// Its name: the part of an id before the first dot, or the declared name.
    pub name: String,
    /// How many capabilities are registered in it now.
    pub capabilities: usize,
    /// True while a declared loader has not succeeded yet.
    pub pending: bool,
    /// Why the loader failed last.
    pub problem: Option<String>,
}

impl NamespaceInfo {
    /// A namespace without a loader.
    pub(super) fn of(name: &str) -> Self {
        Self { name: name.to_owned(), capabilities: 0, pending: false, problem: None }
    }
}

/// A declared namespace.
pub(super) struct Namespace {
    name: String,
    loader: Box<dyn Fn() -> LoadResult + Send + Sync>,
    state: Mutex<LoadState>,
    changed: Condvar,
}

#[derive(Clone)]
enum LoadState {
    Idle,
    Failed(RegistryError),
    Loading(ThreadId),
    Done,
}

impl Namespace {
    pub(super) fn new(name: &str, loader: Box<dyn Fn() -> LoadResult + Send + Sync>) -> Self {
        let (state, changed) = (Mutex::new(LoadState::Idle), Condvar::new());
        Self { name: name.to_owned(), loader, state, changed }
    }

    fn lock(&self) -> Result<MutexGuard<'_, LoadState>, RegistryError> {
        self.state.lock().map_err(|_| RegistryError::Poisoned)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Its state, without the number of its capabilities.
    pub(super) fn info(&self) -> NamespaceInfo {
        let (pending, problem) = match self.lock().as_deref() {
            Ok(LoadState::Done) => (false, None),
            Ok(LoadState::Failed(error)) | Err(error) => (true, Some(error.to_string())),
            Ok(LoadState::Idle | LoadState::Loading(_)) => (true, None),
        };
        NamespaceInfo { pending, problem, ..NamespaceInfo::of(&self.name) }
    }

    /// Runs the loader, unless it has succeeded before, and passes its capabilities to `put`.
    /// Callers in the meantime wait for the same run and share its result. A call from the loader
    /// itself returns at once, so that it finds what is registered already and does not wait for
    /// itself.
    pub(super) fn load(
        &self,
        put: impl FnOnce(LoadedCapabilities) -> Result<(), RegistryError>,
    ) -> Result<(), RegistryError> {
        let this_thread = std::thread::current().id();
        let mut state = self.lock()?;
        let mut waited = false;
        loop {
            match &*state {
                LoadState::Done => return Ok(()),
                LoadState::Loading(thread) if *thread == this_thread => return Ok(()),
                LoadState::Failed(error) if waited => return Err(error.clone()),
                LoadState::Idle | LoadState::Failed(_) => break,
                LoadState::Loading(_) => {
                    waited = true;
                    state = self.changed.wait(state).map_err(|_| RegistryError::Poisoned)?;
                }
            }
        }
        *state = LoadState::Loading(this_thread);
        drop(state);
        let end = self.run_loader().and_then(put);
        *self.lock()? =
            end.as_ref().map_or_else(|e| LoadState::Failed(e.clone()), |()| LoadState::Done);
        self.changed.notify_all();
        end
    }

    /// Runs the loader; a panic counts as its failure.
    fn run_loader(&self) -> Result<LoadedCapabilities, RegistryError> {
        catch_unwind(AssertUnwindSafe(|| (self.loader)()))
            .unwrap_or_else(|_| Err("the loader panicked".into()))
            .map_err(|error| RegistryError::LoaderFailed {
                namespace: self.name.clone(),
                problem: error.to_string(),
            })
    }
}

/// Whether a text can name a namespace: parts of visible characters, separated by single dots.
pub(super) fn is_namespace_name(text: &str) -> bool {
    text.split('.').all(|part| !part.is_empty()) && weaver_types::CapabilityId::parse(text).is_ok()
}

/// The names of the namespaces that an id may belong to, the longest first.
pub(super) fn namespaces_of(id: &str) -> impl Iterator<Item = &str> {
    id.rmatch_indices('.').filter_map(|(at, _)| id.get(..at)).filter(|prefix| !prefix.is_empty())
}
