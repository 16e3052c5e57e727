//! `weaver memory list`.

use contextweaver::memory::EntryKind;
use serde_json::{Value, json};

use super::args::List;
use super::paging::{ListCursor, next_kind, parse_cursor, read_page};
use super::store::{memory_failure, open_existing};
use super::{output, report};
use crate::{Exit, Failure};

pub(super) fn run(args: &List) -> Result<Exit, Failure> {
    let start = start_cursor(args)?;
    let memory = open_existing(&args.place)?;
    let limit = usize::from(args.limit);
    let mut entries: Vec<Value> = Vec::new();
    let mut next_cursor = Some(start);
    while let Some(cursor) = next_cursor.take() {
        if entries.len() == limit {
            next_cursor = Some(cursor);
            break;
        }
        let (found, next) = read_page(&memory, &cursor, limit - entries.len())
            .map_err(|error| memory_failure(&error))?;
        entries.extend(found);
        next_cursor = match next {
            Some(key) => Some((cursor.0, Some(key))),
            None => next_kind(cursor.0, args.kind).map(|kind| (kind, None)),
        };
    }
    let next =
        next_cursor.map(|(kind, key)| format!("{}/{}", kind.as_str(), key.unwrap_or_default()));
    if args.output.json {
        output::json(&json!({ "ok": true, "entries": entries, "next": next }))?;
        return Ok(Exit::Ok);
    }
    let mut out: String = entries.iter().map(report::entry_line).collect();
    let count = entries.len();
    out.push_str(&if count == 1 { "1 entry\n".to_owned() } else { format!("{count} entries\n") });
    if let Some(next) = next {
        out.push_str(&format!("more: --after '{}'\n", weaver_text::escape::line(&next)));
    }
    output::text(&out)?;
    Ok(Exit::Ok)
}

fn start_cursor(args: &List) -> Result<ListCursor, Failure> {
    let wrong = |message: &str| {
        let next = "give the `next` of the page before, for example value/user_preference";
        Failure::new(Exit::Usage, "memory.after", message).with_next_step(next)
    };
    let Some(after) = &args.after else {
        return Ok((args.kind.unwrap_or(EntryKind::Value), None));
    };
    let (kind, key) = parse_cursor(after).ok_or_else(|| wrong("--after is no `kind/key`"))?;
    if args.kind.is_some_and(|only| only != kind) {
        return Err(wrong("--after is of another kind than --kind"));
    }
    Ok((kind, key))
}
