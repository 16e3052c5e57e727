//! Makes signed documents as a user would: with a root key and three signatures.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::cache::Cache;
use crate::child;

/// The passphrase of a key that is not used after this run.
const PASSPHRASE: &str = "thrown away after the trial\n";
const TIMEOUT: Duration = Duration::from_secs(60);
/// Setting up starts every server once.
const INIT_TIMEOUT: Duration = Duration::from_secs(180);
const DOCUMENTS: [&str; 3] = ["policy.toml", "contracts.toml", "keys.toml"];

/// The documents to sign.
pub struct Documents<'a> {
    pub folder: &'a Path,
    /// The name of the folder for the signed documents, below that of the run.
    pub name: &'a str,
}

/// The signed documents, and the public root key.
#[derive(Clone)]
pub struct Trust {
    folder: PathBuf,
    root: String,
}

impl Trust {
    /// Creates a key and signs copies of the three documents with it, in a folder of the run.
    pub fn new(cache: &Cache, weaver: &Path, documents: &Documents<'_>) -> Result<Self> {
        let folder = cache.run().join(documents.name);
        fs::create_dir_all(&folder)?;
        let key = cache.run().join(format!("{}.key", documents.name));
        let mut keys = cache.command(weaver);
        keys.args(["keys", "new", "--id", "root", "--passphrase-fd", "0", "--json", "--out"]);
        let made = child::run(keys.arg(&key), PASSPHRASE, TIMEOUT)?.succeeded("weaver keys new")?;
        let made: Value = serde_json::from_str(&made).context("`weaver keys new` says no JSON")?;
        let root = made["public"].as_str().context("`weaver keys new` names no key")?.to_owned();
        let mut sign = cache.command(weaver);
        sign.args(["sign", "--passphrase-fd", "0", "--key"]).arg(&key);
        for name in DOCUMENTS {
            let (from, to) = (documents.folder.join(name), folder.join(name));
            fs::copy(&from, to).with_context(|| format!("cannot copy {}", from.display()))?;
            sign.arg(folder.join(name));
        }
        child::run(&mut sign, PASSPHRASE, TIMEOUT)?.succeeded("weaver sign")?;
        Ok(Self { folder, root })
    }

    /// The documents that `weaver init` makes for these servers under a posture, without asking
    /// anybody.
    pub fn of_posture(
        cache: &Cache,
        weaver: &Path,
        posture: &str,
        servers: &Value,
    ) -> Result<Self> {
        let client = cache.run().join("posture-servers.json");
        fs::write(&client, serde_json::json!({ "mcpServers": servers }).to_string())?;
        let folder = cache.run().join(format!("posture-{posture}"));
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let mut init = cache.command(weaver);
        init.args(["init", "--yes", "--json", "--passphrase-fd", "0", "--posture", posture]);
        init.arg("--from").arg(&client).arg("--dir").arg(&folder);
        child::run(&mut init, PASSPHRASE, INIT_TIMEOUT)?.succeeded("weaver init")?;
        let config: toml::Table = fs::read_to_string(folder.join("weaver.toml"))?.parse()?;
        let root = config.get("trust").and_then(|trust| trust.get("root"));
        let root = root.and_then(toml::Value::as_str).context("`weaver init` names no root key")?;
        Ok(Self { folder: folder.join("policy"), root: root.to_owned() })
    }

    #[cfg(test)]
    pub fn empty() -> Self {
        Self { folder: PathBuf::new(), root: String::new() }
    }

    /// The folder of the documents.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The `[trust]` section of a configuration.
    pub fn section(&self) -> toml::Table {
        toml::Table::from_iter([
            ("root".to_owned(), self.root.clone().into()),
            ("folder".to_owned(), self.folder.display().to_string().into()),
        ])
    }
}
