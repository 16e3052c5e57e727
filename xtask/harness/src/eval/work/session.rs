//! A session with all eight servers: each connected directly, or all of them through the gateway.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::client::{Answer, Connection};
use super::environment::TaskEnvironment;
use super::server::{self, Server};
use super::tokens;
use crate::counterparts::cache::Cache;
use crate::counterparts::trust::Trust;

/// How long the servers behind the gateway may take to start.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(250);
/// A client that starts the gateway, so that the calls of one client process are one run. The
/// gateway skips wrapper processes to find its client, and does not take a script in a file for
/// one.
const CLIENT_SCRIPT: &str = "\"$@\"\nexit $?\n";

/// How a client reaches the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolAccess {
    /// The client connects to each server.
    Direct,
    /// `weaver serve` in gateway mode, with its three tools.
    Gateway,
    /// `weaver serve` in proxy mode, with each tool under its own name.
    Proxy,
}

impl ToolAccess {
    /// Its name in tables and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Gateway => "gateway",
            Self::Proxy => "proxy",
        }
    }
}

/// What sessions are started with.
pub struct Setting<'a> {
    pub cache: &'a Cache,
    pub weaver: &'a Path,
    pub trust: &'a Trust,
    pub environment: &'a TaskEnvironment,
    /// The folder for the configuration, the ledger and the logs of this session.
    pub folder: &'a Path,
}

/// The open connections for one tool access.
pub struct Session {
    pub access: ToolAccess,
    /// The tokens of all tools listed to the client at the start.
    pub list_tokens: usize,
    connections: BTreeMap<String, Connection>,
    /// The command that stops the daemon of the gateway.
    stop: Option<Command>,
}

impl Session {
    /// Starts all servers, directly or through the gateway, and lists their tools.
    pub fn open(setting: &Setting<'_>, access: ToolAccess) -> Result<Self> {
        fs::create_dir_all(setting.folder)?;
        let mut session = Self { access, list_tokens: 0, connections: BTreeMap::new(), stop: None };
        match access {
            ToolAccess::Direct => {
                for server in &server::SERVERS {
                    let mut words = server.command(setting.cache, setting.environment).into_iter();
                    let mut command = setting.cache.command(words.next().unwrap_or_default());
                    command.args(words).envs(server.env(setting.environment));
                    let log = File::create(setting.folder.join(format!("{}.log", server.name)))?;
                    let connection = Connection::open(server.name, &mut command, log)?;
                    session.connections.insert(server.name.to_owned(), connection);
                }
            }
            ToolAccess::Gateway | ToolAccess::Proxy => {
                let file = setting.folder.join("weaver.toml");
                fs::write(&file, config_text(setting, access))?;
                let client = setting.folder.join("client.sh");
                fs::write(&client, CLIENT_SCRIPT)?;
                let mut command = setting.cache.command("/bin/sh");
                command.arg(&client).arg(setting.weaver).args(["serve", "--config"]).arg(&file);
                let log = File::create(setting.folder.join("weaver.log"))?;
                let connection = Connection::open("weaver", &mut command, log)?;
                session.connections.insert(String::new(), connection);
                let mut stop = setting.cache.command(setting.weaver);
                stop.args(["stop", "--config"]).arg(&file).stdout(Stdio::null());
                session.stop = Some(stop);
            }
        }
        session.await_servers()?;
        for connection in session.connections.values_mut() {
            session.list_tokens += tokens::of_tools(&connection.tools()?)?;
        }
        Ok(session)
    }

    /// A session without connections.
    #[cfg(test)]
    pub fn without_connections(access: ToolAccess) -> Self {
        Self { access, list_tokens: 0, connections: BTreeMap::new(), stop: None }
    }

    /// Waits until the gateway has connected all servers, so that their start does not count for a
    /// task.
    fn await_servers(&mut self) -> Result<()> {
        let end = Instant::now() + STARTUP_TIMEOUT;
        while Instant::now() < end && !self.is_complete()? {
            thread::sleep(POLL);
        }
        Ok(())
    }

    fn is_complete(&mut self) -> Result<bool> {
        let Some(connection) = self.connections.get_mut("") else { return Ok(true) };
        Ok(match self.access {
            ToolAccess::Direct => true,
            ToolAccess::Proxy => {
                let tools = connection.tools()?;
                let names = || tools.iter().filter_map(|tool| tool["name"].as_str());
                let listed = |server: &Server| {
                    names().any(|name| name.starts_with(&format!("{}__", server.name)))
                };
                server::SERVERS.iter().all(listed)
            }
            ToolAccess::Gateway => {
                let answer = connection.call("tool_browse", &json!({}))?;
                !answer.body.unwrap_or_default().to_string().contains("still starting")
            }
        })
    }

    /// Calls a tool: `server.tool` with direct access, else the name as it is.
    pub fn call(&mut self, name: &str, arguments: &Value) -> Result<Answer> {
        let (server, tool) = match self.access {
            ToolAccess::Direct => {
                name.split_once('.').with_context(|| format!("no server: {name}"))?
            }
            ToolAccess::Gateway | ToolAccess::Proxy => ("", name),
        };
        match self.connections.get_mut(server) {
            Some(connection) => connection.call(tool, arguments),
            None => bail!("no server `{server}`"),
        }
    }

    /// Closes all connections, and leaves the daemon running for the next client.
    pub fn close_connections(&mut self) -> Result<()> {
        std::mem::take(&mut self.connections).into_values().try_for_each(Connection::close)
    }

    /// Closes all connections, and stops the daemon.
    pub fn close(mut self) -> Result<()> {
        let closed = self.close_connections();
        if let Some(mut stop) = self.stop {
            let stopped = stop.status().context("cannot stop the daemon")?;
            ensure!(stopped.success(), "the daemon did not stop");
        }
        closed
    }
}

/// The text of `weaver.toml`.
fn config_text(setting: &Setting<'_>, access: ToolAccess) -> String {
    let section = |pairs: &[(&str, toml::Value)]| -> toml::Value {
        let pairs = pairs.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
        pairs.collect::<toml::Table>().into()
    };
    let upstream = |server: &Server| {
        let mut words = server.command(setting.cache, setting.environment).into_iter();
        let env: toml::Table =
            server.env(setting.environment).into_iter().map(|(k, v)| (k, v.into())).collect();
        let command: toml::Value = words.next().unwrap_or_default().into();
        let args: Vec<String> = words.collect();
        section(&[("command", command), ("args", args.into()), ("env", env.into())])
    };
    let servers: toml::Table =
        server::SERVERS.iter().map(|server| (server.name.to_owned(), upstream(server))).collect();
    let config = toml::Table::from_iter([
        ("gateway".to_owned(), section(&[("mode", access.name().into())])),
        ("principal".to_owned(), section(&[("id", "agent".into())])),
        ("run".to_owned(), section(&[("placeholders", true.into())])),
        ("trust".to_owned(), setting.trust.section().into()),
        ("mcpServers".to_owned(), servers.into()),
    ]);
    config.to_string()
}
