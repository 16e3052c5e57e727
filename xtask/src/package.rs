//! `cargo xtask package [--offline]`: a dry run of publishing.

use anyhow::Result;
use xshell::Shell;

use crate::{process, workspace};

/// Options of `package`.
#[derive(clap::Args)]
pub struct Args {
    /// Do not ask the registry: package and verify, but do not rehearse the upload.
    #[arg(long, env = "CARGO_NET_OFFLINE")]
    pub offline: bool,
}

impl Args {
    /// Offline when cargo itself was told so.
    pub fn from_environment() -> Self {
        Self { offline: std::env::var("CARGO_NET_OFFLINE").is_ok_and(|value| value == "true") }
    }
}

/// Package and verify every published crate, in the order of their dependencies.
///
/// The dry run asks the registry's index for the versions that are already published. Without a
/// network, `--offline` does all but that.
///
/// All verification builds share one target folder. Without that, cargo would build every
/// dependency once for each package. The first time it is the workspace's own, whose dependencies
/// are built already. Later it is a fresh one: cargo takes a package of a version that it has built
/// for the same, whatever is in it by now.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let metadata = workspace::metadata()?;
    let verb: &[&str] = if args.offline {
        eprintln!("offline: packages are built and verified, the upload is not rehearsed");
        &["package", "--offline"]
    } else {
        &["publish", "--dry-run"]
    };
    let mut command = process::cargo(sh).args(verb).args(["--workspace", "--allow-dirty"]);
    for package in workspace::unpublished(&metadata) {
        command = command.args(["--exclude", package.name.as_str()]);
    }
    let own = &metadata.target_directory;
    let fresh = own.join("package-check");
    sh.remove_path(&fresh)?;
    let before = sh.path_exists(own.join("package"));
    process::run(command.env("CARGO_TARGET_DIR", if before { &fresh } else { own }))
}
