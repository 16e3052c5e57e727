//! `weaver trace checkpoint`.

use std::path::Path;

use serde_json::json;
use weaver_gateway::clients::replace_public_file;
use weaver_gateway::publish::checkpoint_file;
use weaver_gateway::secret::KeyFile;
use weaver_trace_store::Reader;
use weaver_trace_store::checkpoint::{
    Checkpoint, KeyHistory, SignedNote, TrustPolicy, VerifierKey,
};
use weaver_trace_store::verify::LogProver;
use weaver_types::ledger::TreeHead;

use super::proof_args::Checkpoint as Args;
use super::synced_head;
use super::trust_files::{self, checkpoint_failure};
use crate::shared_args::PassphraseArgs;
use crate::{Exit, Failure, output};

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let (note, checkpoint, key, log) = sign(&args.ledger.store, &args.key, &args.passphrase)?;
    if let Some(path) = &args.publish {
        check_extends(path, &checkpoint, &log, &args.ledger.store)?;
        write_note(path, &note)?;
    }
    if args.output.json {
        output::json(&json!({
            "log": checkpoint.origin,
            "size": checkpoint.size,
            "root": checkpoint.root,
            "key": key.to_string(),
            "checkpoint": note.to_string(),
            "published": args.publish.as_ref().map(|path| path.display().to_string()),
        }))?;
    } else if let Some(path) = &args.publish {
        let (good, size) = (output::good("signed"), checkpoint.size);
        output::line(&format!("{good} {size} events → {}", path.display()))?;
    } else {
        output::text(&note.to_string())?;
    }
    Ok(Exit::Ok)
}

/// Signs the head that is synced to disk, unless the log names another key.
pub(super) fn sign(
    store: &Path,
    key: &Path,
    passphrase: &PassphraseArgs,
) -> Result<(SignedNote, Checkpoint, VerifierKey, Reader), Failure> {
    let failed = |error| checkpoint_failure(Some(store), error);
    drop(super::open_ledger(store)?);
    let signer = passphrase.unlock(key, &KeyFile::read(key)?)?;
    let (log, head) = synced_head::synced_head(store)?;
    let signed_path = checkpoint_file::signed_checkpoint_path(key, &head.log);
    let checkpoint = next_checkpoint(&signed_path, &log, &head)?;
    let note = checkpoint.sign(&signer).map_err(failed)?;
    let key = VerifierKey::log(&head.log, signer.public()).map_err(failed)?;
    let history = KeyHistory::from_log(&log).map_err(failed)?;
    TrustPolicy::new(key.clone()).open_with(&note, &history).map_err(failed)?;
    replace_public_file(&signed_path, &note.to_string()).map_err(|error| {
        let message = format!("{} cannot be written: {error}", signed_path.display());
        Failure::new(Exit::Invalid, "trace.unwritable", message).with_next_step(
            "what a key signs is noted beside it; keep it in a folder that you may write to",
        )
    })?;
    Ok((note, checkpoint, key, log))
}

/// The checkpoint of `head`, if the log extends what this key signed last, here or in a gateway.
fn next_checkpoint(
    signed_path: &Path,
    log: &Reader,
    head: &TreeHead,
) -> Result<Checkpoint, Failure> {
    let differs = |what: String| {
        let message = format!("{what}; nothing is signed");
        Failure::new(Exit::Failed, "trace.published_differs", message)
            .with_next_step("compare the ledger with the checkpoints that are elsewhere")
    };
    match checkpoint_file::read(signed_path).map_err(|error| differs(error.to_string()))? {
        None => Ok(Checkpoint::from_head(head)),
        Some(before) => Checkpoint::extending(log, head, &before)
            .map_err(|error| differs(format!("{}: {error}", signed_path.display()))),
    }
}

/// Checks that this log extends the published checkpoint, so that a second history never replaces
/// it.
fn check_extends(
    path: &Path,
    now: &Checkpoint,
    log: &dyn LogProver,
    store: &Path,
) -> Result<(), Failure> {
    if !path.exists() {
        return Ok(());
    }
    let (_, before) = trust_files::read_checkpoint(path)?;
    let differs = |what: &str| {
        let message = format!("{}: {what}; nothing was written", path.display());
        Err(Failure::new(Exit::Failed, "trace.published_differs", message)
            .with_next_step("keep both: `weaver trace verify --checkpoint` says where they part"))
    };
    if before.origin != now.origin {
        return differs("the checkpoint there is of another log");
    }
    if before.size > now.size {
        return differs(
            "the checkpoint there has more events than this log: it was cut or restored",
        );
    }
    let root = log.root(before.size).map_err(|error| Failure::store(store, &error))?;
    if root != *before.root.as_bytes() {
        return differs("the checkpoint there is of another history of this log");
    }
    Ok(())
}

fn write_note(path: &Path, note: &SignedNote) -> Result<(), Failure> {
    replace_public_file(path, &note.to_string()).map_err(|error| {
        let message = format!("{} cannot be written: {error}", path.display());
        Failure::new(Exit::Invalid, "trace.unwritable", message)
            .with_next_step("name a file in a folder that you may write to")
    })
}
