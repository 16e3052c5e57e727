//! The keys that a reader trusts, and checkpoints that they verify.

use super::key::{KeyUse, VerifierKey};
use super::witness::{self, Cosignature};
use super::{Checkpoint, CheckpointError, KeyHistory, SignedNote};

/// What a verifier trusts from outside the log: the log's key, and the required witnesses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustPolicy {
    /// The key that signs for the log.
    pub log: VerifierKey,
    /// The size up to which that key is valid, if it is known to have ended.
    pub until: Option<u64>,
    /// The trusted witnesses.
    pub witnesses: Vec<VerifierKey>,
    /// How many of them must have signed.
    pub quorum: usize,
}

/// A checkpoint whose signatures were verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedCheckpoint {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// The key that signed it.
    pub key: VerifierKey,
    /// The trusted witnesses that signed it, and when.
    pub witnesses: Vec<Cosignature>,
}

impl TrustPolicy {
    /// Trusts one log key, without witnesses.
    #[must_use]
    pub fn new(log: VerifierKey) -> Self {
        Self { log, until: None, witnesses: Vec::new(), quorum: 0 }
    }

    /// Verifies a checkpoint without reading its log: only the trusted key itself may have signed.
    ///
    /// # Errors
    /// [`CheckpointError`].
    pub fn open(&self, note: &SignedNote) -> Result<VerifiedCheckpoint, CheckpointError> {
        self.open_with(note, &KeyHistory::default())
    }

    /// Verifies a checkpoint, following the trusted key through the changes that the log records.
    ///
    /// # Errors
    /// [`CheckpointError`].
    pub fn open_with(
        &self,
        note: &SignedNote,
        history: &KeyHistory,
    ) -> Result<VerifiedCheckpoint, CheckpointError> {
        let checkpoint = Checkpoint::parse(note.text())?;
        let mut refused = CheckpointError::Untrusted { trusted: self.log.to_string() };
        let mut signed = None;
        for key in std::iter::once(&self.log).chain(history.keys()) {
            if signed.is_some() || !has_signed(key, note)? {
                continue;
            }
            match self.check_validity(key, &checkpoint, history) {
                Ok(()) => signed = Some(key.clone()),
                Err(error) => refused = error,
            }
        }
        let key = signed.ok_or(refused)?;
        let witnesses = witness::verified_cosignatures(note, &self.witnesses)?;
        if witnesses.len() < self.quorum {
            let (found, wanted) = (witnesses.len(), self.quorum);
            return Err(CheckpointError::Witnesses { found, wanted });
        }
        Ok(VerifiedCheckpoint { checkpoint, key, witnesses })
    }

    fn check_validity(
        &self,
        key: &VerifierKey,
        checkpoint: &Checkpoint,
        history: &KeyHistory,
    ) -> Result<(), CheckpointError> {
        let size = checkpoint.size;
        let ended = |why| Err(CheckpointError::KeyEnded { size, why });
        if key.name() != checkpoint.origin.as_str() {
            return ended("it is the key of another log");
        }
        if *key == self.log && self.until.is_some_and(|until| size > until) {
            return ended("it is known to have ended before");
        }
        history.check_validity(&self.log, key, size)
    }
}

/// Whether the note has a valid signature by a log key; an invalid one refuses the note.
fn has_signed(key: &VerifierKey, note: &SignedNote) -> Result<bool, CheckpointError> {
    if key.usage() != KeyUse::Log {
        return Ok(false);
    }
    let Some(signature) = note.signatures().iter().find(|signature| key.made(signature)) else {
        return Ok(false);
    };
    let bytes = signature.bytes.as_slice().try_into().ok();
    let fits = bytes.is_some_and(|bytes| key.public().verify_text(note.text(), bytes).is_ok());
    if fits { Ok(true) } else { Err(CheckpointError::Signature { name: key.name().to_owned() }) }
}
