//! `weaver contracts propose`: drafts a contracts document from what servers say of their tools.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use weaver_gateway::config::{self, OWN_TOOLS_NAMESPACE};
use weaver_gateway::listing::ListedFeature;
use weaver_gateway::serve::{self, FeatureKind};
use weaver_policy_analysis::propose::{self, ContractProposal, ServerTraits, ToolDescription};
use weaver_text::escape;
use weaver_types::CapabilityId;

use super::super::tool_list;
use super::args::Propose;
use super::{Exit, Failure, live_tools, output};
use crate::output_file;

pub(super) fn run(args: &Propose) -> Result<Exit, Failure> {
    let Proposals { proposals, notes } = match args.tools.as_ref().or(args.file.as_ref()) {
        Some(list) => from_list(args, list)?,
        None => from_servers(args)?,
    };
    let document =
        propose::contracts_document(args.surface.as_deref().unwrap_or("proposal"), &proposals);
    let terms = match &args.approvals {
        Some(_) => propose::standing_approval_terms(&proposals, &args.principal),
        None => BTreeMap::new(),
    };
    if let Some(folder) = &args.approvals {
        create_folder(folder)?;
    }
    let terms = args
        .approvals
        .iter()
        .flat_map(|folder| terms.iter().map(|(name, text)| (folder.join(name), text.as_str())));
    let document_file = args.out.iter().map(|path| (path.clone(), document.as_str()));
    write_all_new(&document_file.chain(terms).collect::<Vec<_>>())?;
    let exit = if notes.is_empty() { Exit::Ok } else { Exit::Upstream };
    for note in &notes {
        output::stderr(&format!("{}: {}\n", output::bold("note"), escape::line(note)));
    }
    match &args.out {
        Some(_) => {}
        None if !args.output.json => output::text(&document)?,
        None => {
            for (id, proposal) in &proposals {
                output::json(&proposal_json(id, proposal))?;
            }
        }
    }
    Ok(exit)
}

/// The proposed contracts, and notes on what could not be proposed.
struct Proposals {
    proposals: BTreeMap<CapabilityId, ContractProposal>,
    notes: Vec<String>,
}

fn from_list(args: &Propose, list: &Path) -> Result<Proposals, Failure> {
    let mut proposals = BTreeMap::new();
    let mut servers: BTreeMap<String, Vec<(CapabilityId, Value)>> = BTreeMap::new();
    for tool in tool_list::read(list)? {
        let id = tool_list::capability_id(args.surface.as_deref(), &tool)?;
        // The tools of a list without namespaces may come from anywhere.
        let server = id.as_str().split_once('.').map_or(id.as_str(), |(server, _)| server);
        servers.entry(server.to_owned()).or_default().push((id, tool));
    }
    for tools in servers.values() {
        let server = ServerTraits::of(tools.iter().map(|(_, tool)| tool));
        for (id, tool) in tools {
            let tool = ToolDescription::from_json(tool).with_server(server);
            proposals.insert(id.clone(), propose::propose(&tool));
        }
    }
    Ok(Proposals { proposals, notes: Vec::new() })
}

/// Lists the tools of the configured servers and pins what each server says of them.
fn from_servers(args: &Propose) -> Result<Proposals, Failure> {
    let config = config::load(args.config.path())?;
    let mut servers = Vec::new();
    for name in &args.server {
        servers.extend(live_tools::servers_of_surface(&config, name)?);
    }
    if args.server.is_empty() {
        servers = live_tools::servers_of_surface(&config, live_tools::KERNEL)?;
    }
    servers.sort_by(|a, b| a.name.cmp(&b.name));
    servers.dedup_by(|a, b| a.name == b.name);
    let mut draft = Proposals { proposals: BTreeMap::new(), notes: Vec::new() };
    for (name, listed) in live_tools::list_servers(&config, &servers)? {
        match listed {
            Ok(tools) => tools.iter().for_each(|tool| draft.add(tool)),
            Err(problem) => {
                draft.notes.push(format!("nothing is proposed for `{name}`: {problem}"));
            }
        }
    }
    let own = args.server.is_empty() || args.server.iter().any(|name| name == OWN_TOOLS_NAMESPACE);
    let definitions: Vec<Value> = config.tools.iter().map(|tool| tool.definition()).collect();
    let server = ServerTraits::of(&definitions);
    for tool in config.tools.iter().filter(|_| own) {
        let capability = serve::propose_own_tool(tool);
        let kind = FeatureKind::Tool;
        draft.add(&ListedFeature {
            kind,
            definition: tool.definition(),
            capability,
            server,
            instructions: None,
        });
    }
    match draft.notes.first() {
        Some(problem) if draft.proposals.is_empty() => {
            Err(Failure::new(Exit::Upstream, "contracts.upstream_away", problem).with_next_step(
                "start the server by hand with the command in the configuration, then try again",
            ))
        }
        _ => Ok(draft),
    }
}

impl Proposals {
    fn add(&mut self, feature: &ListedFeature) {
        let capability = match &feature.capability {
            Ok(capability) => capability,
            Err(problem) => return self.notes.push(format!("left out: {problem}")),
        };
        let mut proposal = feature.propose_contract();
        proposal.upstream_digest = capability.spec().upstream_digest;
        let id = capability.id().clone();
        if self.proposals.contains_key(&id) {
            return self.notes.push(format!("left out: `{id}` is listed twice"));
        }
        self.proposals.insert(id, proposal);
    }
}

/// Writes a file that must not exist yet.
fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    output_file::write_new(path, text).map_err(|error| {
        let message = format!("{}: it cannot be written: {error}", path.display());
        Failure::new(Exit::Invalid, "contracts.unwritable", message)
            .with_next_step("name a new file in a writable folder")
    })
}

fn create_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| {
        let message = format!("{}: it cannot be made: {error}", folder.display());
        Failure::new(Exit::Invalid, "contracts.unwritable", message)
            .with_next_step("name a folder that can be written, without files of these names")
    })
}

/// Writes all files or, where one exists already or cannot be written, none of them, so that the
/// command can be repeated.
fn write_all_new(files: &[(PathBuf, &str)]) -> Result<(), Failure> {
    for (at, (path, text)) in files.iter().enumerate() {
        if let Err(failure) = write_new(path, text) {
            for (written, _) in files.iter().take(at) {
                let _ = fs::remove_file(written);
            }
            return Err(failure);
        }
    }
    Ok(())
}

fn proposal_json(id: &CapabilityId, proposal: &ContractProposal) -> Value {
    let label = proposal.output;
    serde_json::json!({
        "capability": id,
        "effects": proposal.effects,
        "sink": proposal.sink,
        "tags": proposal.tags,
        "critical_arguments": proposal.critical_arguments,
        "sends_to": proposal.sends_to,
        "records": proposal.records,
        "upstream_digest": proposal.upstream_digest,
        "sensitivity": proposal.sensitivity,
        "idempotent": proposal.idempotent,
        "output": { "confidentiality": label.confidentiality, "integrity": label.integrity },
        "reasons": proposal.reasons,
    })
}
