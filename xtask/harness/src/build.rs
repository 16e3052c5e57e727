//! Builds the programs that are measured.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use xshell::Shell;

use crate::{process, workspace};

/// The `weaver` that was named, or one that is built now, optimised or not.
pub fn find_weaver(sh: &Shell, named: Option<&Path>, release: bool) -> Result<PathBuf> {
    if let Some(file) = named {
        return file.canonicalize().with_context(|| format!("cannot find {}", file.display()));
    }
    let release_flag = release.then_some("--release");
    let build = process::cargo(sh).args(["build", "-p", "weaver-cli", "--bin", "weaver"]);
    process::run(build.args(release_flag))?;
    let target = workspace::metadata()?.target_directory.into_std_path_buf();
    Ok(program(&target.join(if release { "release" } else { "debug" }), "weaver"))
}

/// The path of a built program in the folder of its profile.
pub fn program(profile: &Path, name: &str) -> PathBuf {
    profile.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}
