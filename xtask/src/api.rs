//! `cargo xtask api [--check]`: writes the public interface of each published crate as text, so
//! that every change of it shows in a diff.
//!
//! The sources are parsed with `syn`, with all features on. Each public item is one line under
//! every path by which another crate can name it. Methods and trait implementations follow their
//! type. Items made by macros are not seen, but for those of `words!`.

mod lines;

use anyhow::{Result, bail};
use xshell::Shell;

use crate::parsed_crate::Crate;
use crate::workspace;

/// Where the texts are written.
const FOLDER: &str = "docs/api";

/// Options of `api`.
#[derive(clap::Args)]
pub struct Args {
    /// Write nothing, and fail if a text is out of date.
    #[arg(long)]
    pub check: bool,
}

/// Write the interfaces of all published crates, or compare them with what is written.
///
/// # Errors
/// If a source cannot be parsed, or a text is out of date.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let metadata = workspace::metadata()?;
    let mut stale = Vec::new();
    for package in workspace::published(&metadata) {
        let Some(target) = package.targets.iter().find(|target| target.is_lib()) else { continue };
        let krate = Crate::read(&target.name, target.src_path.as_std_path())?;
        let mut text = lines::public_lines(&krate).join("\n");
        text.push('\n');
        let path = format!("{FOLDER}/{}.txt", package.name);
        if !args.check {
            sh.write_file(&path, &text)?;
        } else if sh.read_file(&path).ok().as_ref() != Some(&text) {
            stale.push(path);
        }
    }
    if !stale.is_empty() {
        bail!("{} out of date; run `cargo xtask api` and look at the diff", stale.join(", "));
    }
    println!("api: the public interfaces are those of {FOLDER}");
    Ok(())
}
