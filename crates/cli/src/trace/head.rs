//! `weaver trace head`: the head of the log, and where its checkpoints were published.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use weaver_gateway::publish::status::{PublishFailure, PublishStatus, TargetStatus};
use weaver_text::escape;
use weaver_types::ledger::TreeHead;
use weaver_types::{Digest, LogId};

use super::proof_args::HeadArgs;
use crate::{Exit, Failure, output};

pub(super) fn run(args: &HeadArgs) -> Result<Exit, Failure> {
    let reader = super::open_ledger(&args.ledger.store)?;
    let failed = |error| Failure::store(&args.ledger.store, &error);
    let head = reader.head().map_err(failed)?;
    let status = PublishStatus::read_from(&reader).map_err(failed)?;
    if args.output.json {
        let published = status.as_ref().map(targets_json).unwrap_or_default();
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
            "refused": refused.map(problem_json),
            "published": published,
        }))?;
    } else {
        output::json(&json!({ "log": head.log, "size": head.size, "root": head.root }))?;
        // Standard output is the head alone, because users keep it as a file.
        status.iter().for_each(|status| output::stderr(&status_text(status)));
    }
    Ok(Exit::Ok)
}

fn targets_json(status: &PublishStatus) -> Vec<Value> {
    let targets = status.targets.iter().map(|(name, reached)| {
        json!({
            "target": name,
            "size": reached.size,
            "at": reached.at.map(|at| at.rfc3339()),
            "failed": reached.failed.as_ref().map_or(Value::Null, problem_json),
        })
    });
    targets.collect()
}

fn problem_json(trouble: &PublishFailure) -> Value {
    json!({ "at": trouble.at.rfc3339(), "problem": trouble.problem })
}

fn status_text(status: &PublishStatus) -> String {
    let mut lines = Vec::new();
    if let Some(signed) = &status.signed {
        let (size, at) = (signed.size, signed.at.rfc3339());
        lines.push(format!("signed     {size} events at {at}, by {} witnesses", signed.witnesses));
    }
    if let Some(PublishFailure { at, problem }) = &status.refused {
        lines.push(format!("refused    since {}: {problem}", at.rfc3339()));
    }
    lines.extend(status.targets.iter().map(|(name, reached)| target_line(name, reached)));
    lines.iter().map(|line| format!("{}\n", escape::line(line))).collect()
}

fn target_line(name: &str, reached: &TargetStatus) -> String {
    let last = match (reached.size, reached.at) {
        (Some(size), Some(at)) => format!("{size} events at {}", at.rfc3339()),
        _ => "nothing yet".to_owned(),
    };
    let failed = reached.failed.as_ref().map(|PublishFailure { at, problem }| {
        format!("; failed at {}, and is tried again: {problem}", at.rfc3339())
    });
    format!("published  {last} to {name}{}", failed.unwrap_or_default())
}

/// A head as this command prints it, with or without the publication status.
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

impl From<PrintedHead> for TreeHead {
    fn from(printed: PrintedHead) -> Self {
        let PrintedHead { log, size, root, .. } = printed;
        Self { log, size, root }
    }
}
