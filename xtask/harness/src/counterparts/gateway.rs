//! What is asked of the `weaver` of a run besides its calls.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Result;

use super::cache::Cache;
use crate::child;

/// How long a command may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The command line by which a client starts the gateway.
pub fn serve_words(weaver: &Path, config: &Path) -> Vec<String> {
    let words = [weaver, Path::new("serve"), Path::new("--config"), config];
    words.map(|word| word.display().to_string()).to_vec()
}

/// Stops the daemon that clients left running. One that has already exited is fine.
pub fn stop(weaver: &Path, config: &Path) {
    let mut stop = Command::new(weaver);
    stop.arg("stop").arg("--config").arg(config);
    let _ = stop.stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// Verifies the log of the gateway in this folder.
pub fn verify_log(cache: &Cache, weaver: &Path, folder: &Path) -> Result<()> {
    let mut verify = cache.command(weaver);
    verify.args(["trace", "verify", "--store"]).arg(folder.join(".weaver/ledger.db"));
    child::run(&mut verify, "", TIMEOUT)?.succeeded("weaver trace verify").map(drop)
}
