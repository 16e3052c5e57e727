//! The vocabulary of Weaver.
//!
//! Every other crate of the workspace speaks in these types: identifiers that only parsing can
//! make, effects and the class and rung that follow from them, the decision as a join, frames and
//! handles, labels, runs, tokens' claims, and the ledger port with its [`Batch`](ledger::Batch).
//! The one canonical form of bytes and the digests live here too, and the nine public weaver
//! contracts with their conversions; with the feature `signature` also keys and signed envelopes, and
//! with `calendar` times as text.
//!
//! What is deliberately absent: any rule, any storage, any network, any runtime. Clock, timer and
//! randomness are parameters. A trait stands here only where two implementations exist.
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
mod json_rows;
mod label;
pub mod ledger;
mod locale;
mod masked_value;
mod pointer;
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

pub use capability::{
    Agents, Capability, CapabilityDescriptor, CapabilityDraft, CapabilityError, Emit,
    MAX_DESCRIPTION, MAX_NAME, MAX_RETRIES, RecordFields, TIMEOUT_MS,
};
pub use decision::{
    Authority, Basis, Check, Constraints, Contribution, Decision, Discharge, MAX_DETAIL, Origin,
    Verdict,
};
pub use digest::Digest;
pub use effects::{Effects, Impact, Rung, SafetyClass, SinkKind, World};
pub use event::{DecisionKey, EventKind};
pub use frame::{ArtifactRef, Frame, Handle, ResponseMode, ResultEnvelope, Status, Warning};
pub use id::{
    AgentId, CallId, CapabilityId, HandleId, IdError, KeyId, LogId, PrincipalId, RequestId, RunId,
    StandingId, Tenant, TokenId, UpstreamName, hex, random_text,
};
pub use json_rows::{JsonRows, NotRows};
pub use label::{Confidentiality, Integrity, Label, MAX_TAINTS, SensitivityTag, Taints};
pub use masked_value::MaskedValue;
pub use pointer::{MAX_POINTER, Pointer, PointerError};
pub use precondition::{PathSource, Precondition};
pub use principal::Principal;
pub use progress::{Progress, ProgressSink};
pub use random::{BufferedRandom, OsRandom, Random, RandomError, SeededRandom};
pub use raw_result::{ContentBlocks, RawChunk, RawContent, RawResult, StructuredContent};
pub use reason::ReasonCode;
pub use request::{CapabilityRequest, Justification, JustificationSource, Operation};
pub use result::{ToolErrorCode, ToolProvenance, ToolResult};
pub use run::{
    LocaleCode, MAX_METADATA_BYTES, MAX_SAID, MAX_SAID_BYTES, Millicents, RunBudget, RunContext,
    RunError, RunMeters, RunSettings, SafetyMode,
};
pub use time::{BoxFuture, Clock, ManualClock, SystemClock, Timer, Timestamp};
pub use token::TokenClaims;
pub use tool_spec::{ToolArgSchema, ToolReturnSchema, ToolSpec, ToolSpecError};
pub use value_family::{PERSONAL_KINDS, SECRET_KINDS, ValueFamily};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
