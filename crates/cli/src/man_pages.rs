//! `weaver man`: writes a manual page for each command.

use std::fs;
use std::path::PathBuf;

use clap::{Args, Command};

use super::{Exit, Failure, output};

#[derive(Debug, Args)]
pub(super) struct ManPages {
    /// The folder to write to; created if it is missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Writes the pages of a command and its subcommands.
pub(super) fn run(args: &ManPages, command: Command) -> Result<Exit, Failure> {
    let unwritable = |error: std::io::Error| {
        let message = format!("{}: {error}", args.folder.display());
        Failure::new(Exit::Invalid, "man.unwritable", message)
            .with_next_step("name a folder that you may write")
    };
    fs::create_dir_all(&args.folder).map_err(unwritable)?;
    clap_mangen::generate_to(command, &args.folder).map_err(unwritable)?;
    output::line(&format!("read them with `man {}`", args.folder.join("weaver.1").display()))?;
    Ok(Exit::Ok)
}
