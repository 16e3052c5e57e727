//! The clients that are known, and where each keeps its servers.
//!
//! A client is one row. Facts are those of the clients' own documentation; a place that a client
//! stopped using costs nothing, since only files that are there are read.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::Folders;
use super::server_table::Syntax;

/// A program that starts MCP servers for a model.
#[derive(Debug, PartialEq, Eq)]
pub struct Client {
    /// The word for it on the command line.
    pub id: &'static str,
    /// What people call it.
    pub name: &'static str,
    /// Where its servers stand, the place of the user first.
    pub places: &'static [ConfigPlace],
    /// What must be done before a change counts.
    pub reload: &'static str,
    pub(super) entry: EntryForm,
}

/// For whom a configuration counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// For the user, everywhere.
    User,
    /// For one folder.
    Project,
}

/// A file, and the table of servers in it.
#[derive(Debug, PartialEq, Eq)]
pub struct ConfigPlace {
    /// For whom it counts.
    pub scope: Scope,
    base: Base,
    path: &'static str,
    pub(super) syntax: Syntax,
    keys: &'static [&'static str],
}

/// The folder that a path starts at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Home,
    Applications,
    Xdg,
    Project,
}

/// How a client writes an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryForm {
    /// `{ "command": …, "args": […] }`.
    Plain,
    /// The same with `"type": "stdio"`.
    Typed,
    /// The same with `"source": "custom"`.
    Zed,
    /// `{ "type": "local", "command": [program, arguments…] }`.
    OpenCode,
    /// `{ "type": "stdio", "cmd": …, "args": […], "name": … }`.
    Goose,
}

/// The clients that search among tools themselves.
const SEARCHING: [&str; 1] = ["claude-code"];

/// How a client starts the gateway.
#[derive(Debug, Clone, Copy)]
pub(super) struct GatewayStart<'a> {
    pub(super) program: &'a str,
    pub(super) config: &'a str,
    /// What the client sees, where that is not what all see.
    pub(super) profile: Option<&'a str>,
    /// What the entry is called.
    pub(super) name: &'a str,
}

/// Stands for the folder that one works in.
const HERE: &str = "<project>";

const fn user(base: Base, path: &'static str, keys: &'static [&'static str]) -> ConfigPlace {
    ConfigPlace { scope: Scope::User, base, path, syntax: Syntax::Json, keys }
}

const fn project(path: &'static str, keys: &'static [&'static str]) -> ConfigPlace {
    ConfigPlace { scope: Scope::Project, base: Base::Project, path, syntax: Syntax::Json, keys }
}

const RESTART: &str = "quit it and start it again";

const CLIENTS: [Client; 12] = [
    Client {
        id: "claude-desktop",
        name: "Claude Desktop",
        places: &[user(Base::Applications, "Claude/claude_desktop_config.json", &["mcpServers"])],
        reload: RESTART,
        entry: EntryForm::Plain,
    },
    Client {
        id: "claude-code",
        name: "Claude Code",
        places: &[
            user(Base::Home, ".claude.json", &["mcpServers"]),
            ConfigPlace {
                scope: Scope::Project,
                ..user(Base::Home, ".claude.json", &["projects", HERE, "mcpServers"])
            },
            project(".mcp.json", &["mcpServers"]),
        ],
        reload: "start a new session",
        entry: EntryForm::Typed,
    },
    Client {
        id: "codex",
        name: "Codex",
        places: &[
            ConfigPlace {
                syntax: Syntax::Toml,
                ..user(Base::Home, ".codex/config.toml", &["mcp_servers"])
            },
            ConfigPlace { syntax: Syntax::Toml, ..project(".codex/config.toml", &["mcp_servers"]) },
        ],
        reload: "start a new session",
        entry: EntryForm::Plain,
    },
    Client {
        id: "cursor",
        name: "Cursor",
        places: &[
            user(Base::Home, ".cursor/mcp.json", &["mcpServers"]),
            project(".cursor/mcp.json", &["mcpServers"]),
        ],
        reload: "reload its window",
        entry: EntryForm::Plain,
    },
    Client {
        id: "vscode",
        name: "VS Code",
        places: &[
            user(Base::Applications, "Code/User/mcp.json", &["servers"]),
            project(".vscode/mcp.json", &["servers"]),
        ],
        reload: "reload its window",
        entry: EntryForm::Typed,
    },
    Client {
        id: "gemini",
        name: "Gemini CLI",
        places: &[
            user(Base::Home, ".gemini/settings.json", &["mcpServers"]),
            project(".gemini/settings.json", &["mcpServers"]),
        ],
        reload: "start a new session",
        entry: EntryForm::Plain,
    },
    Client {
        id: "windsurf",
        name: "Windsurf",
        places: &[user(Base::Home, ".codeium/windsurf/mcp_config.json", &["mcpServers"])],
        reload: "refresh its list of servers",
        entry: EntryForm::Plain,
    },
    Client {
        id: "zed",
        name: "Zed",
        places: &[
            user(Base::Xdg, "zed/settings.json", &["context_servers"]),
            project(".zed/settings.json", &["context_servers"]),
        ],
        reload: "nothing: it sees the change",
        entry: EntryForm::Zed,
    },
    Client {
        id: "goose",
        name: "goose",
        places: &[ConfigPlace {
            syntax: Syntax::Yaml,
            ..user(Base::Xdg, "goose/config.yaml", &["extensions"])
        }],
        reload: "start a new session",
        entry: EntryForm::Goose,
    },
    Client {
        id: "opencode",
        name: "opencode",
        places: &[
            user(Base::Xdg, "opencode/opencode.json", &["mcp"]),
            user(Base::Xdg, "opencode/opencode.jsonc", &["mcp"]),
            project("opencode.json", &["mcp"]),
            project("opencode.jsonc", &["mcp"]),
        ],
        reload: "start a new session",
        entry: EntryForm::OpenCode,
    },
    Client {
        id: "cline",
        name: "Cline",
        places: &[user(
            Base::Applications,
            "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            &["mcpServers"],
        )],
        reload: "refresh its list of servers",
        entry: EntryForm::Plain,
    },
    Client {
        id: "lm-studio",
        name: "LM Studio",
        places: &[user(Base::Home, ".lmstudio/mcp.json", &["mcpServers"])],
        reload: "reload its integrations",
        entry: EntryForm::Plain,
    },
];

impl Client {
    /// Every client that is known.
    #[must_use]
    pub fn all() -> &'static [Self] {
        static ALL: [Client; 12] = CLIENTS;
        &ALL
    }

    /// The client with this id.
    #[must_use]
    pub fn named(id: &str) -> Option<&'static Self> {
        Self::all().iter().find(|client| client.id == id)
    }

    /// Its places, each once: in the user's own folder, the file of the project is the user's.
    pub fn distinct_places<'a>(
        &'static self,
        folders: &'a Folders,
    ) -> impl Iterator<Item = &'static ConfigPlace> + 'a {
        let location = |place: &ConfigPlace| {
            let file = place.file(folders);
            (file.canonicalize().unwrap_or(file), place.keys(folders))
        };
        let mut seen = Vec::new();
        self.places.iter().filter(move |place| {
            let location = location(place);
            let fresh = !seen.contains(&location);
            seen.push(location);
            fresh
        })
    }

    /// Whether it searches among the tools of its servers itself, so that hundreds of them cost its
    /// model nothing and each is best shown by its own name.
    #[must_use]
    pub fn searches_tools(&self) -> bool {
        SEARCHING.contains(&self.id)
    }

    /// The entry with which this client starts the gateway.
    pub(super) fn gateway_entry(&self, start: &GatewayStart<'_>) -> Value {
        let GatewayStart { program, config, profile, name } = *start;
        let mut args = vec!["serve", "--config", config];
        if let Some(profile) = profile {
            args.extend(["--profile", profile]);
        }
        match self.entry {
            EntryForm::Plain => json!({ "command": program, "args": args }),
            EntryForm::Typed => json!({ "type": "stdio", "command": program, "args": args }),
            EntryForm::Zed => {
                json!({ "source": "custom", "command": program, "args": args, "env": {} })
            }
            EntryForm::OpenCode => json!({
                "type": "local",
                "command": ([&[program], args.as_slice()].concat()),
                "enabled": true,
            }),
            EntryForm::Goose => json!({
                "enabled": true, "type": "stdio", "name": name, "cmd": program, "args": args,
                "timeout": 300,
            }),
        }
    }
}

impl ConfigPlace {
    /// The file.
    #[must_use]
    pub fn file(&self, folders: &Folders) -> PathBuf {
        let base = match self.base {
            Base::Home => &folders.home,
            Base::Applications => &folders.applications,
            Base::Xdg => &folders.xdg,
            Base::Project => &folders.project,
        };
        base.join(self.path)
    }

    /// The keys from the root of the file to the table of servers.
    pub(super) fn keys(&self, folders: &Folders) -> Vec<String> {
        let here = || folders.project.display().to_string();
        self.keys.iter().map(|key| if *key == HERE { here() } else { (*key).to_owned() }).collect()
    }
}
