//! Signed checkpoints, and what is proven with them.
//!
//! A [`Checkpoint`] is the head of a log as a signed [`Note`]: the forms of C2SP `signed-note`,
//! `tlog-checkpoint` and `tlog-cosignature`. Its origin, and the name of the key that signs it, is the
//! id of the log. [`Trust`] says which key and which witnesses count; [`KeyHistory`] follows the key
//! through the log. A [`Receipt`] proves single events offline, an [`Equivocation`] that one key
//! signed two histories.
//!
//! A checkpoint is made for synced events only: give it a synced head.
//!
//! ```
//! use weaver_trace_store::checkpoint::{Checkpoint, Note, Trust, VerifierKey};
//! use weaver_types::signature::SigningKey;
//! use weaver_types::{Digest, LogId};
//! # use weaver_types::ledger::Head;
//!
//! let log = LogId::parse("log_example")?;
//! let signer = SigningKey::from_seed([7; 32]);
//! let head = Head { log: log.clone(), size: 3, root: Digest::from_bytes([1; 32]) };
//! let note = Checkpoint::of(&head).sign(&signer)?;
//!
//! let trust = Trust::of(VerifierKey::log(&log, signer.public())?);
//! let read = Note::parse(note.to_string().as_bytes())?;
//! assert_eq!(trust.open(&read)?.checkpoint.size, 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod body;
mod equivocation;
mod error;
mod form;
mod history;
mod key;
mod note;
mod receipt;
mod trust;
mod witness;

pub use body::{Checkpoint, MAX_SIZE};
pub use equivocation::{Conflict, Equivocation};
pub use error::{CheckpointError, KeyEventError, ReceiptEventError};
pub use form::MAX_FORM;
pub use history::{KeyChange, KeyHistory};
pub use key::{KeyUse, Signer, VerifierKey};
pub use note::{MAX_NOTE, MAX_SIGNATURES, Note, NoteSignature};
pub use receipt::{
    ProvenEvent, Receipt, ReceiptEvent, ReceiptReport, events_of_call, events_of_call_since,
};
pub use trust::{Trust, VerifiedCheckpoint};
pub use witness::{Cosignature, Witness, cosign};
