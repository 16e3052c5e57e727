//! Namespaces whose capabilities are made when somebody first asks for one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::ThreadId;

use weaver_types::Capability;

use crate::driver::Driver;
use crate::error::RegistryError;

/// Capabilities with their drivers.
pub(super) type LoadedCapabilities = Vec<(Capability, Arc<dyn Driver>)>;
/// What a loader makes: capabilities with their drivers, or why it could not.
pub type LoadResult = Result<Vec<(Capability, Arc<dyn Driver>)>, LoadError>;
/// Why a loader made nothing.
pub type LoadError = Box<dyn std::error::Error + Send + Sync>;

/// A namespace as [`Registry::namespaces`](crate::Registry::namespaces) tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceInfo {
    /// Its name: what stands before the first dot of an id, or what was declared.
    pub prefix: String,
    /// How many capabilities are registered under it by now.
    pub capabilities: usize,
    /// True while a declared loader has not succeeded yet.
    pub pending: bool,
    /// Why the loader failed last.
    pub problem: Option<String>,
}

impl NamespaceInfo {
    /// One that needs no loading.
    pub(super) fn of(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned(), capabilities: 0, pending: false, problem: None }
    }
}

/// A declared namespace.
pub(super) struct Namespace {
    prefix: String,
    loader: Box<dyn Fn() -> LoadResult + Send + Sync>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone)]
enum State {
    Idle,
    Failed(RegistryError),
    Loading(ThreadId),
    Done,
}

impl Namespace {
    pub(super) fn new(prefix: &str, loader: Box<dyn Fn() -> LoadResult + Send + Sync>) -> Self {
        let (state, changed) = (Mutex::new(State::Idle), Condvar::new());
        Self { prefix: prefix.to_owned(), loader, state, changed }
    }

    fn lock(&self) -> Result<MutexGuard<'_, State>, RegistryError> {
        self.state.lock().map_err(|_| RegistryError::Poisoned)
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// How far it is, without the number of its capabilities.
    pub(super) fn info(&self) -> NamespaceInfo {
        let (pending, problem) = match self.lock().as_deref() {
            Ok(State::Done) => (false, None),
            Ok(State::Failed(error)) | Err(error) => (true, Some(error.to_string())),
            Ok(State::Idle | State::Loading(_)) => (true, None),
        };
        NamespaceInfo { pending, problem, ..NamespaceInfo::of(&self.prefix) }
    }

    /// Runs the loader, unless it has succeeded before, and gives what it made to `put`. Whoever
    /// comes meanwhile waits for the same run and shares its end; the loader itself, asking for
    /// something in its own namespace, finds what is there already.
    pub(super) fn load(
        &self,
        put: impl FnOnce(LoadedCapabilities) -> Result<(), RegistryError>,
    ) -> Result<(), RegistryError> {
        let own = std::thread::current().id();
        let mut state = self.lock()?;
        let mut waited = false;
        loop {
            match &*state {
                State::Done => return Ok(()),
                State::Loading(thread) if *thread == own => return Ok(()),
                State::Failed(error) if waited => return Err(error.clone()),
                State::Idle | State::Failed(_) => break,
                State::Loading(_) => {
                    waited = true;
                    state = self.changed.wait(state).map_err(|_| RegistryError::Poisoned)?;
                }
            }
        }
        *state = State::Loading(own);
        drop(state);
        let end = self.made().and_then(put);
        *self.lock()? = end.as_ref().map_or_else(|e| State::Failed(e.clone()), |()| State::Done);
        self.changed.notify_all();
        end
    }

    /// What the loader makes. A panic is a failure of the loader and ends nothing else.
    fn made(&self) -> Result<LoadedCapabilities, RegistryError> {
        catch_unwind(AssertUnwindSafe(|| (self.loader)()))
            .unwrap_or_else(|_| Err("the loader panicked".into()))
            .map_err(|error| RegistryError::Namespace {
                prefix: self.prefix.clone(),
                problem: error.to_string(),
            })
    }
}

/// Whether a text can name a namespace: parts of visible characters with single dots between.
pub(super) fn is_prefix(text: &str) -> bool {
    text.split('.').all(|part| !part.is_empty()) && weaver_types::CapabilityId::parse(text).is_ok()
}

/// The namespaces that an id may belong to, the longest first.
pub(super) fn prefixes(id: &str) -> impl Iterator<Item = &str> {
    id.rmatch_indices('.').filter_map(|(at, _)| id.get(..at)).filter(|prefix| !prefix.is_empty())
}
