//! The known clients, and where each keeps its servers.
//!
//! Each client is one row, taken from the client's own documentation. A location that a client no
//! longer uses does no harm, because only existing files are read.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::ClientFolders;
use super::server_table::Syntax;

/// A program that starts MCP servers for a model.
#[derive(Debug, PartialEq, Eq)]
pub struct Client {
    /// Its name on the command line.
    pub id: &'static str,
    /// Its display name.
    pub name: &'static str,
    /// Where its servers are configured, the user's location first.
    pub locations: &'static [ConfigLocation],
    /// What must be done before a change takes effect.
    pub reload: &'static str,
    pub(super) entry_style: EntryStyle,
}

/// For whom a configuration applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// For the user, everywhere.
    User,
    /// For one project folder.
    Project,
}

/// A configuration file and the table of servers in it.
#[derive(Debug, PartialEq, Eq)]
pub struct ConfigLocation {
    /// For whom it applies.
    pub scope: Scope,
    base: BaseFolder,
    path: &'static str,
    pub(super) syntax: Syntax,
    keys: &'static [&'static str],
}

/// The folder that a path is relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BaseFolder {
    Home,
    Applications,
    Xdg,
    Project,
}

/// How a client writes a server entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryStyle {
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

/// Clients that search among tools themselves.
const TOOL_SEARCHING_CLIENTS: [&str; 1] = ["claude-code"];

/// The keys with which clients limit the time of a call or of a start, and the time without them.
const TIME_KEYS: [(&str, &str, u64); 7] = [
    ("codex", "tool_timeout_sec", 60),
    ("codex", "startup_timeout_sec", 10),
    ("codex", "startup_timeout_ms", 10_000),
    ("gemini", "timeout", 600_000),
    ("cline", "timeout", 60),
    ("goose", "timeout", 300),
    ("opencode", "timeout", 5_000),
];

/// How a client starts the gateway.
#[derive(Debug, Clone, Copy)]
pub(super) struct GatewayLaunch<'a> {
    pub(super) program: &'a str,
    pub(super) config: &'a str,
    /// The profile to use, if not the default one.
    pub(super) profile: Option<&'a str>,
    /// The project that the entry is for; `None` in a user's own file.
    pub(super) folder: Option<&'a str>,
    /// The name of the entry.
    pub(super) name: &'a str,
}

/// Stands for the current project folder in keys.
const PROJECT_PLACEHOLDER: &str = "<project>";

const fn user(
    base: BaseFolder,
    path: &'static str,
    keys: &'static [&'static str],
) -> ConfigLocation {
    ConfigLocation { scope: Scope::User, base, path, syntax: Syntax::Json, keys }
}

const fn project(path: &'static str, keys: &'static [&'static str]) -> ConfigLocation {
    ConfigLocation {
        scope: Scope::Project,
        base: BaseFolder::Project,
        path,
        syntax: Syntax::Json,
        keys,
    }
}

const RESTART: &str = "quit it and start it again";

const CLIENTS: [Client; 12] = [
    Client {
        id: "claude-desktop",
        name: "Claude Desktop",
        locations: &[user(
            BaseFolder::Applications,
            "Claude/claude_desktop_config.json",
            &["mcpServers"],
        )],
        reload: RESTART,
        entry_style: EntryStyle::Plain,
    },
    Client {
        id: "claude-code",
        name: "Claude Code",
        locations: &[
            user(BaseFolder::Home, ".claude.json", &["mcpServers"]),
            ConfigLocation {
                scope: Scope::Project,
                ..user(
                    BaseFolder::Home,
                    ".claude.json",
                    &["projects", PROJECT_PLACEHOLDER, "mcpServers"],
                )
            },
            project(".mcp.json", &["mcpServers"]),
        ],
        reload: "start a new session",
        entry_style: EntryStyle::Typed,
    },
    Client {
        id: "codex",
        name: "Codex",
        locations: &[
            ConfigLocation {
                syntax: Syntax::Toml,
                ..user(BaseFolder::Home, ".codex/config.toml", &["mcp_servers"])
            },
            ConfigLocation {
                syntax: Syntax::Toml,
                ..project(".codex/config.toml", &["mcp_servers"])
            },
        ],
        reload: "start a new session",
        entry_style: EntryStyle::Plain,
    },
    Client {
        id: "cursor",
        name: "Cursor",
        locations: &[
            user(BaseFolder::Home, ".cursor/mcp.json", &["mcpServers"]),
            project(".cursor/mcp.json", &["mcpServers"]),
        ],
        reload: "reload its window",
        entry_style: EntryStyle::Plain,
    },
    Client {
        id: "vscode",
        name: "VS Code",
        locations: &[
            user(BaseFolder::Applications, "Code/User/mcp.json", &["servers"]),
            project(".vscode/mcp.json", &["servers"]),
        ],
        reload: "reload its window",
        entry_style: EntryStyle::Typed,
    },
    Client {
        id: "gemini",
        name: "Gemini CLI",
        locations: &[
            user(BaseFolder::Home, ".gemini/settings.json", &["mcpServers"]),
            project(".gemini/settings.json", &["mcpServers"]),
        ],
        reload: "start a new session",
        entry_style: EntryStyle::Plain,
    },
    Client {
        id: "windsurf",
        name: "Windsurf",
        locations: &[user(BaseFolder::Home, ".codeium/windsurf/mcp_config.json", &["mcpServers"])],
        reload: "refresh its list of servers",
        entry_style: EntryStyle::Plain,
    },
    Client {
        id: "zed",
        name: "Zed",
        locations: &[
            user(BaseFolder::Xdg, "zed/settings.json", &["context_servers"]),
            project(".zed/settings.json", &["context_servers"]),
        ],
        reload: "nothing: it sees the change",
        entry_style: EntryStyle::Zed,
    },
    Client {
        id: "goose",
        name: "goose",
        locations: &[ConfigLocation {
            syntax: Syntax::Yaml,
            ..user(BaseFolder::Xdg, "goose/config.yaml", &["extensions"])
        }],
        reload: "start a new session",
        entry_style: EntryStyle::Goose,
    },
    Client {
        id: "opencode",
        name: "opencode",
        locations: &[
            user(BaseFolder::Xdg, "opencode/opencode.json", &["mcp"]),
            user(BaseFolder::Xdg, "opencode/opencode.jsonc", &["mcp"]),
            project("opencode.json", &["mcp"]),
            project("opencode.jsonc", &["mcp"]),
        ],
        reload: "start a new session",
        entry_style: EntryStyle::OpenCode,
    },
    Client {
        id: "cline",
        name: "Cline",
        locations: &[user(
            BaseFolder::Applications,
            "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            &["mcpServers"],
        )],
        reload: "refresh its list of servers",
        entry_style: EntryStyle::Plain,
    },
    Client {
        id: "lm-studio",
        name: "LM Studio",
        locations: &[user(BaseFolder::Home, ".lmstudio/mcp.json", &["mcpServers"])],
        reload: "reload its integrations",
        entry_style: EntryStyle::Plain,
    },
];

impl Client {
    /// All known clients.
    #[must_use]
    pub fn all() -> &'static [Self] {
        static ALL: [Client; 12] = CLIENTS;
        &ALL
    }

    /// The client with this id.
    #[must_use]
    pub fn by_id(id: &str) -> Option<&'static Self> {
        Self::all().iter().find(|client| client.id == id)
    }

    /// Its locations without duplicates: in the user's home folder, the project's file is the
    /// user's file.
    pub fn distinct_locations<'a>(
        &'static self,
        folders: &'a ClientFolders,
    ) -> impl Iterator<Item = &'static ConfigLocation> + 'a {
        let location = |place: &ConfigLocation| {
            let file = place.file(folders);
            (crate::canonical_path(&file).unwrap_or(file), place.keys(folders))
        };
        let mut seen = Vec::new();
        self.locations.iter().filter(move |place| {
            let location = location(place);
            let is_new = !seen.contains(&location);
            seen.push(location);
            is_new
        })
    }

    /// Whether it searches among its servers' tools itself, so that hundreds of tools cost the
    /// model nothing and are best shown under their own names.
    #[must_use]
    pub fn searches_tools(&self) -> bool {
        TOOL_SEARCHING_CLIENTS.contains(&self.id)
    }

    /// The entry with which this client starts the gateway in place of these entries. It has the
    /// longest times that they have, beyond the usual ones.
    pub(super) fn gateway_entry(&self, start: &GatewayLaunch<'_>, replaced: &[&Value]) -> Value {
        let mut entry = self.plain_gateway_entry(start);
        for (_, key, usual) in TIME_KEYS.iter().filter(|(client, ..)| *client == self.id) {
            let times = replaced.iter().filter_map(|entry| entry.get(*key)?.as_u64());
            let longest = times.max().filter(|time| time > usual);
            if let (Some(time), Value::Object(members)) = (longest, &mut entry) {
                members.insert((*key).to_owned(), time.into());
            }
        }
        entry
    }

    fn plain_gateway_entry(&self, start: &GatewayLaunch<'_>) -> Value {
        let GatewayLaunch { program, config, profile, folder, name } = *start;
        let mut args = vec!["serve", "--config", config];
        if let Some(profile) = profile {
            args.extend(["--profile", profile]);
        }
        // Not every client starts servers in the project's folder.
        if let Some(folder) = folder {
            args.extend(["--folder", folder]);
        }
        match self.entry_style {
            EntryStyle::Plain => json!({ "command": program, "args": args }),
            EntryStyle::Typed => json!({ "type": "stdio", "command": program, "args": args }),
            EntryStyle::Zed => {
                json!({ "source": "custom", "command": program, "args": args, "env": {} })
            }
            EntryStyle::OpenCode => json!({
                "type": "local",
                "command": ([&[program], args.as_slice()].concat()),
                "enabled": true,
            }),
            EntryStyle::Goose => json!({
                "enabled": true, "type": "stdio", "name": name, "cmd": program, "args": args,
                "timeout": 300,
            }),
        }
    }
}

/// The project folder of a file that a client keeps in one; `None` for a user's file.
pub(super) fn project_of(file: &Path) -> Option<PathBuf> {
    let file = crate::canonical_path(file).ok()?;
    let places = || Client::all().iter().flat_map(|client| client.locations);
    let folders = ClientFolders::for_current_user();
    let is_users = folders.is_some_and(|folders| {
        places().any(|place| place.scope == Scope::User && place.file(&folders) == file)
    });
    let in_project =
        places().find(|place| place.base == BaseFolder::Project && file.ends_with(place.path));
    let depth = Path::new(in_project.filter(|_| !is_users)?.path).components().count();
    file.ancestors().nth(depth).map(Path::to_owned)
}

impl ConfigLocation {
    /// Whether the file lies in the project folder.
    pub(super) fn is_in_project(&self) -> bool {
        self.base == BaseFolder::Project
    }

    /// The file.
    #[must_use]
    pub fn file(&self, folders: &ClientFolders) -> PathBuf {
        let base = match self.base {
            BaseFolder::Home => &folders.home,
            BaseFolder::Applications => &folders.applications,
            BaseFolder::Xdg => &folders.xdg,
            BaseFolder::Project => &folders.project,
        };
        base.join(self.path)
    }

    /// The keys from the root of the file to the table of servers.
    pub(super) fn keys(&self, folders: &ClientFolders) -> Vec<String> {
        let here = || folders.project.display().to_string();
        self.keys
            .iter()
            .map(|key| if *key == PROJECT_PLACEHOLDER { here() } else { (*key).to_owned() })
            .collect()
    }
}
