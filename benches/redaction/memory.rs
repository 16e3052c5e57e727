//! Peak memory, each text in a process of its own.

use std::hint::black_box;
use std::process::Command;

use serde_json::{Map, Value, json};
use weaver_benches::{Failure, records};
use weaver_firewall::Firewall;

use crate::Effort;

/// Runs a process for each text.
pub fn children(effort: &Effort) -> Result<Value, Failure> {
    let kinds = ["clean", "dense"].into_iter().chain(records::HOSTILE.map(|(name, _)| name));
    let mut out = Map::new();
    for kind in kinds {
        let mut command = Command::new(std::env::current_exe()?);
        let output = command.args(["memory", kind, &effort.hostile.to_string()]).output()?;
        if !output.status.success() {
            return Err(format!("{kind}: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        out.insert(kind.to_owned(), serde_json::from_slice(&output.stdout)?);
    }
    Ok(Value::Object(out))
}

/// The memory of this process while it redacts one text, in bytes.
pub fn own(kind: &str, bytes: usize) -> Result<Value, Failure> {
    let firewall = Firewall::new();
    black_box(firewall.redact_text(&records::dense(100_000)));
    let rest = status("VmRSS:")?;
    let text = match kind {
        "clean" => records::prose(bytes),
        "dense" => records::dense(bytes),
        other => {
            let unit = records::HOSTILE.iter().find(|(name, _)| *name == other);
            records::hostile(unit.ok_or("no such text")?.1, bytes)
        }
    };
    black_box(firewall.redact_text(&text));
    let peak = status("VmHWM:")?;
    let ratio = |size: usize| size as f64 / text.len().max(1) as f64;
    Ok(json!({
        "input": text.len(), "at_rest": rest, "peak": peak,
        "of_input": ratio(peak), "beyond_rest_of_input": ratio(peak.saturating_sub(rest)),
    }))
}

/// A line of the process's status, in bytes; zero where the system has none.
fn status(name: &str) -> Result<usize, Failure> {
    let Ok(text) = std::fs::read_to_string("/proc/self/status") else { return Ok(0) };
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let kilobytes: usize = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1_024)
}
