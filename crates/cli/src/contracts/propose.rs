//! `weaver contracts propose`: a contracts document from what servers say of their tools.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use weaver_gateway::config::{self, TOOLS};
use weaver_gateway::listing::ListedFeature;
use weaver_gateway::serve::{self, FeatureKind};
use weaver_policy_analysis::propose::{self, Proposal, ToolDescription};
use weaver_text::escape;
use weaver_types::CapabilityId;

use super::super::tool_list;
use super::args::Propose;
use super::{Exit, Failure, live_tools, output};

pub(super) fn run(args: &Propose) -> Result<Exit, Failure> {
    let DraftContracts { proposals, notes } = match args.tools.as_ref().or(args.file.as_ref()) {
        Some(list) => from_list(args, list)?,
        None => from_servers(args)?,
    };
    let document =
        propose::contracts_document(args.surface.as_deref().unwrap_or("proposal"), &proposals);
    if let Some(folder) = &args.approvals {
        write_terms(folder, &propose::standing_terms(&proposals, &args.principal))?;
    }
    let exit = if notes.is_empty() { Exit::Ok } else { Exit::Upstream };
    for note in &notes {
        output::aside(&format!("{}: {}\n", output::bold("note"), escape::line(note)));
    }
    match &args.out {
        Some(path) => write_new(path, &document)?,
        None if !args.output.json => output::text(&document)?,
        None => {
            for (id, proposal) in &proposals {
                output::json(&shown(id, proposal))?;
            }
        }
    }
    Ok(exit)
}

/// What is proposed, and what could not be.
struct DraftContracts {
    proposals: BTreeMap<CapabilityId, Proposal>,
    notes: Vec<String>,
}

fn from_list(args: &Propose, list: &Path) -> Result<DraftContracts, Failure> {
    let mut proposals = BTreeMap::new();
    for tool in &tool_list::read(list)? {
        let (id, proposal) = proposed(args, tool)?;
        proposals.insert(id, proposal);
    }
    Ok(DraftContracts { proposals, notes: Vec::new() })
}

/// Asks the servers of the configuration, and pins what each says of its tools.
fn from_servers(args: &Propose) -> Result<DraftContracts, Failure> {
    let config = config::load(&args.config)?;
    let mut servers = Vec::new();
    for name in &args.server {
        servers.extend(live_tools::wanted(&config, name)?);
    }
    if args.server.is_empty() {
        servers = live_tools::wanted(&config, live_tools::KERNEL)?;
    }
    servers.sort_by(|a, b| a.name.cmp(&b.name));
    servers.dedup_by(|a, b| a.name == b.name);
    let mut found = DraftContracts { proposals: BTreeMap::new(), notes: Vec::new() };
    for (name, listed) in live_tools::ask(&config, &servers)? {
        match listed {
            Ok(tools) => tools.into_iter().for_each(|tool| found.add(tool)),
            Err(problem) => {
                found.notes.push(format!("nothing is proposed for `{name}`: {problem}"));
            }
        }
    }
    let own = args.server.is_empty() || args.server.iter().any(|name| name == TOOLS);
    for tool in config.tools.iter().filter(|_| own) {
        let capability = serve::own_proposal(tool);
        let kind = FeatureKind::Tool;
        found.add(ListedFeature { kind, tool: tool.definition(), capability });
    }
    match found.notes.first() {
        Some(problem) if found.proposals.is_empty() => {
            Err(Failure::new(Exit::Upstream, "contracts.upstream_away", problem).next(
                "start the server by hand with the command in the configuration, then try again",
            ))
        }
        _ => Ok(found),
    }
}

impl DraftContracts {
    fn add(&mut self, offered: ListedFeature) {
        let capability = match offered.capability {
            Ok(capability) => capability,
            Err(problem) => return self.notes.push(format!("left out: {problem}")),
        };
        let mut proposal = proposal(offered.kind, &offered.tool);
        proposal.upstream_digest = capability.spec().upstream_digest;
        let id = capability.id().clone();
        if self.proposals.contains_key(&id) {
            return self.notes.push(format!("left out: `{id}` is listed twice"));
        }
        self.proposals.insert(id, proposal);
    }
}

/// What is proposed for a tool, or for another feature of a server.
fn proposal(kind: FeatureKind, definition: &Value) -> Proposal {
    match kind {
        FeatureKind::ResourceReading => propose::resource_reading(definition),
        FeatureKind::Prompt => propose::prompt(),
        FeatureKind::Completion => propose::completion(),
        // What a server may ask of people and models is written by hand or not at all.
        FeatureKind::Tool | FeatureKind::Elicitation | FeatureKind::Sampling => {
            propose::propose(&ToolDescription::of(definition))
        }
    }
}

/// Writes a file that is not there yet.
fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create_new(true).open(path);
    let written = file.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
    written.map_err(|error| {
        let message = format!("{}: it cannot be written: {error}", path.display());
        Failure::new(Exit::Invalid, "contracts.unwritable", message)
            .next("name a file that is not there yet, in a folder that can be written")
    })
}

fn proposed(args: &Propose, tool: &Value) -> Result<(CapabilityId, Proposal), Failure> {
    let id = tool_list::id(args.surface.as_deref(), tool)?;
    Ok((id, propose::propose(&ToolDescription::of(tool))))
}

fn write_terms(folder: &Path, files: &BTreeMap<String, String>) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| {
        let message = format!("{}: it cannot be made: {error}", folder.display());
        Failure::new(Exit::Invalid, "contracts.unwritable", message)
            .next("name a folder that can be written, without files of these names")
    })?;
    files.iter().try_for_each(|(name, text)| write_new(&folder.join(name), text))
}

fn shown(id: &CapabilityId, proposal: &Proposal) -> Value {
    let label = proposal.output;
    serde_json::json!({
        "capability": id,
        "effects": proposal.effects,
        "sink": proposal.sink,
        "tags": proposal.tags,
        "critical_arguments": proposal.critical_arguments,
        "upstream_digest": proposal.upstream_digest,
        "sensitivity": proposal.sensitivity,
        "idempotent": proposal.idempotent,
        "output": { "confidentiality": label.confidentiality, "integrity": label.integrity },
        "reasons": proposal.reasons,
    })
}
