//! Proof that one key signed two histories.
//!
//! Two checkpoints of the same size with different roots are a proof by themselves. For two sizes,
//! the proof contains the root that the *larger* history has at the smaller size, and a consistency
//! proof from that root to the larger checkpoint. The larger root determines its whole history, so
//! no other root at the smaller size can have such a proof; yet the smaller checkpoint names
//! another one. Whoever has the log of the larger checkpoint can make the proof. For two
//! checkpoints that agree nobody can make one, short of a SHA-256 collision.

use serde_json::{Map, Value};
use weaver_types::Digest;

use super::proof_format::{
    ProofFormat, decode_proof, encode_proof, parse_hash, parse_hashes, refuse_unknown_fields,
    text_field, to_base64,
};
use super::{Checkpoint, CheckpointError, SignedNote, TrustPolicy, VerifierKey};
use crate::merkle::{self, Hash};
use crate::verify::LogProver;

const EQUIVOCATION_FORMAT: ProofFormat =
    ProofFormat { name: "equivocation proof", kind: "weaver-equivocation", version: 1 };

/// Two signed checkpoints that conflict, with the proof. Making or parsing one verifies nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EquivocationProof {
    /// The smaller checkpoint; with equal sizes, either one.
    pub first: SignedNote,
    /// The larger checkpoint.
    pub second: SignedNote,
    /// For different sizes: the root that the second history has at the size of the first, and the
    /// consistency proof from there to the second.
    pub prefix: Option<(Digest, Vec<Hash>)>,
}

/// The conflict that an equivocation proof has established.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictingCheckpoints {
    /// The key that signed both.
    pub key: VerifierKey,
    /// The smaller checkpoint.
    pub first: Checkpoint,
    /// The larger checkpoint.
    pub second: Checkpoint,
}

impl EquivocationProof {
    /// Makes the proof from two checkpoints signed by `key`. For different sizes, `larger` is the
    /// log of the larger checkpoint.
    ///
    /// # Errors
    /// [`CheckpointError::NoConflict`] when they agree, or when the log is needed but missing or
    /// not that of the larger checkpoint; other errors when a checkpoint is not signed by that key,
    /// or the log cannot be read.
    pub fn find(
        key: &VerifierKey,
        one: SignedNote,
        other: SignedNote,
        larger: Option<&dyn LogProver>,
    ) -> Result<Self, CheckpointError> {
        let size =
            |note: &SignedNote| Checkpoint::parse(note.text()).map(|checkpoint| checkpoint.size);
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

    /// Verifies the proof with nothing but the public key.
    ///
    /// # Errors
    /// [`CheckpointError::NoConflict`] when it proves nothing; other errors when a checkpoint is
    /// not signed by that key.
    pub fn verify(&self, key: &VerifierKey) -> Result<ConflictingCheckpoints, CheckpointError> {
        let trust = TrustPolicy::new(key.clone());
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
        Ok(ConflictingCheckpoints { key: key.clone(), first, second })
    }

    /// The proof as canonical JSON.
    ///
    /// # Errors
    /// [`CheckpointError::Form`], which cannot happen for a proof that was parsed or made here.
    pub fn to_bytes(&self) -> Result<Vec<u8>, CheckpointError> {
        let prefix = self.prefix.as_ref().map(|(root, path)| {
            let path: Vec<Value> = path.iter().map(|hash| to_base64(hash).into()).collect();
            let mut map = Map::new();
            map.insert("root".to_owned(), to_base64(root.as_bytes()).into());
            map.insert("path".to_owned(), path.into());
            Value::Object(map)
        });
        let (first, second) = (self.first.to_string().into(), self.second.to_string().into());
        match prefix {
            None => encode_proof(&EQUIVOCATION_FORMAT, [("first", first), ("second", second)]),
            Some(prefix) => encode_proof(
                &EQUIVOCATION_FORMAT,
                [("first", first), ("second", second), ("prefix", prefix)],
            ),
        }
    }

    /// Parses the canonical JSON.
    ///
    /// # Errors
    /// [`CheckpointError::Form`], [`CheckpointError::Newer`] and [`CheckpointError::Note`].
    pub fn parse(bytes: &[u8]) -> Result<Self, CheckpointError> {
        let map = decode_proof(&EQUIVOCATION_FORMAT, bytes, &["first", "second", "prefix"])?;
        let prefix = match map.get("prefix") {
            None => None,
            Some(Value::Object(prefix)) => {
                refuse_unknown_fields(&EQUIVOCATION_FORMAT, prefix, &["root", "path"])?;
                let path = parse_hashes(&EQUIVOCATION_FORMAT, prefix.get("path"))?;
                let root = prefix.get("root").and_then(Value::as_str).unwrap_or_default();
                Some((Digest::from_bytes(parse_hash(&EQUIVOCATION_FORMAT, root)?), path))
            }
            Some(_) => return Err(EQUIVOCATION_FORMAT.malformed("`prefix` is not an object")),
        };
        let value = Value::Object(map);
        let note =
            |name| SignedNote::parse(text_field(&EQUIVOCATION_FORMAT, &value, name)?.as_bytes());
        Ok(Self { first: note("first")?, second: note("second")?, prefix })
    }
}
