//! The vocabulary of Weaver.
//!
//! Every other crate of the workspace uses these types: identifiers that only parsing can create,
//! effects with the class and rung that follow from them, the decision as a join of check results,
//! frames and handles, labels, runs, token claims, and the ledger port with its
//! [`Batch`](ledger::Batch). The canonical form of bytes and the digests are here too, and the nine
//! public weaver contracts with their conversions. The feature `signature` adds keys and signed
//! envelopes, `calendar` adds times as text.
//!
//! Deliberately absent: rules, storage, network and an async runtime. Clock, timer and randomness
//! are parameters. A trait is defined here only if it has two implementations.
//!
//! ```
//! use weaver_types::{Effects, Rung, SafetyClass};
//!
//! assert_eq!(Effects::READ_OPEN.class(), SafetyClass::Network);
//! assert_eq!(Effects::UNDECLARED.rung(), Rung::L4);
//! ```

pub mod canonical;
mod capability;
pub mod contracts;
mod decision;
pub mod digest;
mod effects;
mod event;
pub mod formats;
mod frame;
mod id;
mod json_equality;
mod json_pointer;
mod json_rows;
mod label;
pub mod ledger;
mod locale;
mod masked_value;
mod opaque_debug;
mod precondition;
mod principal;
mod progress;
mod random;
mod raw_result;
mod reason;
mod request;
mod result;
mod run;
#[cfg(feature = "signature")]
pub mod signature;
mod time;
mod token;
mod tool_spec;
mod value_family;
mod words;

pub use capability::{
    AllowedAgents, Capability, CapabilityDescriptor, CapabilityDraft, CapabilityError,
    MAX_DESCRIPTION, MAX_NAME, MAX_RETRIES, RecordIdentity, TIMEOUT_MS, TelemetrySettings,
};
pub use decision::{
    ApprovalAuthority, CheckKind, CheckResult, Constraints, Decision, DecisionBasis, MAX_DETAIL,
    PolicyOrigin, Remedy, Verdict,
};
pub use digest::Digest;
pub use effects::{Effects, Impact, Rung, SafetyClass, SinkKind, World};
pub use event::{DecisionKey, EventKind};
pub use frame::{ArtifactRef, Frame, Handle, ResponseMode, ResultEnvelope, ResultStatus, Warning};
pub use id::{
    AgentId, ApprovalRequestId, CallId, CapabilityId, HandleId, IdError, KeyId, LogId, PrincipalId,
    RunId, StandingApprovalId, Tenant, TokenId, UpstreamName, hex, random_text,
};
pub use json_equality::json_equal;
pub use json_pointer::{JsonPointer, JsonPointerError, MAX_POINTER_BYTES};
pub use json_rows::{JsonRows, NotRowsError};
pub use label::{Confidentiality, Integrity, Label, MAX_TAINTS, SensitivityTag, Taints};
pub use masked_value::MaskedValue;
pub use precondition::{PathSource, Precondition};
pub use principal::{PII_READER, Principal};
pub use progress::{Progress, ProgressSink};
pub use random::{BufferedRandom, OsRandom, Random, RandomError, SeededRandom};
pub use raw_result::{ContentBlocks, RawChunk, RawContent, RawResult, StructuredContent};
pub use reason::ReasonCode;
pub use request::{CapabilityRequest, Justification, JustificationSource, Operation};
pub use result::{ToolErrorCode, ToolProvenance, ToolResult};
pub use run::{
    LocaleCode, MAX_METADATA_BYTES, MAX_USER_TEXT_BYTES, MAX_USER_TEXTS, Millicents, RunBudget,
    RunContext, RunError, RunMeters, RunSettings, SafetyMode,
};
pub use time::{BoxFuture, Clock, ManualClock, SystemClock, Timer, Timestamp};
pub use token::TokenClaims;
pub use tool_spec::{ToolArgSchema, ToolReturnSchema, ToolSpec, ToolSpecError};
pub use value_family::{PERSONAL_KINDS, SECRET_KINDS, ValueFamily};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
