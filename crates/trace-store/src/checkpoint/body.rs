//! The text of a checkpoint.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use weaver_types::ledger::{Ledger, TreeHead};
use weaver_types::{Digest, LogId};

use super::key::{Signer, VerifierKey};
use super::{CheckpointError, SignedNote};
use crate::merkle;
use crate::verify::LogProver;

/// The largest size of a log: headers cannot represent numbers above 2^53.
pub const MAX_LOG_SIZE: u64 = 1 << 53;

/// The text of a checkpoint, as C2SP `tlog-checkpoint` defines it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The id of the log.
    pub origin: LogId,
    /// The number of events.
    pub size: u64,
    /// The root hash over them.
    pub root: Digest,
    /// Extension lines. They are signed but have no meaning here.
    pub extensions: Vec<String>,
}

impl Checkpoint {
    /// The checkpoint of a tree head. The head must be synced, as in [`Checkpoint::synced`]: a
    /// signed head must never be lost in a crash.
    #[must_use]
    pub fn from_head(head: &TreeHead) -> Self {
        let TreeHead { log, size, root } = head.clone();
        Self { origin: log, size, root, extensions: Vec::new() }
    }

    /// The checkpoint of everything that `ledger` knows to be synced. To cover what was just
    /// acknowledged, commit a barrier first: an empty batch with
    /// [`Durability::Disk`](weaver_types::ledger::Durability::Disk).
    ///
    /// # Errors
    /// [`CheckpointError::Ledger`].
    pub fn synced(ledger: &dyn Ledger) -> Result<Self, CheckpointError> {
        Ok(Self::from_head(&ledger.synced_head()?))
    }

    /// The checkpoint of `head`, a synced head of `log`, for a signer whose last checkpoint was
    /// `before`. It is refused unless the log provably extends `before`. This detects a log that
    /// was restored from an older copy, or rewritten, before a key signs a second history.
    ///
    /// # Errors
    /// [`CheckpointError::Fork`], and [`CheckpointError::Ledger`] when the log cannot be read.
    pub fn extending(
        log: &dyn LogProver,
        head: &TreeHead,
        before: &Self,
    ) -> Result<Self, CheckpointError> {
        let signed = before.size;
        let fork = |why| Err(CheckpointError::Fork { signed, why });
        if before.origin != head.log {
            return fork("that one is of another log");
        }
        if head.size < signed {
            return fork("the log is shorter now; it was restored from an older copy, or cut");
        }
        let path = match signed {
            0 => Vec::new(),
            _ => log.consistency(signed, head.size)?,
        };
        let (old, new) = (before.root.as_bytes(), head.root.as_bytes());
        if !merkle::verify_consistency(signed, head.size, &path, old, new) {
            return fork("its beginning is another one; it was restored and went on, or rewritten");
        }
        Ok(Self::from_head(head))
    }

    /// The tree head that it names.
    #[must_use]
    pub fn head(&self) -> TreeHead {
        TreeHead { log: self.origin.clone(), size: self.size, root: self.root }
    }

    /// Signs it as the log; the name of the key is the log's id.
    ///
    /// # Errors
    /// [`CheckpointError`], when the log's id cannot be a key name, the text is not a valid
    /// checkpoint, or the signer fails.
    pub fn sign(&self, signer: &dyn Signer) -> Result<SignedNote, CheckpointError> {
        let key = VerifierKey::log(&self.origin, signer.public())?;
        let text = self.to_string();
        Self::parse(&text)?;
        let signature = key.signature(signer.sign_text(&text)?.to_vec());
        Ok(SignedNote::unsigned(text).with(signature))
    }

    /// Parses the text of a note, and accepts only a valid checkpoint.
    ///
    /// # Errors
    /// [`CheckpointError::Body`].
    pub fn parse(text: &str) -> Result<Self, CheckpointError> {
        let bad = |why| Err(CheckpointError::Body(why));
        let Some(text) = text.strip_suffix('\n') else { return bad("its last line has no end") };
        let mut lines = text.split('\n');
        let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next())
        else {
            return bad("it has fewer than three lines");
        };
        let Ok(origin) = LogId::parse(origin) else {
            return bad("its origin is not an id of a log");
        };
        let Some(size) = number(size).filter(|size| *size <= MAX_LOG_SIZE) else {
            return bad("its size is not a plain decimal number up to 2^53");
        };
        let root = STANDARD.decode(root).ok().and_then(|root| <[u8; 32]>::try_from(root).ok());
        let Some(root) = root else { return bad("its root is not base64 of 32 bytes") };
        if size == 0 && root != merkle::empty_root() {
            return bad("its root is not that of the empty log");
        }
        let extensions: Vec<String> = lines.map(str::to_owned).collect();
        if extensions.iter().any(String::is_empty) {
            return bad("it has an empty line");
        }
        Ok(Self { origin, size, root: Digest::from_bytes(root), extensions })
    }
}

/// A decimal number in canonical form.
fn number(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = STANDARD.encode(self.root.as_bytes());
        write!(f, "{}\n{}\n{root}\n", self.origin, self.size)?;
        self.extensions.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}
