//! Errors of checkpoints, receipts and proofs.

use weaver_types::ledger::LedgerError;
use weaver_types::signature::SignatureError;

/// A refused note, key, checkpoint, receipt or proof. It proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The bytes are no signed note.
    #[error("this is not a signed note: {0}")]
    Note(&'static str),
    /// The text of a note is not a checkpoint.
    #[error("the text of the note is not a checkpoint: {0}")]
    Body(&'static str),
    /// A text is not a verifier key.
    #[error("this is not a verifier key (name+id+base64): {0}")]
    Key(&'static str),
    /// A signature by a known key does not verify.
    #[error("the signature by `{name}` does not fit the checkpoint: it was changed")]
    Signature {
        /// The name of the key.
        name: String,
    },
    /// No trusted key signed.
    #[error("no trusted key signed this checkpoint; trusted is `{trusted}`")]
    Untrusted {
        /// The key that is trusted, as text.
        trusted: String,
    },
    /// The key that signed was not valid at that size.
    #[error("the key that signed does not count for a log of {size} events: {why}")]
    KeyEnded {
        /// The size of the checkpoint.
        size: u64,
        /// Why not.
        why: &'static str,
    },
    /// A key event of the log is not valid.
    #[error("the key event at {seq} is not valid: {why}")]
    KeyEvent {
        /// Its sequence number.
        seq: u64,
        /// What is wrong.
        why: KeyEventError,
    },
    /// Too few witnesses signed.
    #[error("{found} of the {wanted} witnesses needed signed this checkpoint")]
    Witnesses {
        /// Trusted witnesses that signed.
        found: usize,
        /// How many are needed.
        wanted: usize,
    },
    /// A JSON document is of another kind, or malformed.
    #[error("the {form} is malformed: {why}")]
    Form {
        /// `receipt`, `equivocation proof` or `witness state`.
        form: &'static str,
        /// What is wrong.
        why: String,
    },
    /// A JSON document is newer than this build.
    #[error("the {form} has version {found}, this build knows up to {known}; use a newer build")]
    Newer {
        /// Which form.
        form: &'static str,
        /// Its version.
        found: u64,
        /// The newest version this build understands.
        known: u64,
    },
    /// An event or proof of a receipt does not match its checkpoint.
    #[error("event {index} of the receipt does not fit: {why}")]
    Event {
        /// Its index in the receipt, from 0.
        index: usize,
        /// What is wrong.
        why: ReceiptEventError,
    },
    /// The two checkpoints do not conflict, or the proof does not show it.
    #[error("no equivocation is proven: {0}")]
    NoConflict(&'static str),
    /// A checkpoint is inconsistent with what the witness has signed before.
    #[error("the witness does not sign: {0}")]
    Inconsistent(&'static str),
    /// The log does not extend a checkpoint that was signed before.
    #[error(
        "fork: the log does not extend the checkpoint of {signed} events that was signed before: {why}"
    )]
    Fork {
        /// The size of that checkpoint.
        signed: u64,
        /// The evidence.
        why: &'static str,
    },
    /// Signing failed.
    #[error("{0}")]
    Signing(#[from] SignatureError),
    /// The ledger could not be read.
    #[error("{0}")]
    Ledger(#[from] LedgerError),
    /// A file of the witness could not be read or written.
    #[error("{0}")]
    File(String),
}

impl CheckpointError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Note(_) => "checkpoint.note",
            Self::Body(_) => "checkpoint.body",
            Self::Key(_) => "checkpoint.key",
            Self::Signature { .. } => "checkpoint.signature",
            Self::Untrusted { .. } => "checkpoint.untrusted",
            Self::KeyEnded { .. } => "checkpoint.key_ended",
            Self::KeyEvent { .. } => "checkpoint.key_event",
            Self::Witnesses { .. } => "checkpoint.witnesses",
            Self::Form { .. } => "proof.form",
            Self::Newer { .. } => "proof.newer",
            Self::Event { .. } => "proof.event",
            Self::NoConflict(_) => "proof.no_conflict",
            Self::Inconsistent(_) => "witness.inconsistent",
            Self::Fork { .. } => "checkpoint.fork",
            Self::Signing(error) => error.code(),
            Self::Ledger(error) => error.code(),
            Self::File(_) => "witness.file",
        }
    }
}

/// Why a key event of a log is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyEventError {
    /// The payload is no JSON object.
    #[error("its payload is not a JSON object")]
    Payload,
    /// The payload has another version.
    #[error("its version is not 1")]
    Version,
    /// A text in it is not a verifier key.
    #[error("a key in it is not a verifier key")]
    VerifierKey,
    /// It has a previous key without a signature, or a signature without a previous key.
    #[error("previous key and signature do not stand together")]
    Unpaired,
    /// It does not state the size of the log.
    #[error("it has no `from`")]
    From,
    /// It has unknown fields or is not canonical.
    #[error("its payload has unknown fields or is not canonical")]
    NotCanonical,
    /// It claims a log size beyond its own position.
    #[error("it says that the log was longer than it was")]
    Future,
    /// Its key belongs to another log.
    #[error("its key is not one of this log")]
    OtherLog,
    /// Its key was in use before.
    #[error("its key was in use before")]
    Reused,
    /// The signed message cannot be written.
    #[error("it cannot be written")]
    Unwritable,
    /// It neither declares nor ends a key.
    #[error("it says nothing")]
    Empty,
    /// It names a predecessor, but no key is in force.
    #[error("it names a key before it, and there is none")]
    NoPredecessor,
    /// The key in force did not sign it.
    #[error("the key before it did not sign it")]
    Unsigned,
    /// Its predecessor is not the key in force.
    #[error("the key before it is another one")]
    OtherPredecessor,
    /// The signature of its predecessor does not fit.
    #[error("the signature of the key before it does not fit")]
    Signature,
    /// It cannot be read.
    #[error("it cannot be read")]
    Unreadable,
}

/// Why an event of a receipt does not match its checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiptEventError {
    /// The header cannot be read.
    #[error("its header cannot be read")]
    Header,
    /// The header is of another log.
    #[error("its header is of another log")]
    OtherLog,
    /// The event belongs to another call.
    #[error("it is not of this call")]
    OtherCall,
    /// The inclusion proof does not lead to the checkpoint's root.
    #[error("its proof does not lead to the checkpoint")]
    Inclusion,
    /// The payload does not match the commitment in the header.
    #[error("its payload is not the one its header commits to")]
    Commitment,
    /// The checkpoint does not cover the event.
    #[error("the checkpoint does not cover it")]
    Uncovered,
    /// The event is out of order.
    #[error("it does not stand in the order of the log")]
    Order,
    /// A key event does not disclose its payload.
    #[error("a key event does not disclose its payload")]
    UndisclosedKey,
}
