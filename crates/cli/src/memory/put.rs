//! `weaver memory put`.

use std::io;

use contextweaver::memory::{EntryKind, EpisodicStore, FactStore, Memory, MemoryError, PutOptions};
use serde_json::{Value, json};
use weaver_gateway::bounded_file;
use weaver_text::escape;
use weaver_types::{Integrity, Label};

use super::args::PutArgs;
use super::output;
use super::store::{any, failed};
use crate::{Exit, Failure};

/// The largest value that is read from standard input, in bytes.
const MAX_INPUT: usize = 1024 * 1024;

pub(super) fn run(args: &PutArgs) -> Result<Exit, Failure> {
    let value = value(args)?;
    let memory = any(&args.place)?;
    let integrity = if args.trusted { Integrity::Trusted } else { Integrity::Untrusted };
    let with = PutOptions {
        ttl: args.ttl,
        confidence: args.confidence,
        ..PutOptions::new(args.source.clone())
            .in_session(args.session.clone())
            .labelled(Label::of(args.confidentiality, integrity))
    };
    let (key, claim) = write(&memory, args, value, &with).map_err(|error| failed(&error))?;
    let id = format!("mem_dur_{key}");
    if args.output.json {
        let kind = args.kind.as_str();
        output::json(&json!({ "ok": true, "id": id, "key": key, "kind": kind, "claim": claim }))?;
    } else {
        output::line(&format!("remembered {}", escape::line(&id)))?;
    }
    Ok(Exit::Ok)
}

fn write(
    memory: &Memory,
    args: &PutArgs,
    value: Value,
    with: &PutOptions,
) -> Result<(String, Option<u32>), MemoryError> {
    let key = args.key.clone();
    Ok(match args.kind {
        EntryKind::Value => {
            memory.put(&key, value, with)?;
            (key, None)
        }
        EntryKind::Fact => {
            let claim = FactStore::new(memory).state(&key, value, with)?;
            (key, Some(claim))
        }
        EntryKind::Episode => {
            let text = value.as_str().unwrap_or_default();
            (EpisodicStore::new(memory).add(text, with)?, None)
        }
    })
}

fn value(args: &PutArgs) -> Result<Value, Failure> {
    let usage = |message: &str, next: &str| {
        Err(Failure::new(Exit::Usage, "memory.usage", message).next(next))
    };
    let episode = args.kind == EntryKind::Episode;
    let said = match (&args.value, episode) {
        (None, true) => args.key.clone(),
        (Some(value), false) => value.clone(),
        (Some(_), true) => {
            return usage("an episode has a text and no key", "leave out one of both");
        }
        (None, false) => return usage("a value is missing", "weaver memory put KEY VALUE"),
    };
    let said = if said == "-" { input()? } else { said };
    if args.text || episode {
        return Ok(Value::String(said));
    }
    Ok(serde_json::from_str(&said).unwrap_or(Value::String(said)))
}

fn input() -> Result<String, Failure> {
    let bytes = bounded_file::all(io::stdin().lock(), MAX_INPUT);
    let text =
        bytes.and_then(|b| String::from_utf8(b).map_err(|_| bounded_file::ReadError::NotText));
    text.map_err(|error| {
        Failure::new(Exit::Invalid, "memory.unreadable", format!("standard input: {error}"))
    })
}
