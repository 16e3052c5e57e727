//! Starts a gateway over HTTP in front of the fixture, set up as a user would.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::child::ProcessGroup;
use crate::counterparts::cache::Cache;
use crate::counterparts::trust::{Documents, Trust};
use crate::workspace;

/// How long the fixture and the gateway may take to start.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The revision without sessions.
const STATELESS_REVISION: &str = "2026-07-28";

/// The fixture, and the gateway in front of it.
pub struct RunningGateway {
    pub fixture: String,
    pub gateway: String,
    _fixture: ProcessGroup,
    _gateway: ProcessGroup,
}

impl RunningGateway {
    /// Starts both for the scenarios of one revision. The fixture speaks the protocol version of
    /// that revision, so the gateway bridges nothing. `target` is the build folder.
    pub fn start(target: &Path, node: &Path, weaver: &Path, revision: &str) -> Result<Self> {
        let root = workspace::root()?;
        let lists = root.join("xtask/harness/conformance");
        let (behind, front) = (free_port()?, free_port()?);
        let mut fixture = Command::new(node);
        fixture.arg(lists.join("fixture.mjs")).arg(behind.to_string()).stdout(Stdio::null());
        if revision == STATELESS_REVISION {
            fixture.arg("modern");
        }
        let running = ProcessGroup::start(&mut fixture)?;
        wait_for(behind).context("the fixture does not start")?;
        let cache = Cache::open(target, &root, &target.join("conformance/run"))?;
        let documents = Documents { folder: &lists.join("documents"), name: "policy" };
        let trust = Trust::new(&cache, weaver, &documents)?;
        let config = cache.run().join("weaver.toml");
        fs::write(&config, config_text(&trust, behind, front))?;
        let log = fs::File::create(cache.run().join("weaver.log"))?;
        let mut daemon = cache.command(weaver);
        daemon.args(["daemon", "--config"]).arg(&config).stdout(Stdio::null()).stderr(log);
        let gateway = ProcessGroup::start(&mut daemon)?;
        wait_for(front).with_context(|| format!("no gateway; see {}", cache.run().display()))?;
        Ok(Self {
            fixture: format!("http://127.0.0.1:{behind}/mcp"),
            gateway: format!("http://127.0.0.1:{front}/mcp"),
            _fixture: running,
            _gateway: gateway,
        })
    }
}

/// The text of `weaver.toml`.
fn config_text(trust: &Trust, behind: u16, front: u16) -> String {
    let trust = toml::Table::from_iter([("trust".to_owned(), trust.section().into())]);
    format!(
        "{trust}\n[principal]\nid = \"conformance\"\n\n\
         [gateway]\nmode = \"proxy\"\nunprefixed = true\n\n\
         [http]\nlisten = \"127.0.0.1:{front}\"\nanonymous = true\n\
         origins = [\"http://localhost:{front}\", \"http://127.0.0.1:{front}\"]\n\n\
         [mcpServers.fixture]\nurl = \"http://127.0.0.1:{behind}/mcp\"\n"
    )
}

pub fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

pub fn wait_for(port: u16) -> Result<()> {
    let end = Instant::now() + TIMEOUT;
    while Instant::now() < end {
        if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    bail!("nobody listens at port {port}")
}
