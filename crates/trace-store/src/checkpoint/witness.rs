//! Witnesses: cosignatures as C2SP `tlog-cosignature` defines them (version 1, Ed25519), and a
//! simple witness for tests and small setups.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use weaver_types::{Digest, Timestamp};

use super::key::{KeyUse, Signer, VerifierKey};
use super::proof_format::{
    ProofFormat, decode_proof, encode_proof, parse_hash, text_field, to_base64,
};
use super::{Checkpoint, CheckpointError, SignedNote, TrustPolicy};
use crate::merkle::{self, Hash};

const STATE_FORMAT: ProofFormat =
    ProofFormat { name: "witness state", kind: "weaver-witness", version: 1 };

/// The signature of a trusted witness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cosignature {
    /// The witness.
    pub key: VerifierKey,
    /// The time of signing, in seconds since 1970.
    pub at: u64,
}

/// The message that a witness signs.
fn message(at: u64, body: &str) -> String {
    format!("cosignature/v1\ntime {at}\n{body}")
}

/// The valid signatures of trusted witnesses, one per key.
pub(super) fn verified_cosignatures(
    note: &SignedNote,
    trusted: &[VerifierKey],
) -> Result<Vec<Cosignature>, CheckpointError> {
    let mut out: Vec<Cosignature> = Vec::new();
    for key in trusted.iter().filter(|key| key.usage() == KeyUse::Witness) {
        let Some(signature) = note.signatures().iter().find(|s| key.made(s)) else { continue };
        if out.iter().any(|seen| seen.key.public() == key.public()) {
            continue;
        }
        let bad = || CheckpointError::Signature { name: key.name().to_owned() };
        let (at, rest) = signature.bytes.split_first_chunk::<8>().ok_or_else(bad)?;
        let at = u64::from_be_bytes(*at);
        let rest = <&[u8; 64]>::try_from(rest).map_err(|_| bad())?;
        if at > i64::MAX.unsigned_abs()
            || key.public().verify_text(&message(at, note.text()), rest).is_err()
        {
            return Err(bad());
        }
        out.push(Cosignature { key: key.clone(), at });
    }
    Ok(out)
}

/// Adds a cosignature without checking the note; [`Witness::cosign`] checks first.
///
/// # Errors
/// [`CheckpointError`], when the name is invalid, the time lies before 1970, or the signer fails.
pub fn cosign(
    note: SignedNote,
    name: &str,
    signer: &dyn Signer,
    at: Timestamp,
) -> Result<SignedNote, CheckpointError> {
    let key = VerifierKey::new(name, KeyUse::Witness, signer.public())?;
    let at = u64::try_from(at.micros().div_euclid(1_000_000))
        .map_err(|_| CheckpointError::Inconsistent("its clock stands before 1970"))?;
    let signature = signer.sign_text(&message(at, note.text()))?;
    let bytes = [at.to_be_bytes().as_slice(), &signature].concat();
    Ok(note.with(key.signature(bytes)))
}

/// A witness whose state is a file: for each log, the largest size and the root it has signed.
///
/// The file is written and synced before anything is signed, so a crash never makes the witness
/// forget a signature. It is locked while the witness is open, so that two of them never sign from
/// the same state.
#[derive(Debug)]
pub struct Witness {
    path: PathBuf,
    seen: BTreeMap<String, (u64, Digest)>,
    _lock: File,
}

impl Witness {
    /// Opens the state at `path`, or creates an empty one.
    ///
    /// # Errors
    /// [`CheckpointError::File`], [`CheckpointError::Form`] and [`CheckpointError::Newer`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CheckpointError> {
        let path = path.as_ref().to_owned();
        let place = sibling_path(&path, ".lock");
        let lock = File::options().create(true).truncate(false).write(true).open(&place);
        let lock = lock.map_err(|error| file_error(&place, &error))?;
        if lock.try_lock().is_err() {
            return Err(CheckpointError::File(format!("{} is in use", path.display())));
        }
        let seen = match fs::read(&path) {
            Ok(bytes) => parse_state(&bytes)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(file_error(&path, &error)),
        };
        Ok(Self { path, seen, _lock: lock })
    }

    /// The size and root that it signed last for a log.
    #[must_use]
    pub fn seen(&self, origin: &str) -> Option<(u64, Digest)> {
        self.seen.get(origin).copied()
    }

    /// Signs a checkpoint that `trust` accepts and that extends the last one signed. `consistency`
    /// is the proof from that size to the new one; it is empty for the first checkpoint of a log
    /// and for one of the same size.
    ///
    /// # Errors
    /// [`CheckpointError::Inconsistent`] for a checkpoint that is smaller, differs, or is not
    /// proven to extend the last one; other errors when it is not trusted, or the state cannot be
    /// written.
    pub fn cosign(
        &mut self,
        note: &SignedNote,
        consistency: &[Hash],
        trust: &TrustPolicy,
        name: &str,
        signer: &dyn Signer,
        at: Timestamp,
    ) -> Result<SignedNote, CheckpointError> {
        let Checkpoint { origin, size, root, .. } = trust.open(note)?.checkpoint;
        let refuse = |why| Err(CheckpointError::Inconsistent(why));
        if let Some((seen, before)) = self.seen(origin.as_str()) {
            if size < seen {
                return refuse("the checkpoint is smaller than one signed before");
            }
            let (before, root) = (before.as_bytes(), root.as_bytes());
            if !merkle::verify_consistency(seen, size, consistency, before, root) {
                return refuse("the checkpoint is not shown to extend the one signed before");
            }
        } else if !consistency.is_empty() {
            return refuse("there is a proof, but no checkpoint was signed before");
        }
        let before = self.seen.insert(origin.as_str().to_owned(), (size, root));
        if let Err(error) = self.save() {
            match before {
                Some(before) => self.seen.insert(origin.as_str().to_owned(), before),
                None => self.seen.remove(origin.as_str()),
            };
            return Err(error);
        }
        cosign(note.clone(), name, signer, at)
    }

    fn save(&self) -> Result<(), CheckpointError> {
        let logs = self.seen.iter().map(|(origin, (size, root))| {
            (origin.clone(), json!({ "size": size, "root": to_base64(root.as_bytes()) }))
        });
        let bytes =
            encode_proof(&STATE_FORMAT, [("logs", Value::Object(logs.collect::<Map<_, _>>()))])?;
        let fresh = sibling_path(&self.path, ".new");
        let written = File::create(&fresh)
            .and_then(|mut file| file.write_all(&bytes).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&fresh, &self.path));
        written.map_err(|error| file_error(&self.path, &error))?;
        if let Some(folder) = self.path.parent().filter(|_| cfg!(unix)) {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            let synced = File::open(folder).and_then(|folder| folder.sync_all());
            synced.map_err(|error| file_error(folder, &error))?;
        }
        Ok(())
    }
}

fn parse_state(bytes: &[u8]) -> Result<BTreeMap<String, (u64, Digest)>, CheckpointError> {
    let map = decode_proof(&STATE_FORMAT, bytes, &["logs"])?;
    let Some(Value::Object(logs)) = map.get("logs") else {
        return Err(STATE_FORMAT.malformed("`logs` is not an object"));
    };
    logs.iter()
        .map(|(origin, value)| {
            let size = value.get("size").and_then(Value::as_u64);
            let size = size.ok_or_else(|| STATE_FORMAT.malformed("a log has no size"))?;
            let root = parse_hash(&STATE_FORMAT, text_field(&STATE_FORMAT, value, "root")?)?;
            Ok((origin.clone(), (size, Digest::from_bytes(root))))
        })
        .collect()
}

fn sibling_path(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn file_error(path: &Path, error: &std::io::Error) -> CheckpointError {
    CheckpointError::File(format!("{}: {error}", path.display()))
}
