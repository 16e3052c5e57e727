//! Signed checkpoints, and what can be proven with them.
//!
//! A [`Checkpoint`] is the tree head of a log as a [`SignedNote`], in the formats of C2SP
//! `signed-note`, `tlog-checkpoint` and `tlog-cosignature`. Its origin, and the name of the key
//! that signs it, is the id of the log. [`TrustPolicy`] says which key and which witnesses a reader
//! trusts; [`KeyHistory`] follows key changes through the log. A [`CallReceipt`] proves single
//! events offline; an [`EquivocationProof`] proves that one key signed two histories.
//!
//! Sign checkpoints only for synced events: pass a synced head.
//!
//! ```
//! use weaver_trace_store::checkpoint::{Checkpoint, SignedNote, TrustPolicy, VerifierKey};
//! use weaver_types::signature::SigningKey;
//! use weaver_types::{Digest, LogId};
//! # use weaver_types::ledger::TreeHead;
//!
//! let log = LogId::parse("log_example")?;
//! let signer = SigningKey::from_seed([7; 32]);
//! let head = TreeHead { log: log.clone(), size: 3, root: Digest::from_bytes([1; 32]) };
//! let note = Checkpoint::from_head(&head).sign(&signer)?;
//!
//! let trust = TrustPolicy::new(VerifierKey::log(&log, signer.public())?);
//! let read = SignedNote::parse(note.to_string().as_bytes())?;
//! assert_eq!(trust.open(&read)?.checkpoint.size, 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod body;
mod equivocation;
mod error;
mod history;
mod key;
mod note;
mod proof_format;
mod receipt;
mod trust;
mod witness;

pub use body::{Checkpoint, MAX_LOG_SIZE};
pub use equivocation::{ConflictingCheckpoints, EquivocationProof};
pub use error::{CheckpointError, KeyEventError, ReceiptEventError};
pub use history::{KeyChange, KeyHistory};
pub use key::{KeyUse, Signer, VerifierKey};
pub use note::{MAX_NOTE_BYTES, MAX_SIGNATURES, NoteSignature, SignedNote};
pub use proof_format::MAX_PROOF_BYTES;
pub use receipt::{
    CallReceipt, ProvenEvent, ReceiptEvent, VerifiedReceipt, events_of_call, events_of_call_since,
};
pub use trust::{TrustPolicy, VerifiedCheckpoint};
pub use witness::{Cosignature, Witness, cosign};
