//! Memory as capabilities: what a model remembers and recalls goes through the kernel like any call.
//!
//! Four capabilities of the namespace `kernel.memory`, each tagged as memory:
//!
//! | id | what it does | effects |
//! |---|---|---|
//! | `kernel.memory.put` | remembers a value, a fact or an episode | writes, closed world |
//! | `kernel.memory.get` | returns what is under a key | reads, closed world |
//! | `kernel.memory.recall` | returns what is relevant to a query | reads, closed world |
//! | `kernel.memory.delete` | forgets what is under a key | destructive |
//!
//! A written entry carries the label of everything its run has seen, so a rule that matches the
//! run's `label` decides whether an untrusted run may remember. Reading puts the labels of the
//! entries on the run. The source that a model names is stored as `model:` followed by its words.
//!
//! The memory is common to all principals of a host: an entry records who wrote it, and whoever may
//! call these capabilities reads it. Where principals must not share, rules name the principals
//! that may, or each gets a memory of its own.

mod answer;
mod capability;

use std::sync::Arc;
use std::time::Duration;

use contextweaver::memory::{
    Access, EntryKind, EntryOrigin, EpisodicStore, FactStore, Memory, MemoryAuditHook, MemoryEntry,
    MemoryError, MemoryLogError, PutOptions,
};
use serde_json::{Map, Value};
use weaver_agent_kernel::{
    AuthorizedCall, Caller, Driver, DriverError, FnDriver, Kernel, MemoryAccess, MemoryOperation,
    Registry, RegistryError, block_on,
};
use weaver_types::{Principal, RawResult, RunContext};

type CallResult = Result<RawResult, DriverError>;

/// Registers the four capabilities for a memory tier, usually the durable one.
///
/// # Errors
/// [`RegistryError`], if one of the ids is taken.
pub fn register(registry: &Registry, memory: &Memory) -> Result<(), RegistryError> {
    for (capability, function) in capability::memory_capabilities() {
        let memory = memory.clone();
        let driver: Arc<dyn Driver> =
            Arc::new(FnDriver::blocking(move |call| function(&memory, &call)));
        registry.register(capability, driver)?;
    }
    Ok(())
}

/// An audit hook for a host that uses memory directly: each access is recorded as an event of the
/// run, and reading taints the run.
///
/// It blocks the calling thread until the ledger has accepted the event.
#[must_use]
pub fn kernel_log(kernel: Arc<Kernel>, run: RunContext, principal: Principal) -> MemoryAuditHook {
    Arc::new(move |access, entry| {
        let id = entry.entry_id();
        let note = MemoryOperation {
            access: match access {
                Access::Put => MemoryAccess::Put,
                Access::Get => MemoryAccess::Get,
            },
            entry: &id,
            tier: entry.tier.as_str(),
            source: &entry.source,
            value: &entry.value,
            label: &entry.label,
        };
        let caller = Caller { run: &run, principal: &principal };
        block_on(kernel.record_memory(caller, note))
            .map_err(|error| MemoryLogError::new(error.to_string()))
    })
}

fn put(memory: &Memory, call: &AuthorizedCall) -> CallResult {
    let arguments = call.arguments();
    let (kind, value) = (kind(arguments), arguments.get("value").cloned().unwrap_or_default());
    let with = put_options(call);
    let key = || text(arguments, "key").ok_or_else(|| invalid("name a `key`"));
    let id = match kind {
        EntryKind::Value => {
            memory.put(key()?, value, &with).map_err(error)?;
            key()?.to_owned()
        }
        EntryKind::Fact => {
            FactStore::new(memory).add_claim(key()?, value, &with).map_err(error)?;
            key()?.to_owned()
        }
        EntryKind::Episode => {
            let summary = value.as_str().ok_or_else(|| invalid("an episode is a text"))?;
            EpisodicStore::new(memory).add(summary, &with).map_err(error)?
        }
    };
    Ok(answer::stored(memory.tier(), kind, &id))
}

fn get(memory: &Memory, call: &AuthorizedCall) -> CallResult {
    let key = text(call.arguments(), "key").ok_or_else(|| invalid("name a `key`"))?;
    let entry_or_not_found =
        |entry: Option<MemoryEntry>| entry.map_or_else(answer::not_found, answer::entry_result);
    match kind(call.arguments()) {
        EntryKind::Value => memory.entry(key).map(entry_or_not_found).map_err(error),
        EntryKind::Episode => {
            EpisodicStore::new(memory).get(key).map(entry_or_not_found).map_err(error)
        }
        EntryKind::Fact => {
            let fact = FactStore::new(memory).get(key).map_err(error)?;
            Ok(fact.map_or_else(answer::not_found, answer::fact_result))
        }
    }
}

fn recall(memory: &Memory, call: &AuthorizedCall) -> CallResult {
    let query = text(call.arguments(), "query").unwrap_or_default();
    let counter = weaver_text::token::CharsPerFour;
    let request = contextweaver::memory::RecallRequest::new(query, &counter);
    contextweaver::memory::recall(memory, &request).map(answer::recall_result).map_err(error)
}

fn delete(memory: &Memory, call: &AuthorizedCall) -> CallResult {
    let key = text(call.arguments(), "key").ok_or_else(|| invalid("name a `key`"))?;
    let deleted = match kind(call.arguments()) {
        EntryKind::Value => memory.delete(key),
        EntryKind::Episode => EpisodicStore::new(memory).forget(key),
        EntryKind::Fact => FactStore::new(memory).forget(key),
    };
    deleted.map(answer::delete_result).map_err(error)
}

/// The options for a value that a call writes: the origin known of the call, and the source that
/// the model names.
fn put_options(call: &AuthorizedCall) -> PutOptions {
    let arguments = call.arguments();
    let source = text(arguments, "source").unwrap_or_default();
    let ttl = arguments.get("ttl_s").and_then(Value::as_f64);
    let origin = EntryOrigin {
        principal: Some(call.principal().clone()),
        run: Some(call.run_id().clone()),
        call: Some(call.call_id().clone()),
        ..EntryOrigin::default()
    };
    PutOptions {
        ttl: ttl.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        origin,
        ..PutOptions::new(format!("model:{source}")).with_label(call.label().clone())
    }
}

/// The kind named by the arguments; the schema allows only these.
fn kind(arguments: &Map<String, Value>) -> EntryKind {
    let named = text(arguments, "kind");
    EntryKind::ALL.into_iter().find(|kind| named == Some(kind.as_str())).unwrap_or_default()
}

fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Value::as_str)
}

fn invalid(problem: &str) -> DriverError {
    DriverError::Invalid(problem.to_owned())
}

fn error(error: MemoryError) -> DriverError {
    match error {
        MemoryError::Key { .. } | MemoryError::TooLarge { .. } | MemoryError::Value { .. } => {
            DriverError::Invalid(error.to_string())
        }
        _ => DriverError::Failed(error.to_string()),
    }
}
