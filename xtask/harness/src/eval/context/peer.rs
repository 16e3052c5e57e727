//! Compiles the same log with contextweaver (Python).

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use xshell::{Shell, cmd};

use super::log::Log;
use super::promise;
use crate::speed::peer::{CONTEXTWEAVER, python};
use crate::workspace;

pub fn row(sh: &Shell, target: &Path, maker: &Path, log: &Log, file: &Path) -> Result<Value> {
    let python = python(sh, &target.join("speed"), CONTEXTWEAVER)?;
    let script = workspace::root()?.join("benches/compile/peer.py");
    let query = super::QUERY;
    let text = cmd!(sh, "{python} {script} --log {file} {query}").quiet().read()?;
    let found: Value = serde_json::from_str(&text).context("the peer gave no JSON")?;
    let dropped = found["dropped"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let dropped: BTreeSet<&str> = dropped.collect();
    let shown = log.items.iter().map(|item| item.id.as_str()).filter(|id| !dropped.contains(id));
    Ok(json!({
        "included": found["included"],
        "reported_tokens": found["reported_tokens"],
        "tokens": super::count_tokens(maker, found["prompt"].as_str().unwrap_or_default())?,
        "orphans": promise::count_orphans(log, &shown.collect()),
        "dropped": found["reasons"],
    }))
}
