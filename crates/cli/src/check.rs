//! `weaver check`: reports the problems of a configuration and its signed documents, and what else
//! would keep a gateway from starting.

mod confinement;
mod file_notes;

use contextweaver::memory::Limits;
use serde_json::json;
use weaver_policy::PolicySet;
use weaver_trace_store::Reader;
use weaver_types::{Clock as _, SystemClock};

use super::args::Check;
use super::policy::lint;
use super::{Exit, Failure, output};
use confinement::ProbedProcess;
use weaver_gateway::config::{self, Config, SignatureChecks};
use weaver_gateway::publish::status::PublishStatus;
use weaver_gateway::start_check;

pub(super) fn run(args: &Check) -> Result<Exit, Failure> {
    let now = SystemClock::default().now();
    let (config, set) = start_check::check(args.config.path(), SignatureChecks::Required, now)?;
    let checkpoint_status = checkpoint_status(&config);
    let children = confinement::probe_all(&config);
    let mut notes = notes(&set);
    notes.extend(lint::approver_notes(&set, now));
    notes.extend(file_notes::all(&config));
    notes.extend(checkpoint_status.as_ref().map(checkpoint_problems).unwrap_or_default());
    notes.extend(children.iter().filter_map(ProbedProcess::note));
    let closed_folders = confinement::closed_folders(&config, &children);
    if args.output.json {
        let report = CheckReport {
            notes: &notes,
            status: checkpoint_status.as_ref(),
            children: &children,
            closed_folders: &closed_folders,
        };
        output::json(&report_json(&config, &set, &report))?;
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
    // Most processes are confined alike.
    for alike in children.chunk_by(|a, b| a.line() == b.line()) {
        let names: Vec<&str> = alike.iter().map(|child| child.name.as_str()).collect();
        let line = alike.first().map_or_else(String::new, ProbedProcess::line);
        text.push_str(&format!("{:<10} {}: {line}\n", "confined", names.join(", ")));
    }
    let denied = confinement::denied_paths(&config);
    if !children.is_empty() {
        text.push_str(&format!("{:<10} to every server: {}\n", "denied", denied.join(", ")));
    }
    if !closed_folders.is_empty() {
        let closed = closed_folders.join(", ");
        text.push_str(&format!("{:<10} to listing and to new files: {closed}\n", "closed"));
    }
    for (name, size) in checkpoint_status.iter().flat_map(published_sizes) {
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

/// What the gateway published of this ledger. `None` if the ledger cannot be read: other commands
/// report that.
fn checkpoint_status(config: &Config) -> Option<PublishStatus> {
    PublishStatus::read_from(&Reader::open(&config.store_path).ok()?).ok().flatten()
}

/// The size of the last checkpoint that each target received.
fn published_sizes(status: &PublishStatus) -> Vec<(String, u64)> {
    let targets = status.targets.iter();
    let arrived = targets.filter_map(|(name, target)| {
        Some((weaver_text::escape::line(name).into_owned(), target.size?))
    });
    arrived.collect()
}

/// Problems that keep checkpoints from being signed or from being published.
fn checkpoint_problems(status: &PublishStatus) -> Vec<String> {
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

/// What the report says besides the versions of the documents.
struct CheckReport<'a> {
    notes: &'a [String],
    status: Option<&'a PublishStatus>,
    children: &'a [ProbedProcess],
    closed_folders: &'a [String],
}

fn report_json(
    config: &Config,
    set: &PolicySet,
    CheckReport { notes, status, children, closed_folders }: &CheckReport<'_>,
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
        "observes": set.has_unenforced_parts(),
        "servers": servers,
        "memory": config.memory.as_ref().map(memory_json),
        "confinement": confinement::to_json(children),
        "closed_folders": closed_folders,
        "denied": confinement::denied_paths(config),
        "checkpoints": status,
        "notes": notes,
        "findings": [],
    })
}

/// The memory file and its limits.
fn memory_json(memory: &config::MemorySettings) -> serde_json::Value {
    let Limits { values, facts, episodes, value_bytes } = memory.limits;
    json!({
        "file": memory.file.display().to_string(),
        "values": values,
        "facts": facts,
        "episodes": episodes,
        "value_bytes": value_bytes,
    })
}

/// Settings that are valid and probably unintended.
fn notes(set: &PolicySet) -> Vec<String> {
    let mut notes: Vec<String> = set.observation_notice().into_iter().collect();
    if set.policy().rules.is_empty() {
        notes.push("the policy has no rules: every call will be denied".to_owned());
    }
    notes
}
