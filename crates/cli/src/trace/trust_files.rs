//! Reads keys and checkpoints from files.

use std::path::Path;

use serde_json::json;
use weaver_gateway::bounded_file;
use weaver_gateway::secret::KeyFile;
use weaver_text::escape;
use weaver_trace_store::checkpoint::{
    Checkpoint, CheckpointError, MAX_NOTE_BYTES, SignedNote, TrustPolicy, VerifiedCheckpoint,
    VerifierKey,
};
use weaver_types::LogId;

use super::proof_args::TrustArgs;
use crate::{Exit, Failure};

/// The largest file with a key, in bytes.
const MAX_KEY_BYTES: usize = 16 * 1024;

/// Reads a checkpoint from a file. Nothing is verified yet.
pub(super) fn read_checkpoint(path: &Path) -> Result<(SignedNote, Checkpoint), Failure> {
    let unreadable = |code, message: String| {
        Failure::new(Exit::Invalid, code, format!("{}: {message}", path.display()))
            .with_next_step("give a file with a checkpoint, as `weaver trace checkpoint` prints it")
    };
    let bytes = bounded_file::read_bytes(path, MAX_NOTE_BYTES)
        .map_err(|error| unreadable("trace.checkpoint_unreadable", error.to_string()))?;
    let read = SignedNote::parse(&bytes).and_then(|note| {
        let checkpoint = Checkpoint::parse(note.text())?;
        Ok((note, checkpoint))
    });
    read.map_err(|error| unreadable(error.code(), error.to_string()))
}

/// The trust policy for `log`; `None` without a key.
pub(super) fn trust_policy(given: &TrustArgs, log: &LogId) -> Result<Option<TrustPolicy>, Failure> {
    let Some(key) = &given.key else { return Ok(None) };
    let witnesses: Vec<VerifierKey> = given
        .witness
        .iter()
        .map(|text| parse_verifier_key(text, None))
        .collect::<Result<_, _>>()?;
    let quorum = given.quorum.unwrap_or(witnesses.len());
    if quorum > witnesses.len() {
        let message = format!("{quorum} of {} witnesses can never sign", witnesses.len());
        return Err(Failure::new(Exit::Usage, "trace.quorum", message)
            .with_next_step("name more witnesses, or lower --quorum"));
    }
    let log = parse_verifier_key(key, Some(log))?;
    Ok(Some(TrustPolicy { log, until: given.until, witnesses, quorum }))
}

/// A verifier key, given as text or as a file. From a key file, its verifier key for `log`.
fn parse_verifier_key(text: &str, log: Option<&LogId>) -> Result<VerifierKey, Failure> {
    if let Ok(key) = text.parse() {
        return Ok(key);
    }
    let shown = escape::excerpt(text, 160);
    let refused = |code, error: &dyn std::fmt::Display| {
        Failure::new(Exit::Invalid, code, format!("{shown}: {error}")).with_next_step(
            "give a verifier key (name+id+base64, as `weaver trace key show` prints it) or a file \
             with one",
        )
    };
    let bytes = bounded_file::read_bytes(Path::new(text), MAX_KEY_BYTES)
        .map_err(|error| refused("trace.key_unreadable", &error))?;
    match log {
        Some(log) if bytes.first() == Some(&b'{') => {
            let file = KeyFile::parse(&bytes)?;
            VerifierKey::log(log, *file.public()).map_err(|error| refused(error.code(), &error))
        }
        _ => {
            let text = String::from_utf8_lossy(&bytes);
            text.trim().parse().map_err(|error: CheckpointError| refused(error.code(), &error))
        }
    }
}

/// Turns a rejected checkpoint or proof into a failure.
pub(super) fn checkpoint_failure(store: Option<&Path>, error: CheckpointError) -> Failure {
    let exit = match &error {
        CheckpointError::Ledger(inner) => {
            return Failure::store(store.unwrap_or(Path::new("the ledger")), inner);
        }
        CheckpointError::Note(_)
        | CheckpointError::Body(_)
        | CheckpointError::Key(_)
        | CheckpointError::Form { .. }
        | CheckpointError::Newer { .. } => Exit::Invalid,
        CheckpointError::Signing(_) => Exit::Internal,
        _ => Exit::Failed,
    };
    let next = next_step(&error);
    let failure = Failure::new(exit, error.code(), error);
    match next {
        Some(next) => failure.with_next_step(next),
        None => failure,
    }
}

fn next_step(error: &CheckpointError) -> Option<&'static str> {
    Some(match error {
        CheckpointError::Untrusted { .. } | CheckpointError::KeyEnded { .. } => {
            "`weaver trace key show` says which key the log names; believe one only from elsewhere"
        }
        CheckpointError::Signature { .. } | CheckpointError::Event { .. } => {
            "take it as proof of nothing, and ask for the original"
        }
        CheckpointError::Witnesses { .. } => {
            "have the witnesses sign the checkpoint, or say how many are enough with --quorum"
        }
        CheckpointError::Inconsistent(_) => {
            "give the ledger of which the checkpoint was taken; if this is it, keep both: `weaver \
             trace verify` says where they part"
        }
        CheckpointError::KeyEvent { .. } => "`weaver trace key show` says which key is in force",
        CheckpointError::NoConflict(_) => {
            "--store names the log of the larger checkpoint; two checkpoints of one history prove \
             nothing against anybody"
        }
        _ => return None,
    })
}

/// The witnesses that signed, as JSON.
pub(super) fn witnesses(verified: &VerifiedCheckpoint) -> serde_json::Value {
    let witnesses = verified.witnesses.iter();
    witnesses.map(|seen| json!({ "key": seen.key.to_string(), "at": seen.at })).collect()
}
