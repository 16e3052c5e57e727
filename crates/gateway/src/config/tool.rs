//! Tools of the operator's own: a program, or an operation of an HTTP API, as `[tools.NAME]`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use weaver_drivers::confine::Confinement;
use weaver_drivers::http::{
    Access, Authority, Body, CommandSecret, EnvSecret, FileSecret, HostRule, Method, Network,
    Operation, ProjectedSecret, SecretHeader, SecretProvider,
};
use weaver_drivers::process::{OutputForm, ProcessConfig};
use weaver_types::Millicents;

/// The name under which such tools stand before their own: `tools.NAME`.
pub const TOOLS: &str = "tools";

/// A tool of the operator's own. What it can do stands in the signed contracts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Its name: its id is `tools.NAME`.
    pub name: String,
    /// What it is for, as a model reads it.
    pub description: String,
    /// The schema of its arguments.
    pub input_schema: Option<Value>,
    /// How a tool is implemented.
    pub implementation: ToolImplementation,
}

/// How a tool is implemented.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolImplementation {
    /// An HTTP request.
    Http(HttpTool),
    /// A program.
    Program(ProgramTool),
}

/// Where a secret comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// A variable of the environment.
    Env(String),
    /// A file that only its owner can read.
    File(PathBuf),
    /// What a program prints.
    Command(Vec<String>),
}

impl SecretSource {
    /// What asks there.
    pub(crate) fn provider(&self) -> Arc<dyn SecretProvider> {
        match self {
            Self::Env(name) => Arc::new(EnvSecret(name.clone())),
            Self::File(path) => Arc::new(FileSecret(path.clone())),
            Self::Command(words) => Arc::new(CommandSecret(words.clone())),
        }
    }

    /// The same for what a platform writes, which says itself who can read its files.
    pub(crate) fn projected_provider(&self) -> Arc<dyn SecretProvider> {
        match self {
            Self::File(path) => Arc::new(ProjectedSecret(path.clone())),
            Self::Env(_) | Self::Command(_) => self.provider(),
        }
    }
}

/// An operation of an HTTP API. Its `Debug` form names headers, never their values.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpTool {
    /// The method.
    pub method: Method,
    /// The template of the address.
    pub url: String,
    /// Headers: texts and places.
    pub headers: BTreeMap<String, String>,
    /// Headers with a secret: what stands before it, and where it comes from.
    pub secrets: BTreeMap<String, (String, SecretSource)>,
    /// The body.
    pub body: Body,
    /// The media types of answers.
    pub content: BTreeSet<String>,
    /// The header that takes the idempotency key.
    pub idempotency_header: Option<String>,
    /// Hosts beside the one of the template.
    pub hosts: Vec<HostRule>,
    /// Addresses that are not public and may be connected to.
    pub networks: Vec<Network>,
    /// Whether `http` is requested from other machines.
    pub plain_http: bool,
    /// How many redirects are followed.
    pub redirects: Option<u8>,
    /// How long the head of an answer may take.
    pub header_time: Option<Duration>,
    /// The longest answer, in bytes.
    pub response_bytes: Option<usize>,
    /// Certificates that count beside the platform's.
    pub authority: Option<Authority>,
    /// What one call costs.
    pub price: Millicents,
}

/// A program. Its `Debug` form names variables, never their values.
#[derive(Clone, PartialEq, Eq)]
pub struct ProgramTool {
    /// The program: a name to look up in `PATH`, or a path.
    pub command: String,
    /// Its arguments, with places.
    pub args: Vec<String>,
    /// The argument that becomes its standard input.
    pub stdin: Option<String>,
    /// Variables that it gets besides the few that every child gets.
    pub env: BTreeMap<String, String>,
    /// Its working directory; `None` for ours.
    pub cwd: Option<PathBuf>,
    /// How its output is read.
    pub output: OutputForm,
    /// Most bytes of output that are kept.
    pub output_bytes: Option<usize>,
    /// The exit codes that mean success.
    pub success: BTreeSet<i32>,
    /// What is kept from it beside the gateway's state; `None` for nothing.
    pub confine: Option<Confinement>,
    /// What one call costs.
    pub price: Millicents,
}

impl Tool {
    /// What a client is told of it, in the form of MCP.
    #[must_use]
    pub fn definition(&self) -> Value {
        let mut definition = Map::new();
        definition.insert("name".to_owned(), json!(self.name));
        definition.insert("description".to_owned(), json!(self.description));
        let any = || json!({ "type": "object" });
        let schema = self.input_schema.clone().unwrap_or_else(any);
        definition.insert("inputSchema".to_owned(), schema);
        Value::Object(definition)
    }

    /// Its implementation as text, which a contract pins with the rest of the tool.
    #[must_use]
    pub fn implementation_text(&self) -> String {
        match &self.implementation {
            ToolImplementation::Http(http) => http.implementation().to_string(),
            ToolImplementation::Program(program) => json!({
                "command": program.command,
                "args": program.args,
                "stdin": program.stdin,
                "env": program.env.keys().collect::<Vec<_>>(),
                "cwd": program.cwd,
            })
            .to_string(),
        }
    }
}

impl HttpTool {
    fn implementation(&self) -> Value {
        let mut deed = json!({
            "method": self.method.as_str(),
            "url": self.url,
            "headers": self.headers,
            "secrets": self.secrets.keys().collect::<Vec<_>>(),
            "body": format!("{:?}", self.body),
            "hosts": self.hosts.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "networks": self.networks.iter().map(ToString::to_string).collect::<Vec<_>>(),
        });
        if let (Some(authority), Some(deed)) = (&self.authority, deed.as_object_mut()) {
            deed.insert("authority".to_owned(), json!(authority.digests()));
        }
        deed
    }

    /// The operation, with its providers of secrets.
    #[must_use]
    pub fn operation(&self) -> Operation {
        let secret = |(name, (prefix, source)): (&String, &(String, SecretSource))| {
            let secret = SecretHeader { prefix: prefix.clone(), provider: source.provider() };
            (name.clone(), secret)
        };
        Operation {
            headers: self.headers.clone(),
            secrets: self.secrets.iter().map(secret).collect(),
            body: self.body.clone(),
            content: self.content.clone(),
            idempotency_header: self.idempotency_header.clone(),
            price: self.price,
            ..Operation::new(self.method, self.url.clone())
        }
    }

    /// Where its requests may go.
    #[must_use]
    pub fn access(&self) -> Access {
        let usual = Access::default();
        Access {
            hosts: self.hosts.clone(),
            networks: self.networks.clone(),
            plain_http: self.plain_http,
            redirects: self.redirects.unwrap_or(usual.redirects),
            header_time: self.header_time.unwrap_or(usual.header_time),
            response_bytes: self.response_bytes.unwrap_or(usual.response_bytes),
            authority: self.authority.clone(),
            ..usual
        }
    }
}

impl ProgramTool {
    /// The program, not confined yet.
    #[must_use]
    pub fn process(&self) -> ProcessConfig {
        let usual = ProcessConfig::new(self.command.clone());
        ProcessConfig {
            args: self.args.clone(),
            stdin: self.stdin.clone(),
            env: self.env.clone(),
            cwd: self.cwd.clone(),
            output: self.output,
            output_bytes: self.output_bytes.unwrap_or(usual.output_bytes),
            success: self.success.clone(),
            price: self.price,
            ..usual
        }
    }
}

impl fmt::Debug for HttpTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTool")
            .field("method", &self.method)
            .field("url", &self.url.split('?').next().unwrap_or_default())
            .field("headers", &self.headers.keys())
            .field("secrets", &self.secrets.keys())
            .field("hosts", &self.hosts)
            .field("networks", &self.networks)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ProgramTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgramTool")
            .field("command", &self.command)
            .field("args", &self.args.len())
            .field("env", &self.env.keys())
            .field("cwd", &self.cwd)
            .field("confine", &self.confine)
            .finish_non_exhaustive()
    }
}
