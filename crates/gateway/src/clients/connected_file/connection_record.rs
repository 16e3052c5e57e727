//! The record of a connected file.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use weaver_types::Timestamp;

use super::super::catalogue::Scope;
use super::super::error::ClientFileError;
use super::super::file::ClientFile;
use super::super::server_table::Syntax;
use super::ConnectionPlan;

/// The version of the record's format.
const VERSION: u32 = 1;

/// What is recorded about a connected file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConnectionRecord {
    /// The base name of its files.
    pub(super) name: String,
    pub(super) client: String,
    pub(super) client_name: String,
    pub(super) file: PathBuf,
    pub(super) keys: Vec<String>,
    syntax: Syntax,
    pub(super) existed: bool,
    pub(super) replaced: Vec<String>,
    /// The digest of the original text.
    pub(super) original: String,
    /// The digest of the text that was written.
    pub(super) written: String,
    pub(super) at: Timestamp,
}

/// The record as stored in its file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordFile {
    v: u32,
    client: String,
    client_name: String,
    file: PathBuf,
    keys: Vec<String>,
    syntax: String,
    existed: bool,
    replaced: Vec<String>,
    original: String,
    written: String,
    at: String,
}

const SYNTAXES: [(&str, Syntax); 3] =
    [("json", Syntax::Json), ("toml", Syntax::Toml), ("yaml", Syntax::Yaml)];

/// The digest of a text, for comparison.
pub(super) fn text_digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl ConnectionRecord {
    pub(super) fn new(plan: &ConnectionPlan, now: Timestamp) -> Self {
        let file = &plan.file;
        let before = plan.original.as_deref();
        Self {
            name: Self::name_of(file),
            client: file.client.clone(),
            client_name: file.client_name.clone(),
            file: file.path.clone(),
            keys: file.keys.clone(),
            syntax: file.syntax,
            existed: before.is_some(),
            replaced: plan.replaced.clone(),
            original: text_digest(before.unwrap_or_default()),
            written: text_digest(&plan.text),
            at: now,
        }
    }

    /// A unique name for each table of servers.
    pub(super) fn name_of(file: &ClientFile) -> String {
        let table_key = format!("{}\n{}", file.path.display(), file.keys.join("\n"));
        format!("{}-{}", file.client, text_digest(&table_key).get(..12).unwrap_or_default())
    }

    pub(super) fn path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.json", self.name))
    }

    /// The path of the backup. It contains the digest, so that connecting again never overwrites a
    /// backup that an earlier record still needs.
    pub(super) fn backup(&self, folder: &Path) -> PathBuf {
        let digest = self.original.get(..16).unwrap_or_default();
        folder.join(format!("{}-{digest}.backup", self.name))
    }

    /// All files of this connection: the record, backups including those of earlier records, and
    /// leftovers of interrupted writes.
    pub(super) fn files(&self, folder: &Path) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        let of_this = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            name.strip_prefix(&self.name).is_some_and(|rest| rest.starts_with(['.', '-']))
        };
        entries.flatten().map(|entry| entry.path()).filter(of_this).collect()
    }

    /// The record as JSON text.
    pub(super) fn to_json(&self) -> String {
        let syntax = SYNTAXES.iter().find(|(_, syntax)| *syntax == self.syntax);
        let wire = RecordFile {
            v: VERSION,
            client: self.client.clone(),
            client_name: self.client_name.clone(),
            file: self.file.clone(),
            keys: self.keys.clone(),
            syntax: syntax.map_or("json", |(word, _)| word).to_owned(),
            existed: self.existed,
            replaced: self.replaced.clone(),
            original: self.original.clone(),
            written: self.written.clone(),
            at: self.at.rfc3339(),
        };
        // Non-UTF-8 paths are rejected on reading; nothing else can fail.
        serde_json::to_string_pretty(&wire).map(|text| format!("{text}\n")).unwrap_or_default()
    }

    pub(super) fn read(path: &Path) -> Result<Self, ClientFileError> {
        let broken = |problem: String| {
            let remedy = "move the file away; the client's own file is not touched by that";
            ClientFileError::new(path, "clients.record", problem, remedy)
        };
        let text =
            fs::read_to_string(path).map_err(|error| broken(format!("unreadable: {error}")))?;
        let value: serde_json::Value = serde_json::from_str(&text)
            .map_err(|error| broken(format!("not a record of a connection: {error}")))?;
        match value.get("v").and_then(serde_json::Value::as_u64) {
            Some(v) if v > u64::from(VERSION) => {
                return Err(broken(format!("it has version {v}, this build knows {VERSION}")));
            }
            _ => {}
        }
        let wire: RecordFile = serde_json::from_value(value)
            .map_err(|error| broken(format!("not a record of a connection: {error}")))?;
        let syntax = SYNTAXES.iter().find(|(word, _)| *word == wire.syntax);
        let (_, syntax) = syntax
            .ok_or_else(|| broken(format!("`{}` is no syntax that is known", wire.syntax)))?;
        let at = Timestamp::parse_rfc3339(&wire.at)
            .ok_or_else(|| broken(format!("`{}` is no time", wire.at)))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self {
            name,
            client: wire.client,
            client_name: wire.client_name,
            file: wire.file,
            keys: wire.keys,
            syntax: *syntax,
            existed: wire.existed,
            replaced: wire.replaced,
            original: wire.original,
            written: wire.written,
            at,
        })
    }

    /// The client's file in its current form.
    pub(super) fn client_file(&self) -> Result<ClientFile, ClientFileError> {
        let file = ClientFile {
            client: self.client.clone(),
            client_name: self.client_name.clone(),
            scope: Scope::User,
            path: self.file.clone(),
            servers: Vec::new(),
            text: String::new(),
            syntax: self.syntax,
            keys: self.keys.clone(),
            exists: true,
        };
        file.reread()
    }
}
