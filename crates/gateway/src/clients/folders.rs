//! The folders under which clients keep their configurations.

use std::path::{Path, PathBuf};

/// Where configurations are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// The user's own folder.
    pub home: PathBuf,
    /// Where programs keep their configuration: `~/.config`, `~/Library/Application Support`,
    /// `%APPDATA%`.
    pub applications: PathBuf,
    /// Where programs that follow XDG keep it, also on macOS.
    pub xdg: PathBuf,
    /// The folder that one works in.
    pub project: PathBuf,
}

impl Folders {
    /// Those of this user and process; nothing where no home is known.
    #[must_use]
    pub fn of_this_user() -> Option<Self> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let home = PathBuf::from(variable("HOME").or_else(|| variable("USERPROFILE"))?);
        let xdg = variable("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let xdg = xdg.unwrap_or_else(|| home.join(".config"));
        let applications = if cfg!(target_os = "macos") {
            home.join("Library/Application Support")
        } else if cfg!(windows) {
            variable("APPDATA").map_or_else(|| home.join("AppData/Roaming"), PathBuf::from)
        } else {
            xdg.clone()
        };
        let project = std::env::current_dir().unwrap_or_else(|_| home.clone());
        Some(Self { home, applications, xdg, project })
    }

    /// The folders below this one, as on Linux.
    #[must_use]
    pub fn below(home: &Path, project: &Path) -> Self {
        let config = home.join(".config");
        Self {
            home: home.to_owned(),
            applications: config.clone(),
            xdg: config,
            project: project.to_owned(),
        }
    }

    /// The folder of this user's gateway: its configuration, documents, keys and state.
    #[must_use]
    pub fn gateway(&self) -> PathBuf {
        if cfg!(windows) { self.applications.join("weaver") } else { self.xdg.join("weaver") }
    }
}
