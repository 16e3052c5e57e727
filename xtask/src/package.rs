//! `cargo xtask package [--offline]`: a dry run of publishing.

use std::{
    collections::BTreeSet,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::Path,
};

use anyhow::{Context, Result};
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
/// Cargo keeps what it unpacked and built under the path of the target folder and the version. The
/// next package of the same version under the same path is taken for the same, whatever is in it by
/// now, and the copies lie in cargo's home, so a clean checkout does not help. Each content is
/// therefore packaged under a path of its own. That path leads to the workspace's target folder,
/// where the other dependencies are built already.
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
    let root = metadata.workspace_root.as_std_path();
    let target = metadata.target_directory.as_std_path();
    let paths = target.join("package-paths");
    sh.remove_path(&paths)?;
    sh.remove_path(target.join("package"))?;
    let own = paths.join(format!("{:016x}", content(sh, root)?));
    sh.create_dir(&paths)?;
    lead(&own, target).with_context(|| format!("making {}", own.display()))?;
    process::run(command.env("CARGO_TARGET_DIR", &own))
}

/// Makes `from` another name of the folder `to`.
#[cfg(unix)]
fn lead(from: &Path, to: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(to, from)
}

/// Makes a folder of its own where links need a privilege: right, only slower.
#[cfg(not(unix))]
fn lead(from: &Path, _to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(from)
}

/// A number for all that the packages hold: names and bytes of every file git knows or would add.
fn content(sh: &Shell, root: &Path) -> Result<u64> {
    let listed =
        xshell::cmd!(sh, "git -C {root} ls-files --cached --others --exclude-standard").read()?;
    let mut hasher = DefaultHasher::new();
    for name in listed.lines().collect::<BTreeSet<_>>() {
        name.hash(&mut hasher);
        // A file that is listed and gone is a change as well.
        fs::read(root.join(name)).unwrap_or_default().hash(&mut hasher);
    }
    Ok(hasher.finish())
}
