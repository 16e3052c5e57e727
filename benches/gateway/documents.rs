//! A configuration with signed documents in a temporary folder.

use std::path::PathBuf;

use tempfile::TempDir;
use weaver_policy::{Source, root_key_id, sign};
use weaver_types::Timestamp;
use weaver_types::signature::{Kind, SigningKey};

use crate::{AS_SERVER, Failure};

const POLICY: &str = r#"
kind = "policy"
format = 1
id = "bench"
version = 1

[principals.bench]
roles = ["caller"]

[[rules]]
name = "closed-world"
match = { capability = "echo.*", effects = { world = "closed" } }
effect = "allow"
"#;

const CONTRACTS: &str = r#"
kind = "contracts"
format = 1
id = "bench"
version = 1

[capabilities."echo.get"]
effects = "read_local"

[capabilities."echo.put"]
effects = "write_local"
"#;

const KEYS: &str = r#"
kind = "keys"
format = 1
id = "bench"
version = 1
"#;

/// The folder; it is removed at the end.
pub(crate) struct Setup {
    /// The configuration.
    pub(crate) config: PathBuf,
    /// The ledger.
    pub(crate) ledger: PathBuf,
    _folder: TempDir,
}

impl Setup {
    /// Writes everything.
    pub(crate) fn write(now: Timestamp) -> Result<Self, Failure> {
        // In the target folder rather than in a temporary file system, which syncs nothing.
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR"))?;
        let root = SigningKey::from_seed([7; 32]);
        let policy = folder.path().join("policy");
        std::fs::create_dir(&policy)?;
        for (kind, text) in
            [(Kind::Policy, POLICY), (Kind::Contracts, CONTRACTS), (Kind::Keys, KEYS)]
        {
            let source = Source::unsigned(kind.as_str(), text);
            let envelope = sign(&source, kind, root_key_id(&root.public())?, &root, now)?;
            std::fs::write(policy.join(format!("{kind}.toml")), text)?;
            std::fs::write(policy.join(format!("{kind}.toml.sig")), envelope.to_json()?)?;
        }
        let program = serde_json::to_string(&std::env::current_exe()?)?;
        let text = format!(
            "[gateway]\nmode = \"proxy\"\nunprefixed = true\n\
             [principal]\nid = \"bench\"\n\
             [trust]\nroot = \"{}\"\n\
             [mcpServers.echo]\ncommand = {program}\nargs = [\"{AS_SERVER}\"]\n",
            root.public()
        );
        let config = folder.path().join("weaver.toml");
        std::fs::write(&config, text)?;
        Ok(Self { config, ledger: folder.path().join(".weaver/ledger.db"), _folder: folder })
    }
}
