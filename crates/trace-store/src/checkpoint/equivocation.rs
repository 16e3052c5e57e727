//! Proof that one key signed two histories.
//!
//! Two checkpoints of one size with two roots prove it alone. For two sizes the proof shows the root
//! that the *larger* history has at the smaller size: a consistency proof from that root to the
//! larger checkpoint. The larger root fixes all of its history, so no other root at the smaller size
//! can be shown to lead to it; and the smaller checkpoint names another one. Whoever holds the log of
//! the larger checkpoint can make it. Nobody can make one of two checkpoints that do agree, short of
//! a collision in SHA-256.

use serde_json::{Map, Value};
use weaver_types::Digest;

use super::form::{Form, field, hash, hashes, only, pack, text, unpack};
use super::{Checkpoint, CheckpointError, Note, Trust, VerifierKey};
use crate::merkle::{self, Hash};
use crate::verify::Prove;

const FORM: Form = Form { name: "equivocation proof", kind: "weaver-equivocation", version: 1 };

/// Two signed checkpoints that conflict, and what shows it. Making or reading one verifies nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Equivocation {
    /// The smaller checkpoint; of two of one size, either.
    pub first: Note,
    /// The larger checkpoint.
    pub second: Note,
    /// For two sizes: the root that the second history has at the size of the first, and the
    /// consistency proof from there to the second.
    pub prefix: Option<(Digest, Vec<Hash>)>,
}

/// What an equivocation proof proves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The key that signed both.
    pub key: VerifierKey,
    /// The smaller checkpoint.
    pub first: Checkpoint,
    /// The larger checkpoint.
    pub second: Checkpoint,
}

impl Equivocation {
    /// Makes the proof from two checkpoints by `key`. For two sizes, `larger` is the log of the
    /// larger one.
    ///
    /// # Errors
    /// [`CheckpointError::NoConflict`] when they agree, or a log is needed and was not given or is
    /// not that of the larger checkpoint; others when a checkpoint is not by that key, or the log
    /// cannot be read.
    pub fn find(
        key: &VerifierKey,
        one: Note,
        other: Note,
        larger: Option<&dyn Prove>,
    ) -> Result<Self, CheckpointError> {
        let size = |note: &Note| Checkpoint::parse(note.text()).map(|checkpoint| checkpoint.size);
        let (old, new) = (size(&one)?, size(&other)?);
        let (first, second) = if old <= new { (one, other) } else { (other, one) };
        let (old, new) = (old.min(new), old.max(new));
        let prefix = match larger {
            _ if old == new || old == 0 => None,
            None => {
                return Err(CheckpointError::NoConflict(
                    "two checkpoints of two sizes need the log of the larger one",
                ));
            }
            Some(log) => Some((Digest::from_bytes(log.root(old)?), log.consistency(old, new)?)),
        };
        let proof = Self { first, second, prefix };
        proof.verify(key)?;
        Ok(proof)
    }

    /// Verifies it with the public key alone.
    ///
    /// # Errors
    /// [`CheckpointError::NoConflict`] when it proves nothing, others when a checkpoint is not by
    /// that key.
    pub fn verify(&self, key: &VerifierKey) -> Result<Conflict, CheckpointError> {
        let trust = Trust::of(key.clone());
        let first = trust.open(&self.first)?.checkpoint;
        let second = trust.open(&self.second)?.checkpoint;
        let none = |why| Err(CheckpointError::NoConflict(why));
        if first.origin != second.origin {
            return none("the checkpoints are of two logs");
        }
        match &self.prefix {
            None if first.size != second.size => return none("two sizes need a proof"),
            None if first.root == second.root => return none("the checkpoints agree"),
            Some(_) if first.size >= second.size || first.size == 0 => {
                return none("the first checkpoint is not the smaller one");
            }
            Some((root, _)) if *root == first.root => return none("the checkpoints agree"),
            Some((root, path)) => {
                let (old, new) = (first.size, second.size);
                let roots = (root.as_bytes(), second.root.as_bytes());
                if !merkle::verify_consistency(old, new, path, roots.0, roots.1) {
                    return none("the proof does not lead to the larger checkpoint");
                }
            }
            None => {}
        }
        Ok(Conflict { key: key.clone(), first, second })
    }

    /// The canonical JSON.
    ///
    /// # Errors
    /// [`CheckpointError::Form`], which does not happen for what was read or found.
    pub fn to_bytes(&self) -> Result<Vec<u8>, CheckpointError> {
        let prefix = self.prefix.as_ref().map(|(root, path)| {
            let path: Vec<Value> = path.iter().map(|hash| text(hash).into()).collect();
            let mut map = Map::new();
            map.insert("root".to_owned(), text(root.as_bytes()).into());
            map.insert("path".to_owned(), path.into());
            Value::Object(map)
        });
        let (first, second) = (self.first.to_string().into(), self.second.to_string().into());
        match prefix {
            None => pack(&FORM, [("first", first), ("second", second)]),
            Some(prefix) => pack(&FORM, [("first", first), ("second", second), ("prefix", prefix)]),
        }
    }

    /// Reads the canonical JSON.
    ///
    /// # Errors
    /// [`CheckpointError::Form`], [`CheckpointError::Newer`] and [`CheckpointError::Note`].
    pub fn parse(bytes: &[u8]) -> Result<Self, CheckpointError> {
        let map = unpack(&FORM, bytes, &["first", "second", "prefix"])?;
        let prefix = match map.get("prefix") {
            None => None,
            Some(Value::Object(prefix)) => {
                only(&FORM, prefix, &["root", "path"])?;
                let path = hashes(&FORM, prefix.get("path"))?;
                let root = prefix.get("root").and_then(Value::as_str).unwrap_or_default();
                Some((Digest::from_bytes(hash(&FORM, root)?), path))
            }
            Some(_) => return Err(FORM.bad("`prefix` is no object")),
        };
        let value = Value::Object(map);
        let note = |name| Note::parse(field(&FORM, &value, name)?.as_bytes());
        Ok(Self { first: note("first")?, second: note("second")?, prefix })
    }
}
