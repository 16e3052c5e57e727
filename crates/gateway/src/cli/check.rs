//! `weaver check`.

use serde_json::json;
use weaver_policy::PolicySet;
use weaver_types::{Clock as _, SystemClock};

use super::args::Check;
use super::{Exit, Failure, output};
use crate::config::{self, Config};

pub(super) fn run(args: &Check) -> Result<Exit, Failure> {
    let (config, set) = config::check(&args.config, SystemClock::default().now())?;
    let notes = notes(&set);
    if args.output.json {
        output::json(&report(&config, &set, &notes))?;
        return Ok(Exit::Ok);
    }
    let mut text = String::new();
    for (kind, document) in set.versions() {
        let (id, version, digest) = (&document.id, document.version, document.digest);
        let line = format!("{:<10} {id} version {version} ", kind.to_string());
        text.push_str(&format!("{line}{}\n", output::dim(&digest.to_string())));
    }
    for upstream in &config.upstreams {
        text.push_str(&format!("{:<10} {}\n", "server", upstream.name));
    }
    for note in &notes {
        text.push_str(&format!("{}: {note}\n", output::bold("note")));
    }
    let good = output::verdict(true, "ok");
    text.push_str(&format!("{good}: {} and its documents\n", config.file.display()));
    output::text(&text)?;
    Ok(Exit::Ok)
}

fn report(config: &Config, set: &PolicySet, notes: &[String]) -> serde_json::Value {
    let documents: Vec<_> = set
        .versions()
        .iter()
        .map(|(kind, document)| {
            json!({
                "kind": kind.as_str(),
                "id": document.id,
                "version": document.version,
                "digest": document.digest.to_string(),
            })
        })
        .collect();
    let servers: Vec<_> = config.upstreams.iter().map(|up| up.name.as_str()).collect();
    json!({
        "ok": true,
        "config": config.file.display().to_string(),
        "documents": documents,
        "servers": servers,
        "notes": notes,
        "findings": [],
    })
}

/// What is no fault, and yet hardly meant.
fn notes(set: &PolicySet) -> Vec<String> {
    let mut notes = Vec::new();
    if set.policy().rules.is_empty() {
        notes.push("the policy has no rules: every call will be denied".to_owned());
    }
    notes
}
