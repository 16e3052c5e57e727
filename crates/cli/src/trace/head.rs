//! `weaver trace head`: the head, and where checkpoints of the log arrived.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use weaver_gateway::publish::status::{Status, TargetStatus, Trouble};
use weaver_text::escape;
use weaver_types::ledger::Head;
use weaver_types::{Digest, LogId};

use super::proof_args::HeadOf;
use crate::{Exit, Failure, output};

pub(super) fn run(args: &HeadOf) -> Result<Exit, Failure> {
    let reader = super::open(&args.store)?;
    let failed = |error| Failure::store(&args.store, &error);
    let head = reader.head().map_err(failed)?;
    let status = Status::of(&reader).map_err(failed)?;
    if args.output.json {
        let published = status.as_ref().map(published).unwrap_or_default();
        let signed = status.as_ref().and_then(|status| status.signed.as_ref());
        let refused = status.as_ref().and_then(|status| status.refused.as_ref());
        let signed = signed.map(|signed| {
            let at = signed.at.rfc3339();
            json!({ "size": signed.size, "at": at, "witnesses": signed.witnesses })
        });
        output::json(&json!({
            "log": head.log,
            "size": head.size,
            "root": head.root,
            "signed": signed,
            "refused": refused.map(trouble),
            "published": published,
        }))?;
    } else {
        output::json(&json!({ "log": head.log, "size": head.size, "root": head.root }))?;
        // Standard output is the head alone, which is kept as a file.
        status.iter().for_each(|status| output::aside(&text(status)));
    }
    Ok(Exit::Ok)
}

fn published(status: &Status) -> Vec<Value> {
    let targets = status.targets.iter().map(|(name, reached)| {
        json!({
            "target": name,
            "size": reached.size,
            "at": reached.at.map(|at| at.rfc3339()),
            "failed": reached.failed.as_ref().map_or(Value::Null, trouble),
        })
    });
    targets.collect()
}

fn trouble(trouble: &Trouble) -> Value {
    json!({ "at": trouble.at.rfc3339(), "problem": trouble.problem })
}

fn text(status: &Status) -> String {
    let mut lines = Vec::new();
    if let Some(signed) = &status.signed {
        let (size, at) = (signed.size, signed.at.rfc3339());
        lines.push(format!("signed     {size} events at {at}, by {} witnesses", signed.witnesses));
    }
    if let Some(Trouble { at, problem }) = &status.refused {
        lines.push(format!("refused    since {}: {problem}", at.rfc3339()));
    }
    lines.extend(status.targets.iter().map(|(name, reached)| target(name, reached)));
    lines.iter().map(|line| format!("{}\n", escape::line(line))).collect()
}

fn target(name: &str, reached: &TargetStatus) -> String {
    let last = match (reached.size, reached.at) {
        (Some(size), Some(at)) => format!("{size} events at {}", at.rfc3339()),
        _ => "nothing yet".to_owned(),
    };
    let failed = reached.failed.as_ref().map(|Trouble { at, problem }| {
        format!("; failed at {}, and is tried again: {problem}", at.rfc3339())
    });
    format!("published  {last} to {name}{}", failed.unwrap_or_default())
}

/// A head as this command prints it, with or without what was published.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PrintedHead {
    log: LogId,
    size: u64,
    root: Digest,
    #[serde(default, rename = "signed")]
    _signed: IgnoredAny,
    #[serde(default, rename = "refused")]
    _refused: IgnoredAny,
    #[serde(default, rename = "published")]
    _published: IgnoredAny,
}

impl From<PrintedHead> for Head {
    fn from(printed: PrintedHead) -> Self {
        let PrintedHead { log, size, root, .. } = printed;
        Self { log, size, root }
    }
}
