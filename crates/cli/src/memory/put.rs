//! `weaver memory put`.

use std::path::Path;

use contextweaver::memory::{EntryKind, EpisodicStore, FactStore, Memory, MemoryError, PutOptions};
use serde_json::{Value, json};
use weaver_text::escape;
use weaver_types::{Integrity, Label};

use super::args::PutArgs;
use super::output;
use super::store::{memory_failure, open_or_create};
use crate::{Exit, Failure, input};

/// The largest value that is read from standard input, in bytes.
const MAX_INPUT_BYTES: usize = 1024 * 1024;

pub(super) fn run(args: &PutArgs) -> Result<Exit, Failure> {
    let value = parse_value(args)?;
    let memory = open_or_create(&args.place)?;
    let integrity = if args.trusted { Integrity::Trusted } else { Integrity::Untrusted };
    let options = PutOptions {
        ttl: args.ttl,
        confidence: args.confidence,
        ..PutOptions::new(args.source.clone())
            .with_session(args.session.clone())
            .with_label(Label::new(args.confidentiality, integrity))
    };
    let (key, claim) =
        write(&memory, args, value, &options).map_err(|error| memory_failure(&error))?;
    let id = memory.tier().entry_id(&key);
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
    options: &PutOptions,
) -> Result<(String, Option<u32>), MemoryError> {
    let key = args.key.clone();
    Ok(match args.kind {
        EntryKind::Value => {
            memory.put(&key, value, options)?;
            (key, None)
        }
        EntryKind::Fact => {
            let claim = FactStore::new(memory).add_claim(&key, value, options)?;
            (key, Some(claim))
        }
        EntryKind::Episode => {
            let text = value.as_str().unwrap_or_default();
            (EpisodicStore::new(memory).add(text, options)?, None)
        }
    })
}

fn parse_value(args: &PutArgs) -> Result<Value, Failure> {
    let usage = |message: &str, next: &str| {
        Err(Failure::new(Exit::Usage, "memory.usage", message).with_next_step(next))
    };
    let episode = args.kind == EntryKind::Episode;
    let text = match (&args.value, episode) {
        (None, true) => args.key.clone(),
        (Some(value), false) => value.clone(),
        (Some(_), true) => {
            return usage("an episode has a text and no key", "leave out KEY or VALUE");
        }
        (None, false) => return usage("a value is missing", "weaver memory put KEY VALUE"),
    };
    let text = if text == "-" { read_stdin()? } else { text };
    if args.text || episode {
        return Ok(Value::String(text));
    }
    Ok(serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

fn read_stdin() -> Result<String, Failure> {
    input::read_text(Path::new("-"), MAX_INPUT_BYTES).map_err(|error| {
        Failure::new(Exit::Invalid, "memory.unreadable", format!("standard input: {error}"))
    })
}
