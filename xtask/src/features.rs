//! `cargo xtask features [--each]`: each published crate must build without its default features,
//! and each library with each of its features alone.

use anyhow::Result;
use cargo_metadata::{Package, TargetKind};
use xshell::Shell;

use crate::{process, workspace};

/// Options of `features`.
#[derive(clap::Args)]
pub struct Args {
    /// Check each library with each of its features alone, instead of each crate with none.
    #[arg(long)]
    pub each: bool,
}

/// Check each published crate alone, so that features enabled by other crates cannot hide a
/// problem.
///
/// Other steps check two sets of features: `package` the defaults of each crate, `lint` all features.
/// Nobody depends on an executable, so that only its build without features is left to check.
///
/// # Errors
/// If a crate does not build; names the command that failed.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let metadata = workspace::metadata()?;
    for package in workspace::published(&metadata) {
        let features = if args.each { features_to_check(package) } else { vec![""] };
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

/// The features of a library, in order, except `default` and one that alone is the default.
fn features_to_check(package: &Package) -> Vec<&str> {
    let alone_by_default = match package.features.get("default").map(Vec::as_slice) {
        Some([only]) => Some(only.as_str()),
        _ => None,
    };
    package
        .features
        .keys()
        .map(String::as_str)
        .filter(|name| {
            has_library(package) && *name != "default" && Some(*name) != alone_by_default
        })
        .collect()
}

fn has_default_features(package: &Package) -> bool {
    package.features.get("default").is_some_and(|enabled| !enabled.is_empty())
}

fn has_library(package: &Package) -> bool {
    package.targets.iter().any(|target| target.kind.contains(&TargetKind::Lib))
}

#[cfg(test)]
mod tests {
    use super::{features_to_check, has_default_features, has_library};
    use crate::workspace;

    #[test]
    fn every_feature_of_a_library_but_the_default_is_checked_alone() {
        let metadata = workspace::metadata().unwrap();
        let find = |name: &str| {
            workspace::published(&metadata)
                .into_iter()
                .find(|one| one.name.as_str() == name)
                .unwrap()
        };
        assert_eq!(features_to_check(find("weaver-text")), ["confusable", "stem", "tiktoken"]);
        assert_eq!(features_to_check(find("weaver-gateway")), ["keychain"]);
        assert!(features_to_check(find("weaver-policy")).is_empty());
        assert!(features_to_check(find("weaver-cli")).is_empty());
        assert!(has_library(find("weaver-gateway")) && !has_library(find("weaver-cli")));
        assert!(has_default_features(find("weaver-cli")));
        assert!(!has_default_features(find("weaver-drivers")));
        assert!(!has_default_features(find("weaver-policy")));
    }
}
