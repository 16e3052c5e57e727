//! The eight servers, and how each is started on a place.

use std::path::Path;

use super::place::Place;
use crate::counterparts::cache::Cache;
use crate::install;

/// Where a server's program lies.
#[derive(Clone, Copy)]
enum Program {
    /// A script of an npm package.
    Npm(&'static str),
    /// A program of the Python packages.
    Python(&'static str),
    /// A program of the SQLite server's own packages.
    Sqlite(&'static str),
}

/// One server.
pub struct Server {
    pub name: &'static str,
    program: Program,
    arguments: fn(&Place) -> Vec<String>,
    env: fn(&Place) -> Vec<(&'static str, String)>,
}

/// The date of everything that a task commits.
const DATE: &str = "2026-03-01T09:00:00+0000";

/// The servers, in the order in which they are started.
pub const ALL: [Server; 8] = [
    Server {
        name: "filesystem",
        program: Program::Npm("@modelcontextprotocol/server-filesystem"),
        arguments: |place| vec![text(&place.files)],
        env: |_| Vec::new(),
    },
    Server {
        name: "memory",
        program: Program::Npm("@modelcontextprotocol/server-memory"),
        arguments: |_| Vec::new(),
        env: |place| vec![("MEMORY_FILE_PATH", text(&place.graph()))],
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
        arguments: |place| vec!["--db-path".to_owned(), text(&place.database())],
        env: |_| Vec::new(),
    },
];

impl Server {
    /// The command line that starts it.
    pub fn command(&self, cache: &Cache, place: &Place) -> Vec<String> {
        let mut words = match self.program {
            Program::Npm(package) => {
                let script = cache.npm().join("node_modules").join(package).join("dist/index.js");
                vec![text(&cache.node()), text(&script)]
            }
            Program::Python(name) => vec![text(&cache.python_program(name))],
            Program::Sqlite(name) => vec![text(&install::program(&cache.sqlite_venv(), name))],
        };
        words.extend((self.arguments)(place));
        words
    }

    /// Its variables.
    pub fn env(&self, place: &Place) -> Vec<(String, String)> {
        (self.env)(place).into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

/// Variables by which commits come out the same in every way.
pub fn git_env() -> Vec<(&'static str, String)> {
    [
        ("GIT_AUTHOR_NAME", "Robin"),
        ("GIT_AUTHOR_EMAIL", "robin@build.internal"),
        ("GIT_AUTHOR_DATE", DATE),
        ("GIT_COMMITTER_NAME", "Robin"),
        ("GIT_COMMITTER_EMAIL", "robin@build.internal"),
        ("GIT_COMMITTER_DATE", DATE),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
    ]
    .map(|(key, value)| (key, value.to_owned()))
    .to_vec()
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
