//! The contracts document with other digests: its text is changed in as few lines as can be, and
//! read again, so that nothing else has changed.

use std::fs;
use std::path::{Path, PathBuf};

use weaver_gateway::bounded_file;
use weaver_policy::{Contracts, MAX_BYTES, Pattern, PolicySet, Source, Sources};
use weaver_types::{CapabilityId, Digest, OsRandom, Timestamp, random_text};

use crate::{Exit, Failure};

/// A contracts document that is to be written.
pub(super) struct Edit {
    pub(super) path: PathBuf,
    pub(super) text: String,
    pub(super) version: u64,
}

/// The document of a folder with these tools pinned, under the next version.
pub(super) fn pin(
    folder: &Path,
    pins: &[(CapabilityId, Digest)],
    now: Timestamp,
) -> Result<Edit, Failure> {
    let text = |kind: &str| {
        let path = folder.join(format!("{kind}.toml"));
        bounded_file::text(&path, MAX_BYTES).map_err(|error| {
            let message = format!("{}: {error}", path.display());
            Failure::new(Exit::Invalid, "contracts.unreadable", message)
        })
    };
    let (policy, before, keys) = (text("policy")?, text("contracts")?, text("keys")?);
    let read = |contracts: &str| {
        let sources = Sources {
            policy: Source::unsigned("policy.toml", &policy),
            contracts: Source::unsigned("contracts.toml", contracts),
            keys: Source::unsigned("keys.toml", &keys),
        };
        PolicySet::load_unsigned_development(&sources, now).map(|set| set.contracts().clone())
    };
    let wanted = wanted(read(&before)?, pins);
    let mut after = with_version(&before, wanted.version);
    for (id, digest) in pins {
        after = with_pin(&after, id, *digest);
    }
    if !read(&after).is_ok_and(|found| found == wanted) {
        return Err(by_hand(pins, wanted.version));
    }
    Ok(Edit { path: folder.join("contracts.toml"), text: after, version: wanted.version })
}

/// What the document must say afterwards.
fn wanted(mut contracts: Contracts, pins: &[(CapabilityId, Digest)]) -> Contracts {
    contracts.version += 1;
    for (id, digest) in pins {
        if let Ok(pattern) = Pattern::parse(id.as_str()) {
            contracts.capabilities.entry(pattern).or_default().upstream_digest = Some(*digest);
        }
    }
    contracts
}

/// It is written in a way that is not understood here.
fn by_hand(pins: &[(CapabilityId, Digest)], version: u64) -> Failure {
    let lines: Vec<String> = pins.iter().map(|(id, digest)| entry(id, *digest)).collect();
    let message = "contracts.toml is written in a way that cannot be changed here";
    Failure::new(Exit::Invalid, "contracts.by_hand", message).next(format!(
        "set `version = {version}` and, in each of these sections, the digest:\n{}",
        lines.join("\n")
    ))
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn header(id: &CapabilityId) -> String {
    format!("[capabilities.{}]", quoted(id.as_str()))
}

fn entry(id: &CapabilityId, digest: Digest) -> String {
    format!("{}\nupstream_digest = \"{digest}\"\n", header(id))
}

/// Whether the line sets this key, and nothing before it.
fn sets(line: &str, key: &str) -> bool {
    line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='))
}

fn with_version(text: &str, version: u64) -> String {
    let mut open = true;
    let lines = text.split_inclusive('\n').map(|line| {
        open &= !line.trim_start().starts_with('[');
        if open && sets(line, "version") {
            format!("version = {version}\n")
        } else {
            line.to_owned()
        }
    });
    lines.collect()
}

fn with_pin(text: &str, id: &CapabilityId, digest: Digest) -> String {
    let header = header(id);
    let single = header.replace('"', "'");
    let is_header = |line: &str| {
        let line = line.split('#').next().unwrap_or_default().trim();
        line == header || line == single
    };
    let pinned = format!("upstream_digest = \"{digest}\"\n");
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let Some(at) = lines.iter().position(|line| is_header(line)) else {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        return format!("{text}{end}\n{}", entry(id, digest));
    };
    let section =
        lines.iter_mut().skip(at + 1).take_while(|line| !line.trim_start().starts_with('['));
    match section.into_iter().find(|line| sets(line, "upstream_digest")) {
        Some(line) => *line = pinned,
        None => lines.insert(at + 1, pinned),
    }
    lines.concat()
}

impl Edit {
    /// Writes the document, whole or not at all.
    pub(super) fn write(&self) -> Result<(), Failure> {
        let failed = |error: std::io::Error| {
            let message = format!("{} cannot be written: {error}", self.path.display());
            Failure::new(Exit::Invalid, "contracts.unwritable", message)
                .next("make the folder writable, or take the text from `--print`")
        };
        let fresh = random_text(".contracts.", 8, &OsRandom)
            .map_err(|error| Failure::new(Exit::Internal, "contracts.random", error))?;
        let beside = self.path.with_file_name(fresh);
        fs::write(&beside, &self.text).map_err(failed)?;
        fs::rename(&beside, &self.path).map_err(|error| {
            let _ = fs::remove_file(&beside);
            failed(error)
        })
    }
}
