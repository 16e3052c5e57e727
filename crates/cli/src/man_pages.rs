//! `weaver man`: a page for each command, for `man`.

use std::fs;
use std::path::PathBuf;

use clap::Args;

use super::{Exit, Failure, output};

#[derive(Debug, Args)]
pub(super) struct ManPages {
    /// Where they go; the folder is made where it is missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(super) fn run(args: &ManPages, command: clap::Command) -> Result<Exit, Failure> {
    let unwritable = |error: std::io::Error| {
        let said = format!("{}: {error}", args.folder.display());
        Failure::new(Exit::Invalid, "man.unwritable", said).next("name a folder that you may write")
    };
    fs::create_dir_all(&args.folder).map_err(unwritable)?;
    clap_mangen::generate_to(command, &args.folder).map_err(unwritable)?;
    output::line(&format!("read them with `man {}`", args.folder.join("weaver.1").display()))?;
    Ok(Exit::Ok)
}
