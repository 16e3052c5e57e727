//! Signed documents for the trial, made as a user makes them: a root key, three signatures.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::cache::Cache;
use super::child;
use super::plan::{Mode, Plan};

/// Opens a key that nobody uses again after this run.
const PASSPHRASE: &str = "thrown away after the trial\n";
const PATIENCE: Duration = Duration::from_secs(60);
const DOCUMENTS: [&str; 3] = ["policy.toml", "contracts.toml", "keys.toml"];

/// The signed documents and the public key that vouches for them.
pub struct Trust {
    folder: PathBuf,
    root: String,
}

impl Trust {
    /// Makes a key and signs the documents of `xtask/interop/documents/` with it.
    pub fn new(cache: &Cache, weaver: &Path) -> Result<Self> {
        let folder = cache.run().join("policy");
        fs::create_dir_all(&folder)?;
        let key = cache.run().join("root.key");
        let mut keys = cache.command(weaver);
        keys.args(["keys", "new", "--id", "root", "--passphrase-fd", "0", "--json", "--out"]);
        let made =
            child::run(keys.arg(&key), PASSPHRASE, PATIENCE)?.succeeded("weaver keys new")?;
        let made: Value = serde_json::from_str(&made).context("`weaver keys new` says no JSON")?;
        let root = made["public"].as_str().context("`weaver keys new` names no key")?.to_owned();
        let mut sign = cache.command(weaver);
        sign.args(["sign", "--passphrase-fd", "0", "--key"]).arg(&key);
        for name in DOCUMENTS {
            fs::copy(cache.script("documents").join(name), folder.join(name))?;
            sign.arg(folder.join(name));
        }
        child::run(&mut sign, PASSPHRASE, PATIENCE)?.succeeded("weaver sign")?;
        Ok(Self { folder, root })
    }

    /// The configuration of the gateway for one pair.
    pub fn config(&self, plan: &Plan, server: &[String], env: &[(String, String)]) -> String {
        let mut upstream = toml::Table::new();
        let mut words = server.iter().cloned();
        upstream.insert("command".to_owned(), words.next().unwrap_or_default().into());
        upstream.insert("args".to_owned(), words.collect::<Vec<String>>().into());
        let env: toml::Table = env.iter().map(|(k, v)| (k.clone(), v.clone().into())).collect();
        upstream.insert("env".to_owned(), env.into());
        let gateway = match plan.mode {
            Mode::Gateway => table([("mode", "gateway".into())]),
            Mode::Proxy => table([("mode", "proxy".into()), ("unprefixed", true.into())]),
        };
        let folder = self.folder.display().to_string();
        let config = toml::Table::from_iter([
            ("principal".to_owned(), table([("id", "interop".into())])),
            (
                "trust".to_owned(),
                table([("root", self.root.clone().into()), ("folder", folder.into())]),
            ),
            ("gateway".to_owned(), gateway),
            ("mcpServers".to_owned(), table([(plan.server.name, upstream.into())])),
        ]);
        config.to_string()
    }
}

fn table<const N: usize>(pairs: [(&str, toml::Value); N]) -> toml::Value {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<toml::Table>().into()
}
