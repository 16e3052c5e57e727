//! `cargo xtask package [--offline]`: a dry run of publishing.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, Package};
use xshell::{Shell, cmd};

use crate::{process, workspace};

/// Options of `package`.
#[derive(clap::Args)]
pub struct Args {
    /// Do not ask the registry: package and check, but do not rehearse the upload.
    #[arg(long, env = "CARGO_NET_OFFLINE")]
    pub offline: bool,
}

impl Args {
    /// Offline if cargo itself was told so.
    pub fn from_environment() -> Self {
        Self { offline: std::env::var("CARGO_NET_OFFLINE").is_ok_and(|value| value == "true") }
    }
}

/// Package every published crate, and check what was packaged.
///
/// The dry run asks the registry for the versions that are already published. Without a network,
/// `--offline` skips that.
///
/// Cargo's own verification builds each package twice: once for itself, and once for those that
/// depend on it. Here all packages are unpacked next to each other and checked together, each with
/// its default features.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let metadata = workspace::metadata()?;
    let root = metadata.workspace_root.as_std_path();
    let target = metadata.target_directory.as_std_path();
    let all = |verb: &[&str]| {
        let mut command = process::cargo(sh).args(verb);
        command = command.args(["--workspace", "--allow-dirty", "--no-verify"]);
        for package in workspace::unpublished(&metadata) {
            command = command.args(["--exclude", package.name.as_str()]);
        }
        process::run(command.env("CARGO_TARGET_DIR", target))
    };
    let packaged = target.join("package");
    sh.remove_path(&packaged)?;
    if args.offline {
        eprintln!("offline: packages are made and checked, the upload is not rehearsed");
        all(&["package", "--offline"])?;
    } else {
        all(&["publish", "--dry-run"])?;
        all(&["package"])?;
    }
    let published = workspace::published(&metadata);
    let unpacked = target.join("unpacked");
    sh.remove_path(&unpacked)?;
    sh.create_dir(&unpacked)?;
    for package in &published {
        let file = packaged.join(format!("{}.crate", folder(package)));
        // With the current time: all files of an archive have the same time, so that a check would
        // take them for unchanged.
        process::run(cmd!(sh, "tar -xmzf {file} -C {unpacked}"))?;
    }
    fs::copy(root.join("Cargo.lock"), unpacked.join("Cargo.lock"))
        .context("copying Cargo.lock to the unpacked packages")?;
    let profiles = profiles(&sh.read_file(root.join("Cargo.toml"))?)?;
    sh.write_file(unpacked.join("Cargo.toml"), manifest(&published) + &profiles)?;
    check(sh, &unpacked, &published, target, args.offline)
}

/// The folder of an unpacked package, as named in its archive.
fn folder(package: &Package) -> String {
    format!("{}-{}", package.name, package.version)
}

/// A workspace of the unpacked packages, in which each finds the others by path.
fn manifest(packages: &[&Package]) -> String {
    let members: Vec<String> = packages.iter().map(|package| folder(package)).collect();
    let mut text = format!("[workspace]\nresolver = \"3\"\nmembers = {members:?}\n\n");
    text.push_str("[patch.crates-io]\n");
    for package in packages {
        let _ = writeln!(text, "{} = {{ path = {:?} }}", package.name, folder(package));
    }
    text
}

/// The profiles of the workspace, for the unpacked one: so both share what is compiled of others.
fn profiles(root_manifest: &str) -> Result<String> {
    let mut manifest: toml::Table = root_manifest.parse().context("reading Cargo.toml")?;
    manifest.retain(|key, _| key == "profile");
    toml::to_string(&manifest).context("writing the profiles")
}

/// Check the packages on top, each with those that it depends on.
///
/// One by one, so that what is compiled of others has the features of `cargo check -p` and is there
/// already after `features`.
fn check(
    sh: &Shell,
    unpacked: &Path,
    published: &[&Package],
    target: &Path,
    offline: bool,
) -> Result<()> {
    let _there = sh.push_dir(unpacked);
    for package in packages_to_check(published) {
        let command = process::cargo(sh).args(["check", "-p", package]);
        let command = if offline { command.arg("--offline") } else { command };
        process::run(command.env("CARGO_TARGET_DIR", target))?;
    }
    Ok(())
}

/// The packages that no other one depends on: with their dependencies they are all.
fn packages_to_check<'a>(published: &[&'a Package]) -> Vec<&'a str> {
    let needed: BTreeSet<&str> = published
        .iter()
        .flat_map(|package| &package.dependencies)
        .filter(|dependency| dependency.kind == DependencyKind::Normal && !dependency.optional)
        .map(|dependency| dependency.name.as_str())
        .collect();
    let names = published.iter().map(|package| package.name.as_str());
    names.filter(|name| !needed.contains(name)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{manifest, packages_to_check, profiles};
    use crate::workspace;

    #[test]
    fn every_published_crate_is_a_member_and_found_by_the_others() {
        let metadata = workspace::metadata().unwrap();
        let published = workspace::published(&metadata);
        let text = manifest(&published);
        let read: toml::Table = text.parse().unwrap();
        assert_eq!(read["workspace"]["members"].as_array().unwrap().len(), published.len());
        for package in published {
            let path = read["patch"]["crates-io"][package.name.as_str()]["path"].as_str();
            assert_eq!(path, Some(format!("{}-{}", package.name, package.version).as_str()));
        }
    }

    #[test]
    fn the_packages_on_top_bring_all_others_along() {
        let metadata = workspace::metadata().unwrap();
        let published = workspace::published(&metadata);
        let mut names = packages_to_check(&published);
        assert_eq!(names, ["weaver-cli", "weaver-stack"]);
        let mut reached = BTreeSet::new();
        while let Some(name) = names.pop() {
            let package = published.iter().find(|one| one.name.as_str() == name);
            if let Some(package) = package.filter(|_| reached.insert(name)) {
                let needed = package.dependencies.iter().filter(|one| !one.optional);
                names.extend(needed.map(|one| one.name.as_str()));
            }
        }
        assert_eq!(reached.len(), published.len());
    }

    #[test]
    fn profiles_alone_are_taken_over() {
        let manifest = "[workspace]\nmembers = []\n\n[profile.dev.package.\"*\"]\ndebug = false\n";
        let table: toml::Table = profiles(manifest).unwrap().parse().unwrap();
        assert_eq!(table.len(), 1);
        assert_eq!(table["profile"]["dev"]["package"]["*"]["debug"].as_bool(), Some(false));
    }
}
