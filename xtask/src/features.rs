//! `cargo xtask features [--each]`: each published crate must build without its default features,
//! and with each of its features alone.

use anyhow::Result;
use cargo_metadata::{Package, TargetKind};
use xshell::Shell;

use crate::{process, workspace};

/// Options of `features`.
#[derive(clap::Args)]
pub struct Args {
    /// Check the crates that have features with each feature alone, instead of with none.
    #[arg(long)]
    pub each: bool,
}

/// Check each published crate alone, so that features enabled by other crates cannot hide a
/// problem.
///
/// # Errors
/// If a crate does not build; names the command that failed.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let metadata = workspace::metadata()?;
    for package in workspace::published(&metadata) {
        let features = if args.each { non_default_features(package) } else { vec![""] };
        for feature in features {
            let mut command = process::cargo(sh).args(["check", "-p", package.name.as_str()]);
            // Only the library: its tests are checked with all features.
            command = command.arg(if has_library(package) { "--lib" } else { "--bins" });
            // To cargo, a crate with an empty `default` is another than the same crate without it,
            // and those that depend on it enable it. So it would be checked twice.
            if has_default_features(package) {
                command = command.arg("--no-default-features");
            }
            if !feature.is_empty() {
                command = command.args(["--features", feature]);
            }
            process::run(command)?;
        }
    }
    Ok(())
}

/// The features of a crate except `default`, in order.
fn non_default_features(package: &Package) -> Vec<&str> {
    package.features.keys().map(String::as_str).filter(|name| *name != "default").collect()
}

fn has_default_features(package: &Package) -> bool {
    package.features.get("default").is_some_and(|enabled| !enabled.is_empty())
}

fn has_library(package: &Package) -> bool {
    package.targets.iter().any(|target| target.kind.contains(&TargetKind::Lib))
}

#[cfg(test)]
mod tests {
    use super::{has_default_features, has_library, non_default_features};
    use crate::workspace;

    #[test]
    fn every_feature_but_the_default_is_checked_alone() {
        let metadata = workspace::metadata().unwrap();
        let find = |name: &str| {
            workspace::published(&metadata)
                .into_iter()
                .find(|one| one.name.as_str() == name)
                .unwrap()
        };
        assert_eq!(non_default_features(find("weaver-text")), ["confusable", "stem", "tiktoken"]);
        assert_eq!(non_default_features(find("weaver-gateway")), ["keychain", "tiktoken"]);
        assert!(non_default_features(find("weaver-policy")).is_empty());
        assert!(has_library(find("weaver-gateway")) && !has_library(find("weaver-cli")));
        assert!(has_default_features(find("weaver-cli")));
        assert!(!has_default_features(find("weaver-drivers")));
        assert!(!has_default_features(find("weaver-policy")));
    }
}
