//! `cargo xtask bench [--smoke]`.

use anyhow::{Result, bail};
use cargo_metadata::TargetKind;
use xshell::Shell;

use crate::{process, workspace};

/// Options of `bench`.
#[derive(clap::Args)]
pub struct Args {
    /// Run each bench once, without measuring, in the development profile.
    #[arg(long)]
    pub smoke: bool,
    /// Run only the benches whose name contains this.
    pub filter: Option<String>,
}

/// Run the bench targets of the workspace, one after the other.
///
/// For `--smoke` they are built together and with all features, as the tests are, so that nothing
/// is built twice.
///
/// # Errors
/// If a bench fails, or a filter selects none.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let metadata = workspace::metadata()?;
    let mut benches: Vec<(&str, &str)> = Vec::new();
    for package in metadata.workspace_packages() {
        for target in &package.targets {
            if target.kind.contains(&TargetKind::Bench) {
                benches.push((package.name.as_str(), target.name.as_str()));
            }
        }
    }
    benches.retain(|(_, name)| args.filter.as_deref().is_none_or(|f| name.contains(f)));
    benches.sort_unstable();
    if benches.is_empty() {
        if let Some(filter) = &args.filter {
            bail!("no bench has `{filter}` in its name");
        }
        println!("no benches in the workspace");
    }
    if args.smoke {
        let mut command =
            process::cargo(sh).args(["bench", "--workspace", "--all-features", "--profile", "dev"]);
        for (_, bench) in benches {
            command = command.args(["--bench", bench]);
        }
        return process::run(command.args(["--", "--test"]));
    }
    for (package, bench) in benches {
        // The profile of distributed binaries, which the `speed` programs use too.
        let profile = ["bench", "--profile", "dist", "-p", package];
        process::run(process::cargo(sh).args(profile).args(["--bench", bench]))?;
    }
    Ok(())
}
