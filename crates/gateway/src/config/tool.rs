//! The operator's own tools: a program, or an operation of an HTTP API, as `[tools.NAME]`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use weaver_drivers::confine::Confinement;
use weaver_drivers::http::{
    Access, AddressRange, Body, CertificateAuthority, CommandSecret, EnvSecret, FileSecret,
    HostRule, Method, Operation, ProjectedSecret, SecretHeader, SecretProvider,
};
use weaver_drivers::process::{OutputForm, ProcessConfig};
use weaver_types::Millicents;

/// The namespace of these tools: `tools.NAME`.
pub const OWN_TOOLS_NAMESPACE: &str = "tools";

/// One of the operator's own tools. Its effects are declared in the signed contracts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnTool {
    /// Its name: its id is `tools.NAME`.
    pub name: String,
    /// Its description for a model.
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

/// The source of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// A variable of the environment.
    Env(String),
    /// A file that only its owner may read.
    File(PathBuf),
    /// The output of a program.
    Command(Vec<String>),
}

impl SecretSource {
    /// The provider that reads the secret.
    pub(crate) fn provider(&self) -> Arc<dyn SecretProvider> {
        match self {
            Self::Env(name) => Arc::new(EnvSecret(name.clone())),
            Self::File(path) => Arc::new(FileSecret(path.clone())),
            Self::Command(words) => Arc::new(CommandSecret(words.clone())),
        }
    }

    /// The same for a platform-written file, whose permissions the platform controls.
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
    /// The URL template.
    pub url: String,
    /// Headers: literals and placeholders.
    pub headers: BTreeMap<String, String>,
    /// Headers with a secret: the text before it, and its source.
    pub secrets: BTreeMap<String, (String, SecretSource)>,
    /// The body.
    pub body: Body,
    /// The accepted media types of responses.
    pub content: BTreeSet<String>,
    /// The header that takes the idempotency key.
    pub idempotency_header: Option<String>,
    /// Hosts allowed in addition to the template's.
    pub hosts: Vec<HostRule>,
    /// Non-public addresses that may be connected to.
    pub networks: Vec<AddressRange>,
    /// Whether other machines may be reached over `http`.
    pub plain_http: bool,
    /// How many redirects are followed.
    pub max_redirects: Option<u8>,
    /// Time until the head of a response has arrived.
    pub header_timeout: Option<Duration>,
    /// The largest response.
    pub max_response_bytes: Option<usize>,
    /// A certificate authority trusted in addition to the platform's.
    pub certificate_authority: Option<CertificateAuthority>,
    /// The price of one call.
    pub price: Millicents,
}

/// A program. Its `Debug` form names variables, never their values.
#[derive(Clone, PartialEq, Eq)]
pub struct ProgramTool {
    /// The program: a name to look up in `PATH`, or a path.
    pub command: String,
    /// Its arguments, with placeholders.
    pub args: Vec<String>,
    /// The argument that becomes its standard input.
    pub stdin: Option<String>,
    /// Variables that it gets besides the few that every child gets.
    pub env: BTreeMap<String, String>,
    /// Its working directory; `None` for ours.
    pub cwd: Option<PathBuf>,
    /// The format of its output.
    pub output: OutputForm,
    /// Most bytes of output that are kept.
    pub output_bytes: Option<usize>,
    /// The exit codes that mean success.
    pub success: BTreeSet<i32>,
    /// Its confinement beyond the gateway's state; `None` adds nothing.
    pub confine: Option<Confinement>,
    /// The price of one call.
    pub price: Millicents,
}

impl OwnTool {
    /// Its definition for clients, in the form of MCP.
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

    /// Its implementation as text, which a contract pins together with the rest of the tool.
    #[must_use]
    pub fn implementation_text(&self) -> String {
        match &self.implementation {
            ToolImplementation::Http(http) => http.pinned_value().to_string(),
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
    fn pinned_value(&self) -> Value {
        let mut implementation = json!({
            "method": self.method.as_str(),
            "url": self.url,
            "headers": self.headers,
            "secrets": self.secrets.keys().collect::<Vec<_>>(),
            "body": format!("{:?}", self.body),
            "hosts": self.hosts.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "networks": self.networks.iter().map(ToString::to_string).collect::<Vec<_>>(),
        });
        if let (Some(authority), Some(implementation)) =
            (&self.certificate_authority, implementation.as_object_mut())
        {
            implementation.insert("authority".to_owned(), json!(authority.digests()));
        }
        implementation
    }

    /// The operation, with its secret providers.
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

    /// Where its requests may go, and their limits.
    #[must_use]
    pub fn access(&self) -> Access {
        let defaults = Access::default();
        Access {
            hosts: self.hosts.clone(),
            networks: self.networks.clone(),
            plain_http: self.plain_http,
            max_redirects: self.max_redirects.unwrap_or(defaults.max_redirects),
            header_timeout: self.header_timeout.unwrap_or(defaults.header_timeout),
            max_response_bytes: self.max_response_bytes.unwrap_or(defaults.max_response_bytes),
            certificate_authority: self.certificate_authority.clone(),
            ..defaults
        }
    }
}

impl ProgramTool {
    /// The program's configuration, without confinement.
    #[must_use]
    pub fn process(&self) -> ProcessConfig {
        let defaults = ProcessConfig::new(self.command.clone());
        ProcessConfig {
            args: self.args.clone(),
            stdin: self.stdin.clone(),
            env: self.env.clone(),
            cwd: self.cwd.clone(),
            output: self.output,
            output_bytes: self.output_bytes.unwrap_or(defaults.output_bytes),
            success: self.success.clone(),
            price: self.price,
            ..defaults
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
