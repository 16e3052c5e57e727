//! The clients behind one interface.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::http::{self, ListeningProcess};
use super::mcporter::Mcporter;
use super::plan::{self, Era, Tool};
use super::session::Session;
use crate::child;
use crate::counterparts::cache::Cache;

const TIMEOUT: Duration = Duration::from_secs(90);
/// The inspector's exit code after a result with `isError`.
const TOOL_ERROR: i32 = 5;
/// The first revision of the modern era.
const FIRST_MODERN_REVISION: &str = "2026-07-28";

/// A client that is ready for requests.
pub enum Client {
    /// A process for each request, each with its own gateway.
    Inspector(Inspector),
    /// Also a process for each request, each with its own gateway.
    Mcporter(Mcporter),
    /// One process and one gateway for all requests.
    Sdk(Box<Session>),
}

impl Client {
    /// Starts a client for the gateway with the command line `serve`.
    pub fn start(
        cache: &Cache,
        client: plan::Client,
        serve: &[String],
        folder: &Path,
    ) -> Result<Self> {
        match client.tool {
            Tool::Inspector => {
                Inspector::new(cache, client.era, serve, folder).map(Self::Inspector)
            }
            Tool::Mcporter => Mcporter::new(cache, serve, folder).map(Self::Mcporter),
            Tool::PythonSdk => Self::session(Self::python(cache), client.era.name(), serve, folder),
            Tool::TypeScriptSdk => {
                Self::session(Self::node(cache), client.era.name(), serve, folder)
            }
        }
    }

    /// Starts one process that starts the gateway twice and sends requests to both in turn.
    pub fn twice(cache: &Cache, serve: &[String], folder: &Path) -> Result<Self> {
        Self::session(Self::python(cache), "twice", serve, folder)
    }

    fn python(cache: &Cache) -> Command {
        let mut python = cache.command(cache.python_program("python"));
        python.arg(cache.script("session.py"));
        python
    }

    fn node(cache: &Cache) -> Command {
        let mut node = cache.command(cache.node());
        node.arg(cache.script("session.mjs")).arg(cache.npm());
        node
    }

    /// Starts the script of an SDK for the gateway.
    fn session(mut script: Command, how: &str, serve: &[String], folder: &Path) -> Result<Self> {
        let log = File::create(folder.join("stderr.log"))?;
        script.arg(how).args(serve).current_dir(folder).stderr(log);
        Ok(Self::Sdk(Box::new(Session::start(&mut script)?)))
    }

    /// Starts the script of an SDK for a listening gateway. Records the negotiated version as the
    /// tap does.
    pub fn over_http(
        cache: &Cache,
        client: plan::Client,
        gateway: &ListeningProcess,
        folder: &Path,
    ) -> Result<Self> {
        let mut script = match client.tool {
            Tool::PythonSdk => Self::python(cache),
            Tool::TypeScriptSdk => Self::node(cache),
            Tool::Inspector | Tool::Mcporter => bail!("it is not driven over HTTP"),
        };
        script.env(http::TOKEN_VARIABLE, gateway.token.as_deref().unwrap_or_default());
        script.arg(client.era.name()).arg(&gateway.url).current_dir(folder);
        let session = Session::start(script.stderr(File::create(folder.join("stderr.log"))?))?;
        let modern = session.protocol() >= FIRST_MODERN_REVISION;
        let era = if modern { Era::Modern } else { Era::Legacy };
        let note = format!("{} {}\n", era.name(), session.protocol());
        fs::write(folder.join("client.era"), note)?;
        Ok(Self::Sdk(Box::new(session)))
    }

    /// The tools that the gateway lists.
    pub fn list(&mut self) -> Result<Vec<Value>> {
        let answer = match self {
            Self::Inspector(inspector) => inspector.ask(&["--method", "tools/list"])?,
            Self::Mcporter(mcporter) => mcporter.list()?,
            Self::Sdk(session) => {
                result_or_error(session.ask(&json!({ "method": "tools/list" }))?)?
            }
        };
        answer["tools"].as_array().cloned().with_context(|| format!("no tools: {answer}"))
    }

    /// The result of a tool call, with `isError` or without.
    pub fn call(&mut self, name: &str, arguments: &Value) -> Result<Value> {
        match self {
            Self::Inspector(inspector) => {
                let arguments = arguments.to_string();
                let method = ["--method", "tools/call", "--tool-name", name];
                inspector.ask(&[&method[..], &["--tool-args-json", &arguments]].concat())
            }
            Self::Mcporter(mcporter) => mcporter.call(name, arguments),
            Self::Sdk(session) => {
                let request =
                    json!({ "method": "tools/call", "name": name, "arguments": arguments });
                result_or_error(session.ask(&request)?)
            }
        }
    }

    /// Closes it.
    pub fn close(&mut self) -> Result<()> {
        match self {
            Self::Inspector(_) | Self::Mcporter(_) => Ok(()),
            Self::Sdk(session) => session.close(),
        }
    }
}

/// The inspector's command line, except for the request.
pub struct Inspector {
    cache: Cache,
    words: Vec<String>,
}

impl Inspector {
    /// Writes the servers file that it reads.
    fn new(cache: &Cache, era: Era, serve: &[String], folder: &Path) -> Result<Self> {
        let package = cache.npm().join("node_modules/@modelcontextprotocol/inspector");
        let manifest = fs::read_to_string(package.join("package.json"))?;
        let manifest: Value = serde_json::from_str(&manifest)?;
        let script = manifest["bin"]["mcp-inspector"].as_str();
        let script = script.context("the inspector has no program `mcp-inspector`")?;
        let (command, args) = serve.split_first().context("an empty command line")?;
        let server = json!({ "type": "stdio", "command": command, "args": args });
        let file = folder.join("mcp.json");
        fs::write(&file, json!({ "mcpServers": { "weaver": server } }).to_string())?;
        let (script, file) =
            (package.join(script).display().to_string(), file.display().to_string());
        let target = [script.as_str(), "--cli", "--config", &file, "--server", "weaver"];
        let form = ["--protocol-era", era.name(), "--format", "json", "--quiet"];
        let words = target.iter().chain(&form).map(|&word| word.to_owned()).collect();
        Ok(Self { cache: cache.clone(), words })
    }

    fn ask(&self, request: &[&str]) -> Result<Value> {
        let mut command = self.cache.command(self.cache.node());
        let output = child::run(command.args(&self.words).args(request), "", TIMEOUT)?;
        let read: Option<Value> = serde_json::from_str(&output.stdout).ok();
        let result = read.map(|mut read| read["result"].take()).unwrap_or_default();
        match output.status.code() {
            Some(0) if result.is_object() => Ok(result),
            Some(TOOL_ERROR) if result["isError"] == true => Ok(result),
            _ => bail!("the inspector ended with {}: {}", output.status, output.tail()),
        }
    }
}

fn result_or_error(mut line: Value) -> Result<Value> {
    match line.get("error") {
        Some(error) => bail!("{}", error.as_str().unwrap_or("an error without words")),
        None => Ok(line["result"].take()),
    }
}
