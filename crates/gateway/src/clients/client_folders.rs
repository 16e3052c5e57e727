//! The folders that contain clients' configurations.

use std::path::{Path, PathBuf};

/// Where configurations are searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFolders {
    /// The user's home folder.
    pub home: PathBuf,
    /// Where programs keep their configuration: `~/.config`, `~/Library/Application Support` or
    /// `%APPDATA%`.
    pub applications: PathBuf,
    /// Where programs that follow the XDG standard keep it, also on macOS.
    pub xdg: PathBuf,
    /// Where programs keep data: `~/.local/share`, or `%LOCALAPPDATA%`.
    pub data: PathBuf,
    /// The current project folder.
    pub project: PathBuf,
}

impl ClientFolders {
    /// The folders of the current user and process; `None` without a home folder.
    #[must_use]
    pub fn for_current_user() -> Option<Self> {
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
        let data = if cfg!(windows) {
            variable("LOCALAPPDATA").map_or_else(|| home.join("AppData/Local"), PathBuf::from)
        } else {
            let data = variable("XDG_DATA_HOME").map(PathBuf::from);
            data.filter(|path| path.is_absolute()).unwrap_or_else(|| home.join(".local/share"))
        };
        let project = std::env::current_dir().unwrap_or_else(|_| home.clone());
        Some(Self { home, applications, xdg, data, project })
    }

    /// The folders under the given home folder, as on Linux.
    #[must_use]
    pub fn under(home: &Path, project: &Path) -> Self {
        let config = home.join(".config");
        Self {
            home: home.to_owned(),
            applications: config.clone(),
            xdg: config,
            data: home.join(".local/share"),
            project: project.to_owned(),
        }
    }

    /// The folder of this user's gateway: configuration, documents, keys and state.
    #[must_use]
    pub fn gateway_folder(&self) -> PathBuf {
        if cfg!(windows) { self.applications.join("weaver") } else { self.xdg.join("weaver") }
    }

    /// Where the servers of this user's gateway work that name no folder.
    #[must_use]
    pub fn work_folder(&self) -> PathBuf {
        self.data.join("weaver/work")
    }
}
