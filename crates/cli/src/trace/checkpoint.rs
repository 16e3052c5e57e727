//! `weaver trace checkpoint`.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::json;
use weaver_gateway::publish::memory;
use weaver_trace_store::Reader;
use weaver_trace_store::checkpoint::{Checkpoint, KeyHistory, Note, Trust, VerifierKey};
use weaver_trace_store::verify::Prove;
use weaver_types::ledger::Head;
use weaver_types::{OsRandom, random_text};

use super::proof_args::Checkpoint as Args;
use super::synced_head;
use super::trust_files::{self, refused};
use crate::shared_args::PassphraseFrom;
use crate::{Exit, Failure, output};

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let (note, checkpoint, key, log) = sign(&args.store, &args.key, &args.passphrase)?;
    if let Some(path) = &args.publish {
        extends(path, &checkpoint, &log, &args.store)?;
        write(path, &note)?;
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

/// Signs what is synced, if the log does not name another key.
pub(super) fn sign(
    store: &Path,
    key: &Path,
    passphrase: &PassphraseFrom,
) -> Result<(Note, Checkpoint, VerifierKey, Reader), Failure> {
    let failed = |error| refused(Some(store), error);
    drop(super::open(store)?);
    let signer = trust_files::signer(key, passphrase)?;
    let (log, head) = synced_head::head(store)?;
    let memory = memory::beside(key, &head.log);
    let checkpoint = remembered(&memory, &log, &head)?;
    let note = checkpoint.sign(&signer).map_err(failed)?;
    let key = VerifierKey::log(&head.log, signer.public()).map_err(failed)?;
    let history = KeyHistory::of(&log).map_err(failed)?;
    Trust::of(key.clone()).open_with(&note, &history).map_err(failed)?;
    memory::replace(&memory, &note.to_string()).map_err(|error| {
        let message = format!("{} cannot be written: {error}", memory.display());
        Failure::new(Exit::Invalid, "trace.unwritable", message)
            .next("what a key signs is noted beside it; keep it in a folder that you may write to")
    })?;
    Ok((note, checkpoint, key, log))
}

/// The checkpoint of `head`, if the log extends what the key signed last, here or in a gateway.
fn remembered(memory: &Path, log: &Reader, head: &Head) -> Result<Checkpoint, Failure> {
    let differs = |what: String| {
        let message = format!("{what}; nothing is signed");
        Failure::new(Exit::Failed, "trace.published_differs", message)
            .next("compare the ledger with the checkpoints that are elsewhere")
    };
    match memory::read(memory).map_err(|error| differs(error.to_string()))? {
        None => Ok(Checkpoint::of(head)),
        Some(before) => Checkpoint::extending(log, head, &before)
            .map_err(|error| differs(format!("{}: {error}", memory.display()))),
    }
}

/// What was published before must be the beginning of this log: a second history is never put in
/// its place.
fn extends(path: &Path, now: &Checkpoint, log: &dyn Prove, store: &Path) -> Result<(), Failure> {
    if !path.exists() {
        return Ok(());
    }
    let (_, before) = trust_files::note(path)?;
    let differs = |what: &str| {
        let message = format!("{}: {what}; nothing was written", path.display());
        Err(Failure::new(Exit::Failed, "trace.published_differs", message)
            .next("keep both: `weaver trace verify --checkpoint` says where they part"))
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

fn write(path: &Path, note: &Note) -> Result<(), Failure> {
    let fresh = random_text(".", 8, &OsRandom)
        .map_err(|error| Failure::new(Exit::Internal, "trace.random", error))?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(fresh);
    let beside = PathBuf::from(beside);
    replace(path, &beside, &note.to_string()).map_err(|error| {
        // What is left of the attempt; what was there before stays.
        let _ = fs::remove_file(&beside);
        let message = format!("{} cannot be written: {error}", path.display());
        Failure::new(Exit::Invalid, "trace.unwritable", message)
            .next("name a file in a folder that you may write to")
    })
}

fn replace(path: &Path, beside: &Path, text: &str) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).open(beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(beside, path)?;
    match path.parent().filter(|_| cfg!(unix)) {
        Some(folder) if folder.as_os_str().is_empty() => File::open(".")?.sync_all(),
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}
