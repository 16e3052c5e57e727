//! `weaver contracts propose`: a contracts document from what a server says of its tools.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use weaver_policy::propose::{self, Described, Proposal};
use weaver_types::CapabilityId;

use super::super::line_reader::LineReader;
use super::args::Propose;
use super::{Exit, Failure, output};

/// The largest list of tools, in bytes.
const MAX_LIST: usize = 64 << 20;
/// The most tools of one list.
const MAX_TOOLS: usize = 100_000;

pub(super) fn run(args: &Propose) -> Result<Exit, Failure> {
    let tools = tools(&args.tools)?;
    let mut proposals = BTreeMap::new();
    for tool in &tools {
        let (id, proposal) = proposed(args, tool)?;
        proposals.insert(id, proposal);
    }
    let document = propose::contracts(args.surface.as_deref().unwrap_or("proposal"), &proposals);
    if let Some(folder) = &args.approvals {
        write_terms(folder, &propose::terms(&proposals, &args.principal))?;
    }
    if args.output.json {
        for (id, proposal) in &proposals {
            output::json(&shown(id, proposal))?;
        }
    } else {
        output::text(&document)?;
    }
    Ok(Exit::Ok)
}

/// What a list of tools has: the answer to `tools/list`, or the list alone.
fn tools(path: &Path) -> Result<Vec<Value>, Failure> {
    let name = path.display().to_string();
    let invalid = |problem: String| {
        Failure::new(Exit::Invalid, "contracts.tools", format!("{name}: {problem}"))
            .next("name the answer of a server to tools/list: {\"tools\": [{\"name\", …}]}")
    };
    let bytes = read(path).map_err(|error| invalid(format!("it cannot be read: {error}")))?;
    if bytes.len() > MAX_LIST {
        return Err(invalid(format!("it has more than {MAX_LIST} bytes")));
    }
    let value: Value = serde_json::from_slice(&bytes)
        .map_err(|error| invalid(format!("it is no JSON: {error}")))?;
    let inner = value.get("result").unwrap_or(&value);
    let list = inner.get("tools").unwrap_or(inner).as_array();
    let list = list.ok_or_else(|| invalid("there is no list of tools in it".to_owned()))?;
    if list.len() > MAX_TOOLS {
        return Err(invalid(format!("it has more than {MAX_TOOLS} tools")));
    }
    Ok(list.clone())
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut from = LineReader::open(path)?;
    let mut out = Vec::new();
    loop {
        let piece = from.piece()?;
        let length = piece.len();
        if length == 0 || out.len() > MAX_LIST {
            return Ok(out);
        }
        out.extend_from_slice(piece);
        from.pass(length);
    }
}

fn proposed(args: &Propose, tool: &Value) -> Result<(CapabilityId, Proposal), Failure> {
    let invalid = |problem: String| {
        Failure::new(Exit::Invalid, "contracts.tool", problem)
            .next("give each tool a `name` without blanks")
    };
    let text = |key: &str| tool.get(key).and_then(Value::as_str).unwrap_or_default();
    let name = text("name");
    if name.is_empty() {
        return Err(invalid("a tool has no name".to_owned()));
    }
    let suite = tool.get("suite").and_then(Value::as_str);
    let id = match args.surface.as_deref().or(suite) {
        Some(surface) => CapabilityId::parse(format!("{surface}.{name}")),
        None => CapabilityId::parse(name),
    };
    let id = id.map_err(|error| invalid(error.to_string()))?;
    let schemas = ["inputSchema", "parameters", "input_schema", "schema"];
    let input = schemas.iter().find_map(|key| tool.get(key)).filter(|schema| schema.is_object());
    let described = Described { name, description: text("description"), input };
    Ok((id, propose::propose(&described)))
}

fn write_terms(folder: &Path, files: &BTreeMap<String, String>) -> Result<(), Failure> {
    let failed = |path: &Path, error: std::io::Error| {
        let message = format!("{}: it cannot be written: {error}", path.display());
        Failure::new(Exit::Invalid, "contracts.unwritable", message)
            .next("name a folder that can be written, without files of these names")
    };
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for (name, text) in files {
        let path = folder.join(name);
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create_new(true).open(&path);
        let written =
            file.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
        written.map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

fn shown(id: &CapabilityId, proposal: &Proposal) -> Value {
    let label = proposal.output;
    serde_json::json!({
        "capability": id,
        "effects": proposal.effects,
        "sink": proposal.sink,
        "tags": proposal.tags,
        "critical_arguments": proposal.critical_arguments,
        "output": { "confidentiality": label.confidentiality, "integrity": label.integrity },
        "reasons": proposal.reasons,
    })
}
