//! The kernel: the one way from a request to an executed tool.
//!
//! `grant` decides and mints a token. `invoke` verifies it, decides again on the exact arguments,
//! commits decision, token use and intent in one batch, executes, passes the result through the
//! firewall and records the outcome. `expand` shows more of a stored result under the same rules.
//! `execute` does grant and invoke in one, and `call` is its short form. A held call opens a
//! request, `receive_signed_file` takes the signed answers to it, and the same call then goes
//! through once. A refusal is a value with a reason, not an error: every method of the pipeline
//! returns a decision, and when anything inside fails the decision is a denial.
//!
//! Deliberately absent: any runtime (futures are `std`'s, timers are a port), any network (drivers
//! are elsewhere), any storage of its own (the ledger is a port, in memory by default). The
//! documentation of [`Kernel`] has the shortest example.

mod approval;
mod approval_limits;
mod authorized_invocation;
mod budget_reservation;
mod builder;
mod cached_run;
mod call_stream;
mod caller;
mod canonical_arguments;
mod chunk_queue;
mod clock_guard;
mod context;
mod contract_check;
mod decision_point;
mod decision_record;
mod driver;
mod error;
mod event_payload;
mod executor;
mod fn_driver;
mod invocation;
mod kernel;
mod late_response;
mod log_tail;
mod long_work;
mod masked_arguments;
mod parameter_list;
mod partial_result_reporter;
mod pipeline;
mod ports;
mod precondition;
mod progress;
mod provenance;
mod recorder;
mod registry;
mod repair;
mod reserved_amounts;
mod results;
mod revocation;
mod row_schema;
mod run_comparison;
mod run_fault;
mod run_log;
mod run_masks;
mod run_state;
mod runtime;
mod schema_check;
mod settings;
mod signed_files;
mod telemetry;
mod timer;
mod token;
mod token_allotment;
mod value_origins;
mod versioned_record;
mod wait;
mod worker_pool;

pub use approval::{
    ApprovalAnswer, ApprovalCounts, ApprovalResolver, ApprovalResolverError, EndedApproval,
    OpenApproval, PendingApproval, StoredApproval, TimedApprovalResolver, read_standing_approval,
};
pub use budget_reservation::BudgetRemaining;
pub use builder::KernelBuilder;
pub use call_stream::CallStream;
pub use caller::{Call, Caller};
pub use canonical_arguments::MAX_ARGUMENTS;
pub use chunk_queue::ChunkSender;
pub use clock_guard::trusted_time;
pub use contract_check::{
    Baseline, BaselineApproval, BaselineError, BaselineReadError, BaselineState, Baselines,
    ContractComparison, ContractState, KERNEL_TOOL_SURFACE, MAX_BASELINES,
};
pub use driver::{AuthorizedCall, ChunkSource, Driver, DriverError, StreamSummary};
pub use error::{AttenuationError, KernelError, KeyRingError, RegistryError};
pub use fn_driver::FnDriver;
pub use invocation::{Explanation, Grant, Invocation};
pub use kernel::Kernel;
pub use parameter_list::parameter_list;
pub use partial_result_reporter::PartialResultReporter;
pub use pipeline::{DryRun, instrument};
pub use ports::{LongWork, Ports};
pub use precondition::{MAX_OBSERVATION_BYTES, PreconditionChecker, PreconditionError};
pub use recorder::{EnteredRun, MemoryAccess, MemoryOperation, RunEndReason};
pub use registry::{
    LoadError, LoadResult, MAX_CAPABILITIES, NamespaceInfo, RegisteredCapability, Registry,
    suspicions,
};
pub use repair::Repairs;
pub use revocation::RevocationSubject;
pub use run_comparison::{RunComparison, RunMismatch, compare_runs};
pub use run_fault::RunFault;
pub use run_state::{RunDelta, RunState};
pub use runtime::{
    AgentRuntime, Critique, MAX_STEPS, PlanError, PlannedStep, Planner, RunRecord, StepArtifact,
};
pub use settings::Settings;
pub use signed_files::SignedFileOutcome;
pub use telemetry::OTEL_AVAILABLE;
pub use timer::ThreadTimer;
pub use token::{Caveat, KeyRing, MAX_CAVEATS, MAX_KEYS, MAX_TOKEN_CHARS, NarrowedToken, Token};
pub use wait::block_on;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
