//! `weaver trace prove`.

use std::path::Path;

use serde_json::Value;
use weaver_gateway::bounded_file;
use weaver_trace_store::checkpoint::MAX_PROOF_BYTES;

use super::proof_args::Prove;
use super::{conflict, export, receipt};
use crate::{Exit, Failure, output};

pub(super) fn run(args: &Prove) -> Result<Exit, Failure> {
    match (&args.id, &args.check, args.conflict.as_deref()) {
        (Some(id), ..) => receipt::make(args, id),
        (None, Some(path), _) => check_proof(args, path),
        (None, None, Some([one, other])) => conflict::make(args, one, other),
        _ => Err(Failure::new(Exit::Usage, "trace.prove", "nothing is said to be proven")
            .with_next_step("`weaver trace prove --help` shows examples")),
    }
}

/// Checks a proof of the kind that the file names.
fn check_proof(args: &Prove, path: &Path) -> Result<Exit, Failure> {
    let bytes = bounded_file::read_bytes(path, MAX_PROOF_BYTES + 1).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        Failure::new(Exit::Invalid, "trace.proof_unreadable", message)
            .with_next_step("give a file that `weaver trace prove` made")
    })?;
    let kind = serde_json::from_slice::<Value>(&bytes).ok();
    let kind = kind.as_ref().and_then(|value| value.get("kind")).and_then(Value::as_str);
    if kind == Some("weaver-equivocation") {
        conflict::check(args, &bytes)
    } else {
        receipt::check(args, &bytes)
    }
}

/// Writes a proof to its file, or to standard output.
pub(super) fn write_proof(args: &Prove, mut bytes: Vec<u8>) -> Result<(), Failure> {
    bytes.push(b'\n');
    match &args.out {
        Some(path) => export::write_new(path, &bytes),
        None => Ok(output::text(&String::from_utf8_lossy(&bytes))?),
    }
}

pub(super) fn no_key_failure() -> Failure {
    Failure::new(Exit::Usage, "trace.no_key", "nobody is said to be believed")
        .with_next_step("give --key: a verifier key, or the key file that is to sign")
}
