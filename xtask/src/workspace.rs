//! The workspace as cargo sees it: its root, metadata and members.

use std::path::PathBuf;

use anyhow::{Context, Result};
use cargo_metadata::{CargoOpt, Metadata, MetadataCommand, Package};

/// The root folder of the workspace: the nearest folder with a lock file above the manifest of the
/// running program.
pub fn root() -> Result<PathBuf> {
    let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let root = manifest_dir.ancestors().find(|folder| folder.join("Cargo.lock").is_file());
    Ok(root.context("no folder above the manifest has a Cargo.lock")?.to_path_buf())
}

/// `cargo metadata` with all features, so that optional dependencies are included.
pub fn metadata() -> Result<Metadata> {
    MetadataCommand::new()
        .current_dir(root()?)
        .features(CargoOpt::AllFeatures)
        .exec()
        .context("cargo metadata failed")
}

/// Whether the manifest allows publishing.
pub fn is_published(package: &Package) -> bool {
    package.publish.as_ref().is_none_or(|registries| !registries.is_empty())
}

/// The members that are published, sorted by name.
pub fn published(metadata: &Metadata) -> Vec<&Package> {
    let mut members: Vec<&Package> =
        metadata.workspace_packages().into_iter().filter(|p| is_published(p)).collect();
    members.sort_by(|a, b| a.name.cmp(&b.name));
    members
}

/// The members that are not published, sorted by name.
pub fn unpublished(metadata: &Metadata) -> Vec<&Package> {
    let mut members: Vec<&Package> =
        metadata.workspace_packages().into_iter().filter(|p| !is_published(p)).collect();
    members.sort_by(|a, b| a.name.cmp(&b.name));
    members
}
