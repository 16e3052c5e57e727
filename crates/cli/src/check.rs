//! `weaver check`.

mod confinement;

use contextweaver::memory::Limits;
use serde_json::json;
use weaver_policy::PolicySet;
use weaver_trace_store::Reader;
use weaver_types::{Clock as _, SystemClock};

use super::args::Check;
use super::{Exit, Failure, output};
use confinement::Child;
use weaver_gateway::config::{self, Config};
use weaver_gateway::publish::status::Status;

pub(super) fn run(args: &Check) -> Result<Exit, Failure> {
    let (config, set) = config::check(&args.config, SystemClock::default().now())?;
    let status = published(&config);
    let children = confinement::of(&config);
    let mut notes = notes(&set);
    notes.extend(status.as_ref().map(troubles).unwrap_or_default());
    notes.extend(children.iter().filter_map(Child::note));
    let closed = confinement::closed(&config, &children);
    if args.output.json {
        let seen = CheckReport {
            notes: &notes,
            status: status.as_ref(),
            children: &children,
            closed: &closed,
        };
        output::json(&report(&config, &set, &seen))?;
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
    if let Some(memory) = &config.memory {
        text.push_str(&format!("{:<10} {}\n", "memory", memory.file.display()));
    }
    for child in &children {
        text.push_str(&format!("{:<10} {}: {}\n", "confined", child.name, child.line()));
    }
    let denied = confinement::denied(&config);
    if !children.is_empty() {
        text.push_str(&format!("{:<10} to every server: {}\n", "denied", denied.join(", ")));
    }
    if !closed.is_empty() {
        let closed = closed.join(", ");
        text.push_str(&format!("{:<10} to listing and to new files: {closed}\n", "closed"));
    }
    for (name, size) in status.iter().flat_map(arrived) {
        text.push_str(&format!("{:<10} {size} events at {name}\n", "checkpoint"));
    }
    for note in &notes {
        text.push_str(&format!("{}: {note}\n", output::bold("note")));
    }
    let good = output::good("ok");
    text.push_str(&format!("{good}: {} and its documents\n", config.file.display()));
    output::text(&text)?;
    Ok(Exit::Ok)
}

/// What a gateway published of this ledger. A ledger that cannot be read is told by other commands.
fn published(config: &Config) -> Option<Status> {
    Status::of(&Reader::open(&config.store).ok()?).ok().flatten()
}

/// The sizes that arrived.
fn arrived(status: &Status) -> Vec<(String, u64)> {
    let targets = status.targets.iter();
    let arrived = targets.filter_map(|(name, target)| {
        Some((weaver_text::escape::line(name).into_owned(), target.size?))
    });
    arrived.collect()
}

/// What keeps checkpoints from being signed or from arriving.
fn troubles(status: &Status) -> Vec<String> {
    let refused = status.refused.iter().map(|trouble| {
        format!("no checkpoint was signed at {}: {}", trouble.at.rfc3339(), trouble.problem)
    });
    let late = status.targets.iter().filter_map(|(name, target)| {
        let trouble = target.failed.as_ref()?;
        let last = match (target.size, target.at) {
            (Some(size), Some(at)) => format!("last were {size} events at {}", at.rfc3339()),
            _ => "nothing ever did".to_owned(),
        };
        let (at, problem) = (trouble.at.rfc3339(), &trouble.problem);
        Some(format!("checkpoints do not arrive at {name} since {at}: {problem}; {last}"))
    });
    let lines = refused.chain(late);
    lines.map(|line| weaver_text::escape::line(&line).into_owned()).collect()
}

/// What was found beside the documents.
struct CheckReport<'a> {
    notes: &'a [String],
    status: Option<&'a Status>,
    children: &'a [Child],
    closed: &'a [String],
}

fn report(
    config: &Config,
    set: &PolicySet,
    CheckReport { notes, status, children, closed }: &CheckReport<'_>,
) -> serde_json::Value {
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
        "enforcement": set.policy().enforcement.as_str(),
        "observes": set.observes(),
        "servers": servers,
        "memory": config.memory.as_ref().map(memory),
        "confinement": confinement::json(children),
        "closed_folders": closed,
        "denied": confinement::denied(config),
        "checkpoints": status,
        "notes": notes,
        "findings": [],
    })
}

/// Where memory lies, and how much it takes.
fn memory(memory: &config::Memory) -> serde_json::Value {
    let Limits { values, facts, episodes, value_bytes } = memory.limits;
    json!({
        "file": memory.file.display().to_string(),
        "values": values,
        "facts": facts,
        "episodes": episodes,
        "value_bytes": value_bytes,
    })
}

/// What is no fault, and yet hardly meant.
fn notes(set: &PolicySet) -> Vec<String> {
    let mut notes: Vec<String> = set.observation_notice().into_iter().collect();
    if set.policy().rules.is_empty() {
        notes.push("the policy has no rules: every call will be denied".to_owned());
    }
    notes
}
