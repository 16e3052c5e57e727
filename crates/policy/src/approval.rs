//! Approvals: signed proof of who released which held call. Nothing else releases a held call.
//!
//! A held call opens an [`ApprovalRequest`], which binds everything that an approver must see
//! before agreeing. A person answers with a [`Resolution`], signed over the digest of the whole
//! request. The authority behind the answer comes from the keys document, never from the answer
//! itself. An [`ApprovalState`] collects votes. Once enough distinct people with the required
//! authority have agreed, it yields a [`ReleaseProof`], the only thing that a decision accepts. A
//! [`StandingApproval`] is signed in advance.
//!
//! Everything here is a pure function of its arguments and uses no files, clock or ledger.
//! `docs/concepts/approvals.md` defines the exact semantics.
//!
//! ```
//! use weaver_policy::approval::{
//!     ApprovalRequest, ApprovalState, ReceiptTime, Resolution, ResolutionVerdict, verify_resolution,
//! };
//! use weaver_policy::{PolicySet, DocumentSource, DocumentSources};
//! use weaver_types::Timestamp;
//! use weaver_types::signature::SigningKey;
//!
//! # let now = Timestamp::from_micros(1_800_000_000_000_000);
//! # let head = |kind: &str| format!("kind = \"{kind}\"\nformat = 1\nid = \"x\"\nversion = 1\n");
//! let alice = SigningKey::from_seed([1; 32]);
//! let keys = format!(
//!     "[approvers.alice]\nkey = \"{}\"\ntrust = 900\nclearance = \"internal\"\n",
//!     alice.public()
//! );
//! # let texts = [head("policy"), head("contracts"), head("keys") + &keys];
//! # let source = |n: usize| DocumentSource::unsigned("x.toml", &texts[n]);
//! # let sources = DocumentSources { policy: source(0), contracts: source(1), keys: source(2) };
//! # let set = PolicySet::load_unsigned_development(&sources, now)?;
//! # let keys = set.keys().ok_or("no keys")?;
//! # let digest = format!("sha256:{}", "0".repeat(64));
//! let request: ApprovalRequest = serde_json::from_value(serde_json::json!({
//!     "v": 1, "id": "apr_1", "nonce": "00112233445566778899aabbccddeeff",
//!     "tenant": "local", "log": "log_1", "capability": "git.push", "fingerprint": digest,
//!     "arguments": { "force": true }, "policy": digest, "contracts": digest,
//!     "principal": "bob", "run": "run_1",
//!     "label": { "confidentiality": "public", "integrity": "trusted" },
//!     "holds": [{ "check": "floor", "reason": "floor_hold" }], "authority": {},
//!     "detail": "rung L4", "intent": "publish", "opened_at": now,
//!     "deadline": now.after(std::time::Duration::from_secs(900)),
//! }))?;
//! let mut state = ApprovalState::new(&request);
//! assert!(state.release(&request, keys, now).is_err());
//!
//! // Alice looks at `request.render()` and says yes.
//! let said = Resolution::new(&request, ResolutionVerdict::Granted, "alice", now)?;
//! let signed = said.sign(&alice)?;
//!
//! let vote = verify_resolution(keys, &request, &state, &signed, ReceiptTime::at(now))?;
//! state.record(&request, vote)?;
//! let release = state.release(&request, keys, now)?;
//! assert_eq!(release.request_id(), Some(&request.id));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod apply_release;
mod approver_checks;
mod grantor;
mod nonce;
mod operator_statement;
mod receipt_time;
mod rejection;
mod release;
mod render;
mod request;
mod resolution;
mod signature_cache;
mod signed_file;
mod standing_approval;
mod state;
mod verified_signer;
mod verify_resolution;

pub(crate) use apply_release::apply_release;
pub use nonce::{Nonce, NonceError};
pub use operator_statement::{
    BeliefOutcome, OPERATOR_STATEMENT_MAX_AGE, OperatorAction, OperatorStatement,
    SignedOperatorStatement, verify_operator_statement,
};
pub use receipt_time::{MAX_SKEW, ReceiptTime};
pub use rejection::Rejection;
pub use release::ReleaseProof;
pub use request::{ApprovalRequest, HeldCheck, ObservedPrecondition};
pub use resolution::{Resolution, ResolutionVerdict, SignedResolution};
pub use signed_file::{MAX_SIGNED_FILE_BYTES, SignedFile};
pub use standing_approval::{
    SignedStandingApproval, StandingApproval, StandingApprovalState, verify_standing_approval,
};
pub use state::{ApprovalState, Phase, RequestEnd, Vote};
pub use verified_signer::VerifiedSigner;
pub use verify_resolution::verify_resolution;

pub use crate::policy_settings::StandingApprovalBounds;

/// The version of every signed format in this module.
pub const APPROVAL_VERSION: u64 = 1;
