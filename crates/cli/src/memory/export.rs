//! `weaver memory export`.

use contextweaver::memory::EntryKind;
use serde_json::json;

use super::args::Export;
use super::kind::{following, page};
use super::output;
use super::store::{existing, failed};
use crate::{Exit, Failure};

/// How many entries are read at once.
const PAGE: usize = 500;

pub(super) fn run(args: &Export) -> Result<Exit, Failure> {
    let memory = existing(&args.place)?;
    let mut at = Some((args.kind.unwrap_or(EntryKind::Value), None));
    while let Some(from) = at.take() {
        let (found, next) = page(&memory, &from, PAGE).map_err(|error| failed(&error))?;
        for mut entry in found {
            if let Some(entry) = entry.as_object_mut() {
                entry.insert("v".to_owned(), json!(1));
            }
            output::json(&entry)?;
        }
        at = match next {
            Some(key) => Some((from.0, Some(key))),
            None => following(from.0, args.kind).map(|kind| (kind, None)),
        };
    }
    Ok(Exit::Ok)
}
