//! `weaver logs`: shows the log messages of the daemon.

use std::fs::{File, Metadata};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::Duration;

use clap::Args;
use weaver_gateway::daemon::DaemonFolder;

use super::store_of;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::shared_args::ConfigArg;

/// How often to look for new lines.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// How much of the end of the log is read for its last lines, in bytes.
const MAX_TAIL_BYTES: u64 = 256 * 1024;

#[derive(Debug, Args)]
pub(crate) struct Logs {
    #[command(flatten)]
    config: ConfigArg,
    /// Show this many of the last lines
    #[arg(long, value_name = "N", default_value_t = 50)]
    lines: usize,
    /// Keep printing lines as they are added
    #[arg(long, short)]
    follow: bool,
}

pub(crate) fn run(args: &Logs) -> Result<Exit, Failure> {
    let store = store_of(&args.config.path())?;
    let path = DaemonFolder::of_store(&store).log();
    let mut file = File::open(&path).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        Failure::new(Exit::NotFound, "daemon.log", message).with_next_step(
            "there is a log once a client has started the daemon; one that was started by hand \
                 or by a service manager writes its messages to its own standard error",
        )
    })?;
    let length = file.metadata().map_err(Failure::from)?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_TAIL_BYTES))).map_err(Failure::from)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(Failure::from)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    for line in lines.get(lines.len().saturating_sub(args.lines)..).unwrap_or_default() {
        output::line(line)?;
    }
    if args.follow {
        follow(file, &path)?;
    }
    Ok(Exit::Ok)
}

/// Prints what is appended, until the output is closed. Continues with the new file when the log is
/// rotated.
fn follow(mut file: File, path: &Path) -> Result<(), Failure> {
    loop {
        let is_replaced = match (file.metadata(), path.metadata()) {
            (Ok(open), Ok(named)) => is_other_file(&open, &named),
            _ => false,
        };
        let mut bytes = Vec::new();
        match file.read_to_end(&mut bytes) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error.into()),
            _ => output::text(&String::from_utf8_lossy(&bytes))?,
        }
        if is_replaced && let Ok(replacement) = File::open(path) {
            file = replacement;
        } else if !output::wait_while_read(POLL_INTERVAL) {
            return Ok(());
        }
    }
}

#[cfg(unix)]
fn is_other_file(open: &Metadata, named: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    open.ino() != named.ino()
}

/// A log only grows, and a new one begins small.
#[cfg(not(unix))]
fn is_other_file(open: &Metadata, named: &Metadata) -> bool {
    named.len() < open.len()
}
