//! The keys that a reader trusts, and the checkpoints that they verify.

use super::key::{KeyUse, VerifierKey};
use super::witness::{self, Cosignature};
use super::{Checkpoint, CheckpointError, KeyHistory, Note};

/// What a verifier brings from outside: the log's key, and the witnesses if any are required.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trust {
    /// The key that signs for the log.
    pub log: VerifierKey,
    /// The size up to which that key counts, when it is known to have ended.
    pub until: Option<u64>,
    /// Witnesses that count.
    pub witnesses: Vec<VerifierKey>,
    /// How many of them must have signed.
    pub quorum: usize,
}

/// A checkpoint that was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedCheckpoint {
    /// What it says.
    pub checkpoint: Checkpoint,
    /// The key that signed it.
    pub key: VerifierKey,
    /// The trusted witnesses that signed it, and when.
    pub witnesses: Vec<Cosignature>,
}

impl Trust {
    /// Trust in one key, without witnesses.
    #[must_use]
    pub fn of(log: VerifierKey) -> Self {
        Self { log, until: None, witnesses: Vec::new(), quorum: 0 }
    }

    /// Verifies a checkpoint without looking at its log: only the trusted key itself counts.
    ///
    /// # Errors
    /// [`CheckpointError`].
    pub fn open(&self, note: &Note) -> Result<VerifiedCheckpoint, CheckpointError> {
        self.open_with(note, &KeyHistory::default())
    }

    /// Verifies a checkpoint, following the trusted key through the changes that the log records.
    ///
    /// # Errors
    /// [`CheckpointError`].
    pub fn open_with(
        &self,
        note: &Note,
        history: &KeyHistory,
    ) -> Result<VerifiedCheckpoint, CheckpointError> {
        let checkpoint = Checkpoint::parse(note.text())?;
        let mut refused = CheckpointError::Untrusted { trusted: self.log.to_string() };
        let mut signed = None;
        for key in std::iter::once(&self.log).chain(history.keys()) {
            if signed.is_some() || !has_signed(key, note)? {
                continue;
            }
            match self.counts(key, &checkpoint, history) {
                Ok(()) => signed = Some(key.clone()),
                Err(error) => refused = error,
            }
        }
        let key = signed.ok_or(refused)?;
        let witnesses = witness::count(note, &self.witnesses)?;
        if witnesses.len() < self.quorum {
            let (found, wanted) = (witnesses.len(), self.quorum);
            return Err(CheckpointError::Witnesses { found, wanted });
        }
        Ok(VerifiedCheckpoint { checkpoint, key, witnesses })
    }

    fn counts(
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
        history.counts(&self.log, key, size)
    }
}

/// Whether the note carries a good signature by the key of a log; a bad one refuses the note.
fn has_signed(key: &VerifierKey, note: &Note) -> Result<bool, CheckpointError> {
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
