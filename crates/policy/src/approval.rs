//! Approvals: who released which held call, proved by signatures, and nothing else releases it.
//!
//! A held call opens an [`ApprovalRequest`], which binds everything that somebody must see before
//! saying yes. A person answers with a [`Resolution`] over the digest of the whole request. What
//! the answer is worth stands in the keys document, never in the answer. An [`ApprovalState`]
//! gathers votes; only when enough distinct people with the authority agreed does it give a
//! [`Release`], and a decision takes nothing else. A [`StandingApproval`] approval is signed in advance.
//!
//! Everything here is a function of its arguments: no file, no clock, no ledger.
//! `docs/concepts/approvals.md` gives the exact meaning.
//!
//! ```
//! use weaver_policy::approval::{
//!     ApprovalRequest, ApprovalState, ReceiptTime, Resolution, ResolutionVerdict, verify_resolution,
//! };
//! use weaver_policy::{PolicySet, Source, Sources};
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
//! # let source = |n: usize| Source::unsigned("x.toml", &texts[n]);
//! # let sources = Sources { policy: source(0), contracts: source(1), keys: source(2) };
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
//! assert_eq!(release.request(), Some(&request.id));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod discharge;
mod file;
mod grantor;
mod nonce;
mod operator;
mod person;
mod receipt_time;
mod rejection;
mod release;
mod render;
mod request;
mod resolution;
mod standing_approval;
mod state;
mod verified_signatures;
mod verify;

pub(crate) use discharge::discharge;
pub use file::{MAX_SIGNED_FILE, SignedFile};
pub use nonce::{Nonce, NonceError};
pub use operator::{
    BeliefOutcome, OPERATOR_WORD_LIFE, OperatorAction, OperatorWord, SignedOperatorWord,
    verify_operator_word,
};
pub use receipt_time::{MAX_SKEW, ReceiptTime};
pub use rejection::Rejection;
pub use release::Release;
pub use request::{ApprovalRequest, HeldCheck, ObservedPrecondition};
pub use resolution::{Resolution, ResolutionVerdict, SignedResolution};
pub use standing_approval::{
    SignedStandingApproval, StandingApproval, StandingUse, verify_standing,
};
pub use state::{ApprovalState, Phase, RequestEnd, Vote};
pub use verify::verify_resolution;

pub use crate::bounds::StandingBounds;

/// The version of every signed form of this module.
pub const APPROVAL_VERSION: u64 = 1;
