//! Signs checkpoints of the log, each an extension of the earlier ones.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weaver_trace_store::SqliteLedger;
use weaver_trace_store::checkpoint::{
    Checkpoint, CheckpointError, KeyHistory, SignedNote, TrustPolicy, VerifierKey,
};
use weaver_types::ledger::{Batch, Durability, Ledger as _, LedgerError, TreeHead};
use weaver_types::signature::SigningKey;

use super::checkpoint_file::{self, CheckpointFileError};
use crate::clients::replace_public_file;

/// Why no checkpoint was signed.
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

/// Signs checkpoints of one log with one key.
pub(super) struct CheckpointSigner {
    log: Arc<SqliteLedger>,
    signer: SigningKey,
    pub(super) key: VerifierKey,
    checkpoint_path: PathBuf,
    /// Whether the log was checked for an event that ends or replaces the key. Once is enough: only
    /// this process writes the log, and the gateway changes no key.
    key_checked: AtomicBool,
}

impl CheckpointSigner {
    pub(super) fn new(
        log: Arc<SqliteLedger>,
        signer: SigningKey,
        file: &std::path::Path,
    ) -> Result<Self, SigningError> {
        let head = log.head()?;
        let key = VerifierKey::log(&head.log, signer.public())?;
        let checkpoint_path = checkpoint_file::signed_checkpoint_path(file, &head.log);
        Ok(Self { log, signer, key, checkpoint_path, key_checked: AtomicBool::new(false) })
    }

    /// The newest checkpoint signed earlier, as far as this machine knows: from the ledger's
    /// record, the file beside the key and the targets that are files. Fails unless the log extends
    /// every one of them.
    pub(super) fn last_checkpoint(
        &self,
        record: Option<Checkpoint>,
        files: &[PathBuf],
    ) -> Result<Option<Checkpoint>, SigningError> {
        let mut earlier: Vec<Checkpoint> = record.into_iter().collect();
        earlier.extend(checkpoint_file::read(&self.checkpoint_path)?);
        // A file that holds no checkpoint of this log is not ours; publishing overwrites it.
        let ours = files.iter().filter_map(|path| checkpoint_file::read(path).ok().flatten());
        earlier.extend(ours.filter(|earlier| earlier.origin.as_str() == self.key.name()));
        let head = self.sync()?;
        for before in &earlier {
            self.extend(&head, before)?;
        }
        Ok(earlier.into_iter().max_by_key(|earlier| earlier.size))
    }

    /// The number of synced events. Reads no disk.
    pub(super) fn synced_size(&self) -> Result<u64, SigningError> {
        Ok(self.log.synced_head()?.size)
    }

    /// The number of committed events.
    pub(super) fn committed_size(&self) -> Result<u64, SigningError> {
        Ok(self.log.head()?.size)
    }

    /// Syncs all committed events and returns the head after them.
    fn sync(&self) -> Result<TreeHead, SigningError> {
        self.log.commit(Batch::new(Durability::Disk)).wait()?;
        Ok(self.log.synced_head()?)
    }

    fn extend(&self, head: &TreeHead, before: &Checkpoint) -> Result<Checkpoint, SigningError> {
        Checkpoint::extending(self.log.as_ref(), head, before).map_err(|error| match error {
            error @ CheckpointError::Fork { .. } => SigningError::Fork(error),
            error => SigningError::Checkpoint(error),
        })
    }

    /// Fails if an event of the log ended or replaced the key. The key was valid when it signed the
    /// first `since` events, so only later events are checked, and only once per process.
    fn check_key_valid(&self, note: &SignedNote, since: u64) -> Result<(), SigningError> {
        if self.key_checked.load(Ordering::Acquire) {
            return Ok(());
        }
        let log = self.log.as_ref();
        if KeyHistory::has_changed_since(log, since)? {
            TrustPolicy::new(self.key.clone()).open_with(note, &KeyHistory::from_log(log)?)?;
        }
        self.key_checked.store(true, Ordering::Release);
        Ok(())
    }

    /// Signs the synced head. The note is written to the file beside the key before it is returned:
    /// a signature that was given out is never forgotten.
    pub(super) fn sign(
        &self,
        before: Option<&Checkpoint>,
    ) -> Result<(Checkpoint, SignedNote), SigningError> {
        let head = self.sync()?;
        let checkpoint = match before {
            Some(before) => self.extend(&head, before)?,
            None => Checkpoint::from_head(&head),
        };
        let note = checkpoint.sign(&self.signer)?;
        self.check_key_valid(&note, before.map_or(0, |before| before.size))?;
        replace_public_file(&self.checkpoint_path, &note.to_string()).map_err(|error| {
            SigningError::Unwritable(format!("{}: {error}", self.checkpoint_path.display()))
        })?;
        Ok((checkpoint, note))
    }
}
