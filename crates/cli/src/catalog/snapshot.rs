//! `weaver catalog snapshot`.

use contextweaver::catalog::Snapshot as Taken;
use serde_json::json;

use super::args::Snapshot;
use super::{Exit, Failure, output, source};

pub(super) fn run(args: &Snapshot) -> Result<Exit, Failure> {
    let catalog = source::load_catalog(&args.file, &args.input)?;
    let failed = |error| source::catalog_failure(&args.file, &error);
    let taken = Taken::from_catalog(&catalog).map_err(failed)?;
    let mut bytes = taken.to_bytes().map_err(failed)?;
    bytes.push(b'\n');
    let Some(out) = &args.out else {
        // The snapshot is JSON and contains its digest.
        output::text(&String::from_utf8_lossy(&bytes))?;
        return Ok(Exit::Ok);
    };
    args.replace.write(out, &String::from_utf8_lossy(&bytes), "catalog.unwritable")?;
    let (digest, items) = (taken.digest().to_string(), taken.len());
    if args.output.json {
        let file = out.display().to_string();
        output::json(&json!({ "ok": true, "digest": digest, "items": items, "file": file }))?;
    } else {
        output::line(&format!("{digest}  {items} items, in {}", out.display()))?;
    }
    Ok(Exit::Ok)
}
