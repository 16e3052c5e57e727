//! The peer, in an environment of its own under the target folder.

use std::path::{Path, PathBuf};

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::process;

/// What is installed from PyPI.
const PACKAGE: &str = "weaver-kernel==0.12.0";

/// The interpreter that can import the peer; installed where it is not.
pub fn python(sh: &Shell, folder: &Path) -> Result<PathBuf> {
    let venv = folder.join("venv");
    let bin = if cfg!(windows) { "Scripts" } else { "bin" };
    let python = venv.join(bin).join("python");
    let there = python.exists()
        && cmd!(sh, "{python} -c 'import weaver_kernel'").quiet().ignore_stderr().run().is_ok();
    if !there {
        sh.create_dir(folder)?;
        process::run(cmd!(sh, "python3 -m venv {venv}"))?;
        process::run(cmd!(sh, "{python} -m pip install --quiet --retries 1 {PACKAGE}"))?;
    }
    Ok(python)
}
