//! The eight servers, and how each is started in an environment.

use std::path::Path;

use super::environment::TaskEnvironment;
use crate::counterparts::cache::Cache;
use crate::install;

/// Where a server's program is installed.
#[derive(Clone, Copy)]
enum Program {
    /// A script of an npm package.
    Npm(&'static str),
    /// A program of the Python environment.
    Python(&'static str),
    /// A program of the SQLite server's own environment.
    Sqlite(&'static str),
}

/// One server.
pub struct Server {
    pub name: &'static str,
    program: Program,
    arguments: fn(&TaskEnvironment) -> Vec<String>,
    env: fn(&TaskEnvironment) -> Vec<(&'static str, String)>,
}

/// The date of every commit that a task makes.
const COMMIT_DATE: &str = "2026-03-01T09:00:00+0000";

/// The servers, in the order of their start.
pub const SERVERS: [Server; 8] = [
    Server {
        name: "filesystem",
        program: Program::Npm("@modelcontextprotocol/server-filesystem"),
        arguments: |environment| vec![path_text(&environment.files)],
        env: |_| Vec::new(),
    },
    Server {
        name: "memory",
        program: Program::Npm("@modelcontextprotocol/server-memory"),
        arguments: |_| Vec::new(),
        env: |environment| vec![("MEMORY_FILE_PATH", path_text(&environment.graph()))],
    },
    Server {
        name: "everything",
        program: Program::Npm("@modelcontextprotocol/server-everything"),
        arguments: |_| Vec::new(),
        env: |_| Vec::new(),
    },
    Server {
        name: "thinking",
        program: Program::Npm("@modelcontextprotocol/server-sequential-thinking"),
        arguments: |_| Vec::new(),
        env: |_| Vec::new(),
    },
    Server {
        name: "git",
        program: Program::Python("mcp-server-git"),
        arguments: |_| Vec::new(),
        env: |_| git_env(),
    },
    Server {
        name: "fetch",
        program: Program::Python("mcp-server-fetch"),
        arguments: |_| vec!["--ignore-robots-txt".to_owned(), "--allow-private-ips".to_owned()],
        env: |_| vec![("NO_PROXY", "127.0.0.1".to_owned()), ("no_proxy", "127.0.0.1".to_owned())],
    },
    Server {
        name: "time",
        program: Program::Python("mcp-server-time"),
        arguments: |_| vec!["--local-timezone".to_owned(), "UTC".to_owned()],
        env: |_| Vec::new(),
    },
    Server {
        name: "sqlite",
        program: Program::Sqlite("mcp-server-sqlite"),
        arguments: |environment| vec!["--db-path".to_owned(), path_text(&environment.database())],
        env: |_| Vec::new(),
    },
];

impl Server {
    /// The command line that starts it.
    pub fn command(&self, cache: &Cache, environment: &TaskEnvironment) -> Vec<String> {
        let mut words = match self.program {
            Program::Npm(package) => {
                let script = cache.npm().join("node_modules").join(package).join("dist/index.js");
                vec![path_text(&cache.node()), path_text(&script)]
            }
            Program::Python(name) => vec![path_text(&cache.python_program(name))],
            Program::Sqlite(name) => vec![path_text(&install::program(&cache.sqlite_venv(), name))],
        };
        words.extend((self.arguments)(environment));
        words
    }

    /// Its environment variables.
    pub fn env(&self, environment: &TaskEnvironment) -> Vec<(String, String)> {
        (self.env)(environment).into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

/// Variables that make commits the same with every access.
pub fn git_env() -> Vec<(&'static str, String)> {
    [
        ("GIT_AUTHOR_NAME", "Robin"),
        ("GIT_AUTHOR_EMAIL", "robin@build.internal"),
        ("GIT_AUTHOR_DATE", COMMIT_DATE),
        ("GIT_COMMITTER_NAME", "Robin"),
        ("GIT_COMMITTER_EMAIL", "robin@build.internal"),
        ("GIT_COMMITTER_DATE", COMMIT_DATE),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
    ]
    .map(|(key, value)| (key, value.to_owned()))
    .to_vec()
}

fn path_text(path: &Path) -> String {
    path.display().to_string()
}
