//! `weaver memory resolve`.

use contextweaver::memory::FactStore;
use serde_json::json;
use weaver_text::escape;

use super::args::Resolve;
use super::output;
use super::store::{memory_failure, open_existing};
use crate::{Exit, Failure};

pub(super) fn run(args: &Resolve) -> Result<Exit, Failure> {
    let facts = FactStore::new(&open_existing(&args.place)?);
    facts.resolve(&args.key, args.claim, &args.why).map_err(|error| memory_failure(&error))?;
    if args.output.json {
        output::json(&json!({ "ok": true, "key": args.key, "claim": args.claim }))?;
    } else {
        output::line(&format!("claim {} of {} stands", args.claim, escape::line(&args.key)))?;
    }
    Ok(Exit::Ok)
}
