//! The kernel: the one way from a request to an executed tool.
//!
//! `grant` decides and mints a token; `invoke` verifies it, decides again on the exact arguments,
//! commits decision, token use and intent in one batch, executes, sends the result through the
//! firewall and records the outcome; `expand` looks further into a stored result under the same
//! rules; `execute` does grant and invoke in one, and `call` is the short form of it. A held call opens a request, `receive` takes in the
//! signed answers to it, and the same call then goes through once. A refusal is a value with a reason, not an
//! error: every method of the pipeline returns a decision, and when anything inside fails the
//! decision is a denial.
//!
//! What is deliberately absent: any runtime (futures are `std`'s, timers are a port), any network
//! (drivers live elsewhere), any storage of its own (the ledger is a port; unless a host gives one,
//! that of `weaver-trace-store` in memory is behind it).
//!
//! The shortest run through it stands in the documentation of [`Kernel`].

mod approval;
mod arguments;
mod bounds;
mod budget_reservation;
mod builder;
mod cached_run;
mod call_stream;
mod caller;
mod chunk_queue;
mod clock_guard;
mod contract;
mod deferred_ends;
mod driver;
mod error;
mod explanation;
mod function;
mod invocation;
mod kernel;
mod late_response;
mod log_tail;
mod masked_arguments;
mod masks;
mod open_call;
mod parameter_list;
mod partial_results;
mod pending_grants;
mod pipeline;
mod ports;
mod precondition;
mod progress;
mod provenance;
mod rates;
mod record;
mod registry;
mod rejected_files;
mod repair;
mod reserved_amounts;
mod revocation;
mod row_schema;
mod run_comparison;
mod run_log;
mod run_state;
mod runtime;
mod schema_check;
mod schema_weight;
mod settings;
mod telemetry;
mod timer;
mod token;
mod unrecorded_ends;
mod wait;
mod worker;

pub use approval::{
    Answer, EndedApproval, OpenApproval, PendingApproval, Resolver, ResolverError, ResolverPort,
    StoredApproval, read_standing,
};
pub use arguments::MAX_ARGUMENTS;
pub use budget_reservation::BudgetRemaining;
pub use builder::KernelBuilder;
pub use call_stream::CallStream;
pub use caller::{Call, Caller};
pub use chunk_queue::ChunkSender;
pub use contract::{
    Baseline, BaselineApproval, BaselineError, BaselineReadError, BaselineState, Baselines,
    ContractComparison, ContractState, KERNEL_SURFACE, MAX_BASELINES,
};
pub use driver::{AuthorizedCall, ChunkSource, Driver, DriverError, StreamSummary};
pub use error::{KernelError, KeyRingError, RegistryError, TokenError};
pub use function::FnDriver;
pub use invocation::{Explanation, Grant, Invocation};
pub use kernel::Kernel;
pub use parameter_list::parameter_list;
pub use partial_results::PartialResults;
pub use pipeline::{
    DryRun, EnteredRun, FileOutcome, MemoryAccess, MemoryNote, RevocationSubject, RunEnd,
    instrument,
};
pub use ports::Ports;
pub use precondition::{MAX_OBSERVED, PreconditionChecker, PreconditionError};
pub use registry::{
    LoadError, LoadResult, MAX_CAPABILITIES, NamespaceInfo, RegisteredCapability, Registry,
    suspicions,
};
pub use repair::Repairs;
pub use run_comparison::{BadRun, RunComparison, compare_runs};
pub use run_log::RunFault;
pub use run_state::{RunDelta, RunState};
pub use runtime::{
    AgentRuntime, Critique, MAX_STEPS, PlanError, PlannedStep, Planner, RunRecord, StepArtifact,
};
pub use settings::Settings;
pub use telemetry::OTEL_AVAILABLE;
pub use timer::ThreadTimer;
pub use token::{Caveat, KeyRing, MAX_CAVEATS, MAX_KEYS, MAX_TOKEN, NarrowedToken, Token};
pub use wait::block_on;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
