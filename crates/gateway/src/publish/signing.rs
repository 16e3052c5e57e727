//! Signing the log: the key, and the checkpoints it signed before.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weaver_trace_store::SqliteLedger;
use weaver_trace_store::checkpoint::{
    Checkpoint, CheckpointError, KeyHistory, Note, Trust, VerifierKey,
};
use weaver_types::ledger::{Batch, Durability, Head, Ledger as _, LedgerError};
use weaver_types::signature::SigningKey;

use super::memory::{self, CheckpointFileError};

/// Why nothing was signed.
#[derive(Debug, thiserror::Error)]
pub(super) enum SigningError {
    #[error("{0}; nothing is signed: compare the ledger with the checkpoints that are elsewhere")]
    Fork(CheckpointError),
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    #[error("what was signed before cannot be read: {0}")]
    Memory(#[from] CheckpointFileError),
    #[error("the thread that signs ended: {0}")]
    Thread(#[from] tokio::task::JoinError),
    #[error("what is signed cannot be noted: {0}")]
    Unwritable(String),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// The key of a log, with the checkpoints it signed before.
pub(super) struct Signing {
    log: Arc<SqliteLedger>,
    signer: SigningKey,
    pub(super) key: VerifierKey,
    memory: PathBuf,
    /// Whether the log was asked if it ended the key. Nobody else writes the log meanwhile, and the
    /// gateway changes no key.
    asked: AtomicBool,
}

impl Signing {
    pub(super) fn new(
        log: Arc<SqliteLedger>,
        signer: SigningKey,
        file: &std::path::Path,
    ) -> Result<Self, SigningError> {
        let head = log.head()?;
        let key = VerifierKey::log(&head.log, signer.public())?;
        let memory = memory::beside(file, &head.log);
        Ok(Self { log, signer, key, memory, asked: AtomicBool::new(false) })
    }

    /// What was signed before, as far as this machine knows: what the record says, the memory beside
    /// the key, and files that are targets. The newest of it, if the log extends all of it.
    pub(super) fn before(
        &self,
        record: Option<Checkpoint>,
        files: &[PathBuf],
    ) -> Result<Option<Checkpoint>, SigningError> {
        let mut known: Vec<Checkpoint> = record.into_iter().collect();
        known.extend(memory::read(&self.memory)?);
        // What is no checkpoint of this log was never ours, and is replaced.
        let ours = files.iter().filter_map(|path| memory::read(path).ok().flatten());
        known.extend(ours.filter(|known| known.origin.as_str() == self.key.name()));
        let head = self.synced()?;
        for before in &known {
            self.extending(&head, before)?;
        }
        Ok(known.into_iter().max_by_key(|known| known.size))
    }

    /// The number of synced events; reads no disk.
    pub(super) fn size(&self) -> Result<u64, SigningError> {
        Ok(self.log.synced_head()?.size)
    }

    /// Events that are committed.
    pub(super) fn committed(&self) -> Result<u64, SigningError> {
        Ok(self.log.head()?.size)
    }

    /// The head after everything that is committed was synced.
    fn synced(&self) -> Result<Head, SigningError> {
        self.log.commit(Batch::new(Durability::Disk)).wait()?;
        Ok(self.log.synced_head()?)
    }

    fn extending(&self, head: &Head, before: &Checkpoint) -> Result<Checkpoint, SigningError> {
        Checkpoint::extending(self.log.as_ref(), head, before).map_err(|error| match error {
            error @ CheckpointError::Fork { .. } => SigningError::Fork(error),
            error => SigningError::Checkpoint(error),
        })
    }

    /// Refuses when an event of the log ended the key or names another one. The key counted when it
    /// signed for `since` events, so only what came after is looked at, once.
    fn counts(&self, note: &Note, since: u64) -> Result<(), SigningError> {
        if self.asked.load(Ordering::Acquire) {
            return Ok(());
        }
        let log = self.log.as_ref();
        if KeyHistory::changed_since(log, since)? {
            Trust::of(self.key.clone()).open_with(note, &KeyHistory::of(log)?)?;
        }
        self.asked.store(true, Ordering::Release);
        Ok(())
    }

    /// Signs what is synced now, noted on disk before the signature is given out.
    pub(super) fn sign(
        &self,
        before: Option<&Checkpoint>,
    ) -> Result<(Checkpoint, Note), SigningError> {
        let head = self.synced()?;
        let checkpoint = match before {
            Some(before) => self.extending(&head, before)?,
            None => Checkpoint::of(&head),
        };
        let note = checkpoint.sign(&self.signer)?;
        self.counts(&note, before.map_or(0, |before| before.size))?;
        memory::replace(&self.memory, &note.to_string()).map_err(|error| {
            SigningError::Unwritable(format!("{}: {error}", self.memory.display()))
        })?;
        Ok((checkpoint, note))
    }
}
