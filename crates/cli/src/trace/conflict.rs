//! Proofs that one key signed two histories.

use std::path::Path;

use serde_json::json;
use weaver_trace_store::checkpoint::{Checkpoint, Conflict, Equivocation, VerifierKey};
use weaver_trace_store::verify::Prove as Proves;
use weaver_types::LogId;

use super::open;
use super::proof_args::Prove;
use super::prove::{no_key, write};
use super::trust_files::{self, refused};
use crate::{Exit, Failure, output};

pub(super) fn make(args: &Prove, one: &Path, other: &Path) -> Result<Exit, Failure> {
    let store = args.store.as_deref();
    let failed = |error| refused(store, error);
    let ((one, said), (other, _)) = (trust_files::note(one)?, trust_files::note(other)?);
    let key = key(args, &said.origin)?;
    let log = store.map(open).transpose()?;
    let log = log.as_ref().map(|log| log as &dyn Proves);
    let proof = Equivocation::find(&key, one, other, log).map_err(failed)?;
    let conflict = proof.verify(&key).map_err(failed)?;
    write(args, proof.to_bytes().map_err(failed)?)?;
    if args.out.is_some() {
        report(args, &conflict)?;
    }
    Ok(Exit::Ok)
}

pub(super) fn check(args: &Prove, bytes: &[u8]) -> Result<Exit, Failure> {
    let failed = |error| refused(None, error);
    let proof = Equivocation::parse(bytes).map_err(failed)?;
    let said = Checkpoint::parse(proof.first.text()).map_err(failed)?;
    report(args, &proof.verify(&key(args, &said.origin)?).map_err(failed)?)?;
    Ok(Exit::Ok)
}

fn key(args: &Prove, log: &LogId) -> Result<VerifierKey, Failure> {
    Ok(trust_files::trust(&args.believed, log)?.ok_or_else(no_key)?.log)
}

fn report(args: &Prove, conflict: &Conflict) -> Result<(), Failure> {
    let Conflict { key, first, second } = conflict;
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
