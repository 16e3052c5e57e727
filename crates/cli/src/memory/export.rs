//! `weaver memory export`.

use contextweaver::memory::EntryKind;
use serde_json::json;

use super::args::Export;
use super::output;
use super::paging::{next_kind, read_page};
use super::store::{memory_failure, open_existing};
use crate::{Exit, Failure};

/// How many entries are read at a time.
const PAGE_SIZE: usize = 500;

pub(super) fn run(args: &Export) -> Result<Exit, Failure> {
    let memory = open_existing(&args.place)?;
    let mut next_cursor = Some((args.kind.unwrap_or(EntryKind::Value), None));
    while let Some(cursor) = next_cursor.take() {
        let (found, next) =
            read_page(&memory, &cursor, PAGE_SIZE).map_err(|error| memory_failure(&error))?;
        for mut entry in found {
            if let Some(entry) = entry.as_object_mut() {
                entry.insert("v".to_owned(), json!(1));
            }
            output::json(&entry)?;
        }
        next_cursor = match next {
            Some(key) => Some((cursor.0, Some(key))),
            None => next_kind(cursor.0, args.kind).map(|kind| (kind, None)),
        };
    }
    Ok(Exit::Ok)
}
