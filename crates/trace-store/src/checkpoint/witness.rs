//! Witnesses: cosignatures as C2SP `tlog-cosignature` has them (version 1, Ed25519), and a witness
//! for tests and small setups.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use weaver_types::{Digest, Timestamp};

use super::form::{Form, field, hash, pack, text, unpack};
use super::key::{KeyUse, Signer, VerifierKey};
use super::{Checkpoint, CheckpointError, Note, Trust};
use crate::merkle::{self, Hash};

const STATE: Form = Form { name: "witness state", kind: "weaver-witness", version: 1 };

/// A trusted witness that signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cosignature {
    /// The witness.
    pub key: VerifierKey,
    /// When, in seconds since 1970.
    pub at: u64,
}

/// What a witness signs.
fn message(at: u64, body: &str) -> String {
    format!("cosignature/v1\ntime {at}\n{body}")
}

/// The trusted witnesses that signed. Each key counts once.
pub(super) fn count(
    note: &Note,
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

/// Adds a cosignature, without looking at what it says. [`Witness::cosign`] looks.
///
/// # Errors
/// [`CheckpointError`], when the name is none, the time lies before 1970, or the signer fails.
pub fn cosign(
    note: Note,
    name: &str,
    signer: &dyn Signer,
    at: Timestamp,
) -> Result<Note, CheckpointError> {
    let key = VerifierKey::new(name, KeyUse::Witness, signer.public())?;
    let at = u64::try_from(at.micros().div_euclid(1_000_000))
        .map_err(|_| CheckpointError::Inconsistent("its clock stands before 1970"))?;
    let signature = signer.sign_text(&message(at, note.text()))?;
    let bytes = [at.to_be_bytes().as_slice(), &signature].concat();
    Ok(note.with(key.signature(bytes)))
}

/// A witness with its memory in a file: the greatest size and the root it has signed of each log.
///
/// The file is written and synced before anything is signed. It is locked while the witness lives,
/// so that two of them never sign from one memory.
#[derive(Debug)]
pub struct Witness {
    path: PathBuf,
    seen: BTreeMap<String, (u64, Digest)>,
    _lock: File,
}

impl Witness {
    /// Opens the memory at `path`, and makes an empty one when there is none.
    ///
    /// # Errors
    /// [`CheckpointError::File`], [`CheckpointError::Form`] and [`CheckpointError::Newer`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CheckpointError> {
        let path = path.as_ref().to_owned();
        let place = beside(&path, ".lock");
        let lock = File::options().create(true).truncate(false).write(true).open(&place);
        let lock = lock.map_err(|error| file(&place, &error))?;
        if lock.try_lock().is_err() {
            return Err(CheckpointError::File(format!("{} is in use", path.display())));
        }
        let seen = match fs::read(&path) {
            Ok(bytes) => read(&bytes)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(file(&path, &error)),
        };
        Ok(Self { path, seen, _lock: lock })
    }

    /// The size and root it has signed last of a log.
    #[must_use]
    pub fn seen(&self, origin: &str) -> Option<(u64, Digest)> {
        self.seen.get(origin).copied()
    }

    /// Signs a checkpoint that `trust` accepts and that extends what was signed before. `consistency`
    /// is the proof from the size seen to the new one; it is empty for the first checkpoint of a log
    /// and for one of the same size.
    ///
    /// # Errors
    /// [`CheckpointError::Inconsistent`] for a checkpoint that is shorter, differs, or is not shown
    /// to extend; others when the checkpoint is not trusted, or the memory cannot be written.
    pub fn cosign(
        &mut self,
        note: &Note,
        consistency: &[Hash],
        trust: &Trust,
        name: &str,
        signer: &dyn Signer,
        at: Timestamp,
    ) -> Result<Note, CheckpointError> {
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
            (origin.clone(), json!({ "size": size, "root": text(root.as_bytes()) }))
        });
        let bytes = pack(&STATE, [("logs", Value::Object(logs.collect::<Map<_, _>>()))])?;
        let fresh = beside(&self.path, ".new");
        let written = File::create(&fresh)
            .and_then(|mut file| file.write_all(&bytes).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&fresh, &self.path));
        written.map_err(|error| file(&self.path, &error))?;
        if let Some(folder) = self.path.parent().filter(|_| cfg!(unix)) {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            let synced = File::open(folder).and_then(|folder| folder.sync_all());
            synced.map_err(|error| file(folder, &error))?;
        }
        Ok(())
    }
}

fn read(bytes: &[u8]) -> Result<BTreeMap<String, (u64, Digest)>, CheckpointError> {
    let map = unpack(&STATE, bytes, &["logs"])?;
    let Some(Value::Object(logs)) = map.get("logs") else {
        return Err(STATE.bad("`logs` is no object"));
    };
    logs.iter()
        .map(|(origin, value)| {
            let size = value.get("size").and_then(Value::as_u64);
            let size = size.ok_or_else(|| STATE.bad("a log has no size"))?;
            let root = hash(&STATE, field(&STATE, value, "root")?)?;
            Ok((origin.clone(), (size, Digest::from_bytes(root))))
        })
        .collect()
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn file(path: &Path, error: &std::io::Error) -> CheckpointError {
    CheckpointError::File(format!("{}: {error}", path.display()))
}
