//! The record of a connected file.

use std::fs;
use std::path::{Path, PathBuf};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use weaver_types::Timestamp;

use super::super::catalogue::Scope;
use super::super::error::ClientFileError;
use super::super::file::{ClientFile, resolved};
use super::super::server_table::Syntax;
use super::ConnectionPlan;

/// The version of the record's format.
const VERSION: u32 = 1;

/// What is recorded about a connected file, in the form in which it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConnectionRecord {
    v: u32,
    /// The base name of its files, which is not stored in them.
    #[serde(skip)]
    pub(super) name: String,
    pub(super) client: String,
    pub(super) client_name: String,
    pub(super) file: PathBuf,
    /// Where `file` led when it was connected, if that was another path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<PathBuf>,
    pub(super) keys: Vec<String>,
    syntax: Syntax,
    pub(super) existed: bool,
    pub(super) replaced: Vec<String>,
    /// The digest of the original text.
    #[serde(rename = "original")]
    pub(super) original_digest: String,
    /// The digest of the text that was written.
    #[serde(rename = "written")]
    pub(super) written_digest: String,
    #[serde(serialize_with = "write_time", deserialize_with = "read_time")]
    pub(super) at: Timestamp,
}

fn write_time<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&time.rfc3339())
}

fn read_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    let text = String::deserialize(deserializer)?;
    Timestamp::parse_rfc3339(&text)
        .ok_or_else(|| D::Error::custom(format!("`{text}` is not a time of RFC 3339")))
}

/// The digest of a text, for comparison.
pub(super) fn text_digest(text: &str) -> String {
    weaver_types::hex(&Sha256::digest(text.as_bytes()))
}

impl ConnectionRecord {
    pub(super) fn new(plan: &ConnectionPlan, now: Timestamp) -> Self {
        let file = &plan.file;
        let before = plan.original.as_deref();
        Self {
            v: VERSION,
            name: Self::name_of(file),
            client: file.client.clone(),
            client_name: file.client_name.clone(),
            file: file.path.clone(),
            target: Some(resolved(&file.path)).filter(|target| *target != file.path),
            keys: file.keys.clone(),
            syntax: file.syntax,
            existed: before.is_some(),
            replaced: plan.replaced.clone(),
            original_digest: text_digest(before.unwrap_or_default()),
            written_digest: text_digest(&plan.text),
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
        let digest = self.original_digest.get(..16).unwrap_or_default();
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
    ///
    /// # Errors
    /// [`ClientFileError`] if the path of the client's file is not UTF-8: JSON cannot hold it.
    pub(super) fn to_json(&self) -> Result<String, ClientFileError> {
        let json = serde_json::to_string_pretty(self).map_err(|error| {
            let problem = format!("its path cannot be recorded: {error}");
            let remedy = "rename the folder that is not UTF-8, or connect this client by hand";
            ClientFileError::new(&self.file, "clients.record", problem, remedy)
        })?;
        Ok(format!("{json}\n"))
    }

    pub(super) fn read(path: &Path) -> Result<Self, ClientFileError> {
        let broken = |problem: String| {
            let remedy = "move the file away; that does not change the client's own file";
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
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let record: Self = serde_json::from_value(value)
            .map_err(|error| broken(format!("not a record of a connection: {error}")))?;
        Ok(Self { name, ..record })
    }

    /// The client's file in its current form.
    ///
    /// # Errors
    /// [`ClientFileError`] if the file is invalid now, or if its path leads to another file than
    /// the one that was connected: a repository may have replaced its file by a link to any other.
    pub(super) fn client_file(&self) -> Result<ClientFile, ClientFileError> {
        let target = self.target.as_ref().unwrap_or(&self.file);
        let leads_to = resolved(&self.file);
        if leads_to != *target {
            let message =
                format!("it leads to {} now, which was not connected", leads_to.display());
            let remedy = format!("put {} back in its place, or edit it by hand", target.display());
            return Err(ClientFileError::new(&self.file, "clients.another_file", message, remedy));
        }
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
            project: None,
            comes_with_project: false,
        };
        file.reread()
    }
}
