//! The servers behind the gateway, and the calls to try with each.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::child;
use crate::counterparts::cache::Cache;
use crate::install::Registry;

/// The placeholder of the server's folder in arguments.
const FILES_PLACEHOLDER: &str = "{files}";
const TIMEOUT: Duration = Duration::from_secs(30);

/// A call of one tool.
pub struct Call {
    pub tool: &'static str,
    /// The arguments as JSON.
    pub arguments: &'static str,
}

/// One server, and the calls of its trial.
pub struct Server {
    pub name: &'static str,
    pub registry: Registry,
    pub package: &'static str,
    /// The script of an npm package, or the program of a Python package.
    pub program: &'static str,
    pub arguments: &'static [&'static str],
    /// The arguments to listen on the port in `PORT` with Streamable HTTP, if it can.
    pub http: Option<&'static [&'static str]>,
    pub env: &'static [(&'static str, &'static str)],
    /// Initial files in its folder.
    pub seed: &'static [(&'static str, &'static str)],
    /// Whether its folder is a git repository with one commit.
    pub repository: bool,
    /// Whether it also speaks the modern era.
    pub modern: bool,
    /// What an agent would search for.
    pub goal: &'static str,
    /// A harmless read, and a text that its result must contain.
    pub read: Call,
    pub expected: &'static str,
    /// A call that is denied, and the reason.
    pub denied: Call,
    pub reason: &'static str,
    /// A call that is held by the floor.
    pub held: Option<Call>,
    /// A file that the refused calls would change.
    pub witness: Option<&'static str>,
}

/// The servers, in the order of the table.
pub const SERVERS: [Server; 5] = [
    Server {
        name: "everything",
        registry: Registry::Npm,
        package: "@modelcontextprotocol/server-everything",
        program: "dist/index.js",
        arguments: &[],
        http: Some(&["streamableHttp"]),
        env: &[],
        seed: &[],
        repository: false,
        modern: false,
        goal: "echo a message back",
        read: Call { tool: "echo", arguments: r#"{"message":"hello from the trial"}"# },
        expected: "hello from the trial",
        denied: Call { tool: "get-env", arguments: "{}" },
        reason: "explicit_deny_rule",
        held: Some(Call {
            tool: "gzip-file-as-resource",
            arguments: r#"{"name":"a.gz","data":"data:text/plain,a"}"#,
        }),
        witness: None,
    },
    Server {
        name: "filesystem",
        registry: Registry::Npm,
        package: "@modelcontextprotocol/server-filesystem",
        program: "dist/index.js",
        arguments: &[FILES_PLACEHOLDER],
        http: None,
        env: &[],
        seed: &[("note.txt", "The kettle is in the kitchen.\n")],
        repository: false,
        modern: false,
        goal: "read the text of a file",
        read: Call { tool: "read_text_file", arguments: r#"{"path":"{files}/note.txt"}"# },
        expected: "The kettle is in the kitchen.",
        denied: Call {
            tool: "write_file",
            arguments: r#"{"path":"{files}/note.txt","content":"gone"}"#,
        },
        reason: "no_matching_rule",
        held: Some(Call {
            tool: "move_file",
            arguments: r#"{"source":"{files}/note.txt","destination":"{files}/lost.txt"}"#,
        }),
        witness: Some("note.txt"),
    },
    Server {
        name: "git",
        registry: Registry::PyPi,
        package: "mcp-server-git",
        program: "mcp-server-git",
        arguments: &["--repository", FILES_PLACEHOLDER],
        http: None,
        env: &[("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")],
        seed: &[("note.txt", "one\n")],
        repository: true,
        modern: true,
        goal: "show the commit log of a repository",
        read: Call { tool: "git_log", arguments: r#"{"repo_path":"{files}","max_count":5}"# },
        expected: "the first commit of the trial",
        denied: Call {
            tool: "git_commit",
            arguments: r#"{"repo_path":"{files}","message":"not wanted"}"#,
        },
        reason: "no_matching_rule",
        held: Some(Call { tool: "git_reset", arguments: r#"{"repo_path":"{files}"}"# }),
        witness: Some(".git/logs/HEAD"),
    },
    Server {
        name: "memory",
        registry: Registry::Npm,
        package: "@modelcontextprotocol/server-memory",
        program: "dist/index.js",
        arguments: &[],
        http: None,
        env: &[("MEMORY_FILE_PATH", "{files}/memory.jsonl")],
        seed: &[(
            "memory.jsonl",
            r#"{"type":"entity","name":"Ada","entityType":"person","observations":["likes tea"]}"#,
        )],
        repository: false,
        modern: false,
        goal: "read the whole knowledge graph",
        read: Call { tool: "read_graph", arguments: "{}" },
        expected: "Ada",
        denied: Call {
            tool: "create_entities",
            arguments: r#"{"entities":[{"name":"Bob","entityType":"person","observations":[]}]}"#,
        },
        reason: "no_matching_rule",
        held: Some(Call { tool: "delete_entities", arguments: r#"{"entityNames":["Ada"]}"# }),
        witness: Some("memory.jsonl"),
    },
    Server {
        name: "time",
        registry: Registry::PyPi,
        package: "mcp-server-time",
        program: "mcp-server-time",
        arguments: &[],
        http: None,
        env: &[],
        seed: &[],
        repository: false,
        modern: true,
        goal: "what time is it now",
        read: Call { tool: "get_current_time", arguments: r#"{"timezone":"Europe/Lisbon"}"# },
        expected: "Europe/Lisbon",
        denied: Call {
            tool: "convert_time",
            arguments: r#"{"source_timezone":"UTC","time":"12:00","target_timezone":"Asia/Tokyo"}"#,
        },
        reason: "explicit_deny_rule",
        held: None,
        witness: None,
    },
];

impl Server {
    /// The command line that starts it with a folder.
    pub fn command(&self, cache: &Cache, files: &Path) -> Vec<String> {
        self.command_line(cache, files, self.arguments)
    }

    /// The command line that makes it listen, if it can.
    pub fn http_command(&self, cache: &Cache, files: &Path) -> Option<Vec<String>> {
        Some(self.command_line(cache, files, self.http?))
    }

    fn command_line(&self, cache: &Cache, files: &Path, arguments: &[&str]) -> Vec<String> {
        let text = |path: &Path| path.display().to_string();
        let mut words = match self.registry {
            Registry::Npm => {
                let script = cache.npm().join("node_modules").join(self.package);
                vec![text(&cache.node()), text(&script.join(self.program))]
            }
            Registry::PyPi => vec![text(&cache.python_program(self.program))],
        };
        words.extend(arguments.iter().map(|word| word.replace(FILES_PLACEHOLDER, &text(files))));
        words
    }

    /// Its environment variables, for a folder.
    pub fn env(&self, files: &Path) -> Vec<(String, String)> {
        let files = files.display().to_string();
        self.env
            .iter()
            .map(|(k, v)| ((*k).to_owned(), v.replace(FILES_PLACEHOLDER, &files)))
            .collect()
    }

    /// Creates its folder.
    pub fn prepare(&self, files: &Path) -> Result<()> {
        fs::create_dir_all(files)?;
        for (name, text) in self.seed {
            fs::write(files.join(name), text)?;
        }
        if self.repository {
            create_repository(files).context("cannot make the repository")?;
        }
        Ok(())
    }

    /// The id of one of its capabilities.
    pub fn capability(&self, tool: &str) -> String {
        format!("{}.{tool}", self.name)
    }
}

impl Call {
    /// The arguments, for a folder.
    pub fn arguments(&self, files: &Path) -> Result<Value> {
        let files = Value::from(files.display().to_string()).to_string();
        let inner = files.trim_matches('"');
        let text = self.arguments.replace(FILES_PLACEHOLDER, inner);
        serde_json::from_str(&text).with_context(|| format!("arguments of `{}`", self.tool))
    }
}

fn create_repository(files: &Path) -> Result<()> {
    let author = ["-c", "user.name=Trial", "-c", "user.email=trial@example.org"];
    let message = "the first commit of the trial";
    let commit = [&author[..], &["commit", "--quiet", "-m", message]].concat();
    for words in [&["init", "--quiet"][..], &["add", "--all"], &commit] {
        let mut git = Command::new("git");
        git.current_dir(files).args(words);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        git.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").env_remove("GIT_INDEX_FILE");
        child::run(&mut git, "", TIMEOUT)?.succeeded("git")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::SERVERS;

    #[test]
    fn all_arguments_are_json_also_on_odd_paths() {
        for server in &SERVERS {
            for call in [Some(&server.read), Some(&server.denied), server.held.as_ref()] {
                let Some(call) = call else { continue };
                assert!(call.arguments(Path::new("/a \"b\"\\c")).unwrap().is_object());
            }
        }
    }

    #[test]
    fn every_call_has_a_contract() {
        let text = include_str!("../../interop/documents/contracts.toml");
        let contracts: toml::Table = text.parse().unwrap();
        for server in &SERVERS {
            for call in [Some(&server.read), Some(&server.denied), server.held.as_ref()] {
                let Some(call) = call else { continue };
                let id = server.capability(call.tool);
                assert!(contracts["capabilities"].get(&id).is_some(), "{id}");
            }
        }
    }
}
