//! The peer, in its own environment below the target folder.

use std::path::{Path, PathBuf};

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::process;

/// What is installed from PyPI, and the module that it contains.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    package: &'static str,
    module: &'static str,
    venv: &'static str,
}

/// agent-kernel (Python).
pub const AGENT_KERNEL: Peer =
    Peer { package: "weaver-kernel==0.12.0", module: "weaver_kernel", venv: "venv" };
/// contextweaver (Python).
pub const CONTEXTWEAVER: Peer =
    Peer { package: "contextweaver==0.18.2", module: "contextweaver", venv: "venv-context" };
/// A proxy between pipes.
pub const FASTMCP: Peer =
    Peer { package: "fastmcp==4.1.2", module: "fastmcp", venv: "venv-proxies" };
/// A proxy between HTTP and a server's pipes.
pub const MCP_PROXY: Peer =
    Peer { package: "mcp-proxy==0.13.0", module: "mcp_proxy", venv: "venv-mcp-proxy" };

/// The interpreter that can import the peer; installs it if needed.
pub fn python(sh: &Shell, folder: &Path, peer: Peer) -> Result<PathBuf> {
    let Peer { package, module, venv } = peer;
    let venv = folder.join(venv);
    let bin = if cfg!(windows) { "Scripts" } else { "bin" };
    let python = venv.join(bin).join("python");
    let import = format!("import {module}");
    let there =
        python.exists() && cmd!(sh, "{python} -c {import}").quiet().ignore_stderr().run().is_ok();
    if !there {
        sh.create_dir(folder)?;
        process::run(cmd!(sh, "python3 -m venv {venv}"))?;
        process::run(cmd!(sh, "{python} -m pip install --quiet --retries 1 {package}"))?;
    }
    Ok(python)
}
