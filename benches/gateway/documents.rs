//! A configuration with signed documents in a temporary folder, and the daemon that serves it.

use std::fmt::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use weaver_gateway::daemon::{self, DaemonStatus};
use weaver_gateway::serve::AfterShutdown;
use weaver_policy::{DocumentSource, sign_document, signing_key_id};
use weaver_types::signature::{DocumentKind, SigningKey};
use weaver_types::{Clock as _, SystemClock};

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
match = { capability = "echo*", effects = { world = "closed" } }
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

/// Which servers stand behind the gateway.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Servers<'a> {
    /// One, whose tools keep their names.
    One,
    /// One of the official SDK: this program with the argument `server`.
    Sdk(&'a Path),
    /// Several servers, each with further tools beside the two that are called.
    Many { servers: usize, more: usize },
}

/// The folder; it is removed at the end, and its daemon ends.
pub(crate) struct Setup {
    /// The configuration.
    pub(crate) config: PathBuf,
    /// The ledger.
    pub(crate) ledger: PathBuf,
    /// Where a daemon serves clients over HTTP.
    pub(crate) http: SocketAddr,
    folder: TempDir,
}

impl Setup {
    /// Writes everything.
    pub(crate) fn write(servers: Servers<'_>) -> Result<Self, Failure> {
        // In the target folder rather than in a temporary file system, which syncs nothing.
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR"))?;
        let root = SigningKey::from_seed([7; 32]);
        let policy = folder.path().join("policy");
        std::fs::create_dir(&policy)?;
        let now = SystemClock::default().now();
        for (kind, text) in [
            (DocumentKind::Policy, POLICY),
            (DocumentKind::Contracts, CONTRACTS),
            (DocumentKind::Keys, KEYS),
        ] {
            let source = DocumentSource::unsigned(kind.as_str(), text);
            let envelope =
                sign_document(&source, kind, signing_key_id(&root.public())?, &root, now)?;
            std::fs::write(policy.join(format!("{kind}.toml")), text)?;
            std::fs::write(policy.join(format!("{kind}.toml.sig")), envelope.to_json()?)?;
        }
        // A port that is free now; nobody else is expected to take it.
        let http = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let unprefixed = !matches!(servers, Servers::Many { .. });
        let mut text = format!(
            "[gateway]\nmode = \"proxy\"\nunprefixed = {unprefixed}\n\
             [principal]\nid = \"bench\"\n\
             [trust]\nroot = \"{}\"\n\
             [http]\nlisten = \"{http}\"\nanonymous = true\n",
            root.public()
        );
        let own = std::env::current_exe()?;
        let (program, args, count) = match servers {
            Servers::One => (own.as_path(), vec![AS_SERVER.to_owned()], 1),
            Servers::Sdk(program) => (program, vec!["server".to_owned()], 1),
            Servers::Many { servers, more } => {
                (own.as_path(), vec![AS_SERVER.to_owned(), more.to_string()], servers)
            }
        };
        let (program, args) = (serde_json::to_string(program)?, serde_json::to_string(&args)?);
        for n in 0..count {
            let name = if n == 0 { "echo".to_owned() } else { format!("echo{n}") };
            writeln!(text, "[mcpServers.{name}]\ncommand = {program}\nargs = {args}")?;
        }
        let config = folder.path().join("weaver.toml");
        std::fs::write(&config, text)?;
        Ok(Self { config, ledger: folder.path().join(".weaver/ledger.db"), http, folder })
    }

    /// A place for a file of its own beside the ledger.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What the daemon says of itself.
    pub(crate) fn status(&self) -> Result<DaemonStatus, Failure> {
        Ok(daemon::status(&self.store()?)?)
    }

    /// Bytes of memory that the daemon holds.
    pub(crate) fn daemon_memory(&self) -> Result<Option<u64>, Failure> {
        Ok(resident(self.status()?.pid))
    }

    fn store(&self) -> Result<PathBuf, Failure> {
        Ok(weaver_gateway::config::load_store_path(&self.config)?)
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        // There may be none.
        let _ = self.store().map(|store| daemon::stop(&store, AfterShutdown::Stopped));
    }
}

/// Bytes of memory that a process holds, where the system says so.
pub(crate) fn resident(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status"));
    let status = status.ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}
