//! Edits the contracts document: pins digests by changing as few lines as possible, then parses the
//! result to prove that nothing else changed.

use std::path::{Path, PathBuf};

use weaver_gateway::bounded_file;
use weaver_gateway::clients::replace_file;
use weaver_policy::{
    Contracts, DocumentSource, DocumentSources, MAX_DOCUMENT_BYTES, Pattern, PolicySet,
};
use weaver_types::{CapabilityId, Digest, Timestamp};

use crate::{Exit, Failure};

/// An edited contracts document, not written yet.
pub(super) struct DocumentEdit {
    pub(super) path: PathBuf,
    pub(super) text: String,
    pub(super) version: u64,
}

/// Pins these tools in the contracts document of a folder, under the next version.
pub(super) fn pin(
    folder: &Path,
    pins: &[(CapabilityId, Digest)],
    now: Timestamp,
) -> Result<DocumentEdit, Failure> {
    let text = |kind: &str| {
        let path = folder.join(format!("{kind}.toml"));
        bounded_file::read_text(&path, MAX_DOCUMENT_BYTES).map_err(|error| {
            let message = format!("{}: {error}", path.display());
            Failure::new(Exit::Invalid, "contracts.unreadable", message)
        })
    };
    let (policy, before, keys) = (text("policy")?, text("contracts")?, text("keys")?);
    let read = |contracts: &str| {
        let sources = DocumentSources {
            policy: DocumentSource::unsigned("policy.toml", &policy),
            contracts: DocumentSource::unsigned("contracts.toml", contracts),
            keys: DocumentSource::unsigned("keys.toml", &keys),
        };
        PolicySet::load_unsigned_development(&sources, now).map(|set| set.contracts().clone())
    };
    let expected = with_pins(read(&before)?, pins);
    let mut after = with_version(&before, expected.version);
    for (id, digest) in pins {
        after = with_pin(&after, id, *digest);
    }
    if !read(&after).is_ok_and(|found| found == expected) {
        return Err(edit_by_hand_failure(pins, expected.version));
    }
    Ok(DocumentEdit { path: folder.join("contracts.toml"), text: after, version: expected.version })
}

/// The contracts that the edited document must parse to.
fn with_pins(mut contracts: Contracts, pins: &[(CapabilityId, Digest)]) -> Contracts {
    contracts.version += 1;
    for (id, digest) in pins {
        if let Ok(pattern) = Pattern::parse(id.as_str()) {
            contracts.capabilities.entry(pattern).or_default().upstream_digest = Some(*digest);
        }
    }
    contracts
}

/// The failure if the text edit does not give the expected contracts.
fn edit_by_hand_failure(pins: &[(CapabilityId, Digest)], version: u64) -> Failure {
    let lines: Vec<String> = pins.iter().map(|(id, digest)| pinned_section(id, *digest)).collect();
    let message = "contracts.toml is written in a way that cannot be changed here";
    Failure::new(Exit::Invalid, "contracts.by_hand", message).with_next_step(format!(
        "set `version = {version}` and, in each of these sections, the digest:\n{}",
        lines.join("\n")
    ))
}

fn toml_quote(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn section_header(id: &CapabilityId) -> String {
    format!("[capabilities.{}]", toml_quote(id.as_str()))
}

fn pinned_section(id: &CapabilityId, digest: Digest) -> String {
    format!("{}\nupstream_digest = \"{digest}\"\n", section_header(id))
}

/// Whether the line assigns this key and nothing stands before it.
fn assigns_key(line: &str, key: &str) -> bool {
    line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='))
}

fn with_version(text: &str, version: u64) -> String {
    let mut is_before_first_section = true;
    let lines = text.split_inclusive('\n').map(|line| {
        is_before_first_section &= !line.trim_start().starts_with('[');
        if is_before_first_section && assigns_key(line, "version") {
            format!("version = {version}\n")
        } else {
            line.to_owned()
        }
    });
    lines.collect()
}

fn with_pin(text: &str, id: &CapabilityId, digest: Digest) -> String {
    let header = section_header(id);
    let single = header.replace('"', "'");
    let is_header = |line: &str| {
        let line = line.split('#').next().unwrap_or_default().trim();
        line == header || line == single
    };
    let pinned = format!("upstream_digest = \"{digest}\"\n");
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let Some(at) = lines.iter().position(|line| is_header(line)) else {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        return format!("{text}{end}\n{}", pinned_section(id, digest));
    };
    let section =
        lines.iter_mut().skip(at + 1).take_while(|line| !line.trim_start().starts_with('['));
    match section.into_iter().find(|line| assigns_key(line, "upstream_digest")) {
        Some(line) => *line = pinned,
        None => lines.insert(at + 1, pinned),
    }
    lines.concat()
}

impl DocumentEdit {
    /// Writes the document atomically. A link stays a link, and the file keeps its permissions.
    pub(super) fn write(&self) -> Result<(), Failure> {
        let failed = |error: std::io::Error| {
            let message = format!("{} cannot be written: {error}", self.path.display());
            Failure::new(Exit::Invalid, "contracts.unwritable", message)
                .with_next_step("make the folder writable, or take the text from `--print`")
        };
        replace_file(&self.path, &self.text).map_err(failed)
    }
}
