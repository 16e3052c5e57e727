//! Makes and checks proofs that one key signed two histories.

use std::path::Path;

use serde_json::json;
use weaver_trace_store::checkpoint::{
    Checkpoint, ConflictingCheckpoints, EquivocationProof, VerifierKey,
};
use weaver_trace_store::verify::LogProver;
use weaver_types::LogId;

use super::open_ledger;
use super::proof_args::Prove;
use super::prove::{no_key_failure, write_proof};
use super::trust_files::{self, checkpoint_failure};
use crate::{Exit, Failure, output};

pub(super) fn make(args: &Prove, one: &Path, other: &Path) -> Result<Exit, Failure> {
    let store = args.store.as_deref();
    let failed = |error| checkpoint_failure(store, error);
    let ((one, checkpoint), (other, _)) =
        (trust_files::read_checkpoint(one)?, trust_files::read_checkpoint(other)?);
    let key = log_key(args, &checkpoint.origin)?;
    let log = store.map(open_ledger).transpose()?;
    let log = log.as_ref().map(|log| log as &dyn LogProver);
    let proof = EquivocationProof::find(&key, one, other, log).map_err(failed)?;
    let conflict = proof.verify(&key).map_err(failed)?;
    write_proof(args, proof.to_bytes().map_err(failed)?)?;
    if args.out.is_some() {
        print_conflict(args, &conflict)?;
    }
    Ok(Exit::Ok)
}

pub(super) fn check(args: &Prove, bytes: &[u8]) -> Result<Exit, Failure> {
    let failed = |error| checkpoint_failure(None, error);
    let proof = EquivocationProof::parse(bytes).map_err(failed)?;
    let checkpoint = Checkpoint::parse(proof.first.text()).map_err(failed)?;
    print_conflict(args, &proof.verify(&log_key(args, &checkpoint.origin)?).map_err(failed)?)?;
    Ok(Exit::Ok)
}

fn log_key(args: &Prove, log: &LogId) -> Result<VerifierKey, Failure> {
    Ok(trust_files::trust_policy(&args.believed, log)?.ok_or_else(no_key_failure)?.log)
}

fn print_conflict(args: &Prove, conflict: &ConflictingCheckpoints) -> Result<(), Failure> {
    let ConflictingCheckpoints { key, first, second } = conflict;
    if args.output.json {
        let head = |said: &Checkpoint| json!({ "size": said.size, "root": said.root });
        return Ok(output::json(&json!({
            "ok": true,
            "log": first.origin,
            "key": key.to_string(),
            "first": head(first),
            "second": head(second),
        }))?);
    }
    let good = output::good("proven");
    Ok(output::text(&format!(
        "log     {}\nkey     {key}\nfirst   {} events, root {}\nsecond  {} events, root {}\n\
         {good}: the key signed two histories of this log; no log can have both\n",
        first.origin, first.size, first.root, second.size, second.root
    ))?)
}
