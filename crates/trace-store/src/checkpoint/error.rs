//! Why a checkpoint, a receipt or a proof is refused.

use weaver_types::ledger::LedgerError;
use weaver_types::signature::SignatureError;

/// A refused note, key, checkpoint, receipt or proof: it proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The bytes are no signed note.
    #[error("this is no signed note: {0}")]
    Note(&'static str),
    /// The text of a note is no checkpoint.
    #[error("the text of the note is no checkpoint: {0}")]
    Body(&'static str),
    /// A text is no verifier key.
    #[error("this is no verifier key (name+id+base64): {0}")]
    Key(&'static str),
    /// A signature by a known key does not fit.
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
    /// The key that signed does not count at that size.
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
        /// Its place.
        seq: u64,
        /// What is wrong.
        why: &'static str,
    },
    /// Too few witnesses signed.
    #[error("{found} of the {wanted} witnesses needed signed this checkpoint")]
    Witnesses {
        /// Trusted witnesses that signed.
        found: usize,
        /// How many are needed.
        wanted: usize,
    },
    /// A form in JSON is not of its kind, or malformed.
    #[error("the {form} is malformed: {why}")]
    Form {
        /// `receipt`, `equivocation proof` or `witness state`.
        form: &'static str,
        /// What is wrong.
        why: String,
    },
    /// A form in JSON is newer than this build.
    #[error("the {form} has version {found}, this build knows up to {known}; use a newer build")]
    Newer {
        /// Which form.
        form: &'static str,
        /// Its version.
        found: u64,
        /// The newest known.
        known: u64,
    },
    /// An event or a proof of a receipt does not fit its checkpoint.
    #[error("event {index} of the receipt does not fit: {why}")]
    Event {
        /// Its place in the receipt, from 0.
        index: usize,
        /// What is wrong.
        why: &'static str,
    },
    /// The two checkpoints do not conflict, or the proof does not show it.
    #[error("no equivocation is proven: {0}")]
    NoConflict(&'static str),
    /// A checkpoint is not consistent with what the witness has seen.
    #[error("the witness does not sign: {0}")]
    Inconsistent(&'static str),
    /// The log does not extend a checkpoint that was signed before.
    #[error(
        "fork: the log does not extend the checkpoint of {signed} events that was signed before: {why}"
    )]
    Fork {
        /// The size of that checkpoint.
        signed: u64,
        /// What shows it.
        why: &'static str,
    },
    /// The machinery below failed.
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
