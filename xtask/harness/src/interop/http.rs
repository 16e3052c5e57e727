//! Both sides over Streamable HTTP: a listening server, and a gateway that clients reach with a
//! bearer token.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::server::Server;
use crate::child::{self, ProcessGroup};
use crate::conformance::gateway::{free_port, wait_for};
use crate::counterparts::cache::Cache;

const TIMEOUT: Duration = Duration::from_secs(60);
/// The variable in which the SDK scripts expect the bearer token.
pub const TOKEN_VARIABLE: &str = "WEAVER_TOKEN";

/// A listening process; killed on drop.
pub struct ListeningProcess {
    pub url: String,
    /// The token that its clients present.
    pub token: Option<String>,
    _group: ProcessGroup,
}

impl ListeningProcess {
    /// Starts a server with its HTTP transport.
    pub fn server(cache: &Cache, server: &Server, folder: &Path) -> Result<Self> {
        let files = folder.join("files");
        let words = server.http_command(cache, &files).context("it does not speak HTTP")?;
        let (program, arguments) = words.split_first().context("an empty command line")?;
        let port = free_port()?;
        let mut command = cache.command(program);
        command.args(arguments).current_dir(folder).env("PORT", port.to_string());
        let listening = Self::start(&mut command, port, &folder.join("server.log"))?;
        Ok(listening)
    }

    /// Starts the gateway with a configuration that listens on this port, and adds one client.
    pub fn gateway(cache: &Cache, weaver: &Path, config: &Path, port: u16) -> Result<Self> {
        let mut command = cache.command(weaver);
        command.args(["daemon", "--config"]).arg(config);
        let log = config.with_file_name("weaver.log");
        let mut listening = Self::start(&mut command, port, &log)?;
        let mut add = cache.command(weaver);
        add.args(["clients", "add", "interop", "--days", "1", "--json", "--config"]).arg(config);
        let said = child::run(&mut add, "", TIMEOUT)?.succeeded("weaver clients add")?;
        let said: Value =
            serde_json::from_str(&said).context("`weaver clients add` says no JSON")?;
        let token = said["token"].as_str().context("`weaver clients add` shows no token")?;
        listening.token = Some(token.to_owned());
        Ok(listening)
    }

    /// A command that bridges it to stdin and stdout with an SDK's transport.
    pub fn pipe(&self, cache: &Cache) -> Command {
        let mut pipe = cache.command(cache.node());
        pipe.arg(cache.script("http_pipe.mjs")).arg(cache.npm()).arg(&self.url);
        if let Some(token) = &self.token {
            pipe.env(TOKEN_VARIABLE, token);
        }
        pipe
    }

    fn start(command: &mut Command, port: u16, log: &Path) -> Result<Self> {
        let group = ProcessGroup::start(command.stdout(Stdio::null()).stderr(File::create(log)?))?;
        wait_for(port).with_context(|| format!("see {}", log.display()))?;
        Ok(Self { url: format!("http://127.0.0.1:{port}/mcp"), token: None, _group: group })
    }
}
