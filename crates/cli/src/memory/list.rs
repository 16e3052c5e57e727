//! `weaver memory list`.

use contextweaver::memory::EntryKind;
use serde_json::{Value, json};

use super::args::List;
use super::kind::{ListCursor, following, page, place};
use super::store::{existing, failed};
use super::{output, report};
use crate::{Exit, Failure};

pub(super) fn run(args: &List) -> Result<Exit, Failure> {
    let start = start(args)?;
    let memory = existing(&args.place)?;
    let limit = usize::from(args.limit);
    let mut entries: Vec<Value> = Vec::new();
    let mut at = Some(start);
    while let Some(from) = at.take() {
        if entries.len() == limit {
            at = Some(from);
            break;
        }
        let (found, next) =
            page(&memory, &from, limit - entries.len()).map_err(|error| failed(&error))?;
        entries.extend(found);
        at = match next {
            Some(key) => Some((from.0, Some(key))),
            None => following(from.0, args.kind).map(|kind| (kind, None)),
        };
    }
    let next = at.map(|(kind, key)| format!("{}/{}", kind.as_str(), key.unwrap_or_default()));
    if args.output.json {
        output::json(&json!({ "ok": true, "entries": entries, "next": next }))?;
        return Ok(Exit::Ok);
    }
    let mut out: String = entries.iter().map(report::line).collect();
    let count = entries.len();
    out.push_str(&if count == 1 { "1 entry\n".to_owned() } else { format!("{count} entries\n") });
    if let Some(next) = next {
        out.push_str(&format!("more: --after '{}'\n", weaver_text::escape::line(&next)));
    }
    output::text(&out)?;
    Ok(Exit::Ok)
}

fn start(args: &List) -> Result<ListCursor, Failure> {
    let wrong = |message: &str| {
        let next = "give the `next` of the page before, for example value/user_preference";
        Failure::new(Exit::Usage, "memory.after", message).next(next)
    };
    let Some(after) = &args.after else {
        return Ok((args.kind.unwrap_or(EntryKind::Value), None));
    };
    let (kind, key) = place(after).ok_or_else(|| wrong("--after is no `kind/key`"))?;
    if args.kind.is_some_and(|only| only != kind) {
        return Err(wrong("--after is of another kind than --kind"));
    }
    Ok((kind, key))
}
