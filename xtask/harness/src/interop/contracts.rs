//! Exchanges the public contracts with `weaver-contracts` from PyPI: each side reads what the other
//! writes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value};
use xshell::Shell;

use super::report::Outcome;
use crate::child;
use crate::counterparts::cache::Cache;
use crate::install::{InstallOutcome, MissingProgram};
use crate::process;

const TIMEOUT: Duration = Duration::from_secs(60);
const PYTHON_READS: &str = "weaver-contracts reads what we write";
const WEAVER_READS: &str = "we read what weaver-contracts writes";

/// Builds the program that writes and reads one contract of each kind.
pub fn build_emitter(sh: &Shell, target: &Path) -> Result<PathBuf> {
    let name = "emit_contracts";
    process::run(process::cargo(sh).args(["build", "-p", "weaver-types", "--example", name]))?;
    Ok(crate::build::program(&target.join("debug/examples"), name))
}

/// Checks both directions.
pub fn check_both_directions(
    cache: &Cache,
    python: &InstallOutcome,
    emit: &Path,
) -> Result<Vec<(&'static str, Outcome)>, MissingProgram> {
    python.clone()?;
    let outcome = |result: Result<()>| match result {
        Ok(()) => Outcome::Passed,
        Err(error) => Outcome::Failed(format!("{error:#}")),
    };
    let written = match ExchangedContracts::new(cache, emit) {
        Ok(written) => written,
        Err(error) => return Err(MissingProgram::Broken(format!("{error:#}"))),
    };
    Ok(vec![
        (PYTHON_READS, outcome(written.forward())),
        (WEAVER_READS, outcome(written.backward())),
    ])
}

/// What Weaver wrote, what weaver-contracts wrote from it, and what Weaver wrote from that.
struct ExchangedContracts {
    ours: Vec<Value>,
    theirs: Vec<Value>,
    again: Vec<Value>,
}

impl ExchangedContracts {
    fn new(cache: &Cache, emit: &Path) -> Result<Self> {
        let ours =
            child::run(&mut cache.command(emit), "", TIMEOUT)?.succeeded("emit_contracts")?;
        let mut python = cache.command(cache.python_program("python"));
        python.arg(cache.script("crosscheck.py"));
        let theirs = child::run(&mut python, &ours, TIMEOUT)?.succeeded("crosscheck.py")?;
        let mut read = cache.command(emit);
        let again =
            child::run(read.arg("--read"), &theirs, TIMEOUT)?.succeeded("emit_contracts --read")?;
        let written = Self {
            ours: parse_lines(&ours)?,
            theirs: parse_lines(&theirs)?,
            again: parse_lines(&again)?,
        };
        let count = written.ours.len();
        ensure!(count > 0, "no contracts were written");
        let same = written.theirs.len() == count && written.again.len() == count;
        ensure!(same, "of {count} contracts, {} came back", written.again.len());
        Ok(written)
    }

    /// Each field that the Python types have was kept, and nothing was added.
    fn forward(&self) -> Result<()> {
        for (ours, theirs) in self.ours.iter().zip(&self.theirs) {
            let kind = kind_of(ours);
            ensure!(ours["kind"] == theirs["kind"], "{kind} became {}", kind_of(theirs));
            let unknown: Vec<&str> = theirs["unknown"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let strange = unknown.iter().find(|name| !name.starts_with("x_"));
            if let Some(name) = strange {
                bail!("{kind}: weaver-contracts has no field `{name}`");
            }
            let mut known = ours["json"].clone();
            if let Some(fields) = known.as_object_mut() {
                fields.retain(|name, _| !unknown.contains(&name.as_str()));
            }
            ensure_kept(&known, &theirs["json"]).with_context(|| kind)?;
        }
        Ok(())
    }

    /// What weaver-contracts writes is unchanged after Weaver read and wrote it.
    fn backward(&self) -> Result<()> {
        for (theirs, again) in self.theirs.iter().zip(&self.again) {
            let same = theirs["kind"] == again["kind"] && theirs["json"] == again["json"];
            ensure!(same, "{}: {} came back as {}", kind_of(theirs), theirs["json"], again["json"]);
        }
        Ok(())
    }
}

fn kind_of(line: &Value) -> String {
    line["kind"].as_str().unwrap_or("a contract without kind").to_owned()
}

fn parse_lines(text: &str) -> Result<Vec<Value>> {
    text.lines()
        .map(|line| serde_json::from_str(line).with_context(|| format!("no JSON: {line}")))
        .collect()
}

/// Each value is kept and equal; additional fields are empty defaults.
fn ensure_kept(ours: &Value, theirs: &Value) -> Result<()> {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => ensure_fields_kept(ours, theirs),
        (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => {
            ours.iter().zip(theirs).try_for_each(|(ours, theirs)| ensure_kept(ours, theirs))
        }
        (Value::String(ours), Value::String(theirs)) if same_text(ours, theirs) => Ok(()),
        _ => {
            ensure!(ours == theirs, "{ours} became {theirs}");
            Ok(())
        }
    }
}

fn ensure_fields_kept(ours: &Map<String, Value>, theirs: &Map<String, Value>) -> Result<()> {
    for (name, value) in ours {
        let taken = theirs.get(name).with_context(|| format!("`{name}` was lost"))?;
        ensure_kept(value, taken).with_context(|| format!("`{name}`"))?;
    }
    for (name, value) in theirs.iter().filter(|(name, _)| !ours.contains_key(*name)) {
        let empty = match value {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        };
        ensure!(empty, "`{name}` was invented: {value}");
    }
    Ok(())
}

/// Equal, or the same UTC time written both ways.
fn same_text(ours: &str, theirs: &str) -> bool {
    let utc = |text: &str, end: &str| text.strip_suffix(end).map(str::to_owned);
    ours == theirs || (utc(ours, "Z").is_some() && utc(ours, "Z") == utc(theirs, "+00:00"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lost_changed_and_invented_values_are_found() {
        let ours = json!({ "a": 1, "at": "2026-01-02T03:04:05Z", "l": [{ "x": "y" }] });
        let same =
            json!({ "a": 1, "at": "2026-01-02T03:04:05+00:00", "l": [{ "x": "y" }], "m": {} });
        assert!(ensure_kept(&ours, &same).is_ok());
        for (name, value) in [("a", json!(2)), ("l", json!([])), ("new", json!("x"))] {
            let mut other = same.clone();
            other[name] = value;
            assert!(ensure_kept(&ours, &other).is_err(), "{name}");
        }
        let mut lost = same;
        lost.as_object_mut().unwrap().remove("a");
        assert!(ensure_kept(&ours, &lost).is_err());
    }
}
