//! A server entry in one form for all clients.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::tool_filter::ToolFilter;
use super::variables;

/// A server as a client configures it. Its `Debug` form shows no values of variables or headers.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerEntry {
    /// How it is reached.
    pub transport: ServerTransport,
    /// Whether the client has disabled it.
    pub disabled: bool,
    /// The time limit of a call, if the client sets one.
    pub timeout_ms: Option<u64>,
    /// The time that it may take to start, if the client sets one.
    pub start_timeout_ms: Option<u64>,
    /// The tools that the client takes from it.
    pub tools: ToolFilter,
}

/// A larger `timeout` of a client is in milliseconds.
const MAX_TIMEOUT_SECONDS: u64 = 3_600;
/// The time limit of a call unless a server's section sets one.
const DEFAULT_TIMEOUT_MS: u64 = 60_000;

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum ServerTransport {
    /// Started as a program.
    Program {
        /// A name to look up in `PATH`, or a path.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its environment variables.
        env: BTreeMap<String, String>,
        /// Its working directory.
        cwd: Option<PathBuf>,
    },
    /// Reached over HTTP.
    Address {
        /// The URL, `http` or `https`.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
}

#[cfg(test)]
impl From<ServerTransport> for ServerEntry {
    fn from(transport: ServerTransport) -> Self {
        Self {
            transport,
            disabled: false,
            timeout_ms: None,
            start_timeout_ms: None,
            tools: ToolFilter::default(),
        }
    }
}

impl fmt::Debug for ServerEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ServerEntry");
        match &self.transport {
            ServerTransport::Program { command, args, env, .. } => {
                let names: Vec<&String> = env.keys().collect();
                shown.field("command", command).field("args", &args.len()).field("env", &names)
            }
            ServerTransport::Address { headers, .. } => {
                let names: Vec<&String> = headers.keys().collect();
                shown.field("headers", &names)
            }
        };
        shown.finish_non_exhaustive()
    }
}

/// What an entry was recognised as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EntryReading {
    Server(ServerEntry),
    /// A feature of the client itself rather than an MCP server: an extension or a built-in.
    ClientInternal,
    /// A server that cannot be taken over, and why.
    Unusable(UnusableEntry),
}

/// Parses an entry. `project` is the project folder of its configuration file.
pub(super) fn read(entry: &Value, project: Option<&Path>) -> EntryReading {
    match try_read(entry, project) {
        Ok(reading) => reading,
        Err(reason) => EntryReading::Unusable(reason),
    }
}

/// Why an entry cannot be taken over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnusableEntry(pub(crate) String);

impl From<&str> for UnusableEntry {
    fn from(reason: &str) -> Self {
        Self(reason.to_owned())
    }
}

fn try_read(entry: &Value, project: Option<&Path>) -> Result<EntryReading, UnusableEntry> {
    let Some(members) = entry.as_object() else { return Err("its entry is not a table".into()) };
    // goose nests some entries one level deeper.
    let inner = entry.get("config").filter(|inner| inner.get("type").is_some());
    let get = |name: &str| inner.and_then(|inner| inner.get(name)).or_else(|| members.get(name));
    let kind = ["type", "transport", "transportType"].iter().find_map(|key| get(key)?.as_str());
    let own = ["builtin", "platform", "frontend", "inline_python"];
    if kind.is_some_and(|kind| own.contains(&kind)) || is_extension(entry) {
        return Ok(EntryReading::ClientInternal);
    }
    let context = variables::EntryContext { project };
    let disabled =
        flag(get("disabled"))?.unwrap_or(false) || !flag(get("enabled"))?.unwrap_or(true);
    let url = ["url", "httpUrl", "serverUrl", "uri"].iter().find_map(|key| get(key));
    let command = get("command").or_else(|| get("cmd"));
    let transport = match (command, url) {
        (Some(_), Some(_)) => return Err("it has both a command and an address".into()),
        (None, None) => return Err("it has neither a command nor an address".into()),
        (Some(command), None) => program(command, &get, &context)?,
        (None, Some(url)) => {
            let sse = kind.is_some_and(|kind| kind.eq_ignore_ascii_case("sse"));
            if sse {
                return Err(
                    "it speaks the older HTTP and SSE transport, which Weaver does not".into()
                );
            }
            address(url, &get, &context)?
        }
    };
    let (timeout_ms, start_timeout_ms) = (call_timeout(&get), start_timeout(&get));
    let tools = ToolFilter::read(&get)?;
    Ok(EntryReading::Server(ServerEntry {
        transport,
        disabled,
        timeout_ms,
        start_timeout_ms,
        tools,
    }))
}

/// The time limit of a call. `timeout` is in seconds in some clients (Cline, goose), in others in
/// milliseconds (Claude Code, Gemini CLI, LM Studio); no time of the one kind makes sense as the
/// other. In opencode it is the time of a list too, so a short one says nothing of calls.
fn call_timeout<'v>(get: &dyn Fn(&str) -> Option<&'v Value>) -> Option<u64> {
    if let Some(time) = get("tool_timeout_sec") {
        return seconds(time);
    }
    let time = get("timeout")?.as_u64()?;
    let milliseconds = if time <= MAX_TIMEOUT_SECONDS { time.saturating_mul(1000) } else { time };
    (milliseconds > DEFAULT_TIMEOUT_MS).then_some(milliseconds)
}

fn start_timeout<'v>(get: &dyn Fn(&str) -> Option<&'v Value>) -> Option<u64> {
    match get("startup_timeout_sec") {
        Some(time) => seconds(time),
        None => get("startup_timeout_ms")?.as_u64(),
    }
}

/// A number of seconds, which may be a fraction, in milliseconds.
fn seconds(value: &Value) -> Option<u64> {
    let time = std::time::Duration::try_from_secs_f64(value.as_f64()?).ok()?;
    u64::try_from(time.as_millis()).ok()
}

/// A server provided by a Zed extension: its start command is unknown.
fn is_extension(entry: &Value) -> bool {
    let text = |name: &str| entry.get(name).and_then(Value::as_str);
    let bare = entry.get("command").is_none() && entry.get("url").is_none();
    text("source") == Some("extension") || (bare && entry.get("settings").is_some())
}

fn flag(value: Option<&Value>) -> Result<Option<bool>, UnusableEntry> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => Err("`enabled` or `disabled` is neither true nor false".into()),
    }
}

fn program<'v>(
    command: &'v Value,
    get: &dyn Fn(&str) -> Option<&'v Value>,
    context: &variables::EntryContext<'_>,
) -> Result<ServerTransport, UnusableEntry> {
    // Zed used to write the program as a table.
    let table = command.as_object();
    let get = |name: &str| table.and_then(|table| table.get(name)).or_else(|| get(name));
    let mut words = match command {
        Value::String(program) => vec![program.clone()],
        Value::Array(words) => texts(words, "command")?,
        Value::Object(table) => {
            let path = table.get("path").and_then(Value::as_str);
            vec![path.ok_or("its command has no path")?.to_owned()]
        }
        _ => return Err("its command is not text".into()),
    };
    match get("args") {
        None | Some(Value::Null) => {}
        Some(Value::Array(more)) => words.extend(texts(more, "args")?),
        Some(_) => return Err("`args` is not a list".into()),
    }
    let words: Vec<String> =
        words.iter().map(|word| context.convert(word)).collect::<Result<_, _>>()?;
    let Some((command, args)) =
        words.split_first().filter(|(command, _)| !command.trim().is_empty())
    else {
        return Err("its command is empty".into());
    };
    let env = environment(&get, context)?;
    let cwd = match get("cwd") {
        None | Some(Value::Null) => context.project.map(Path::to_owned),
        Some(Value::String(path)) => {
            let path = context.convert(path)?;
            Some(context.project.map_or_else(|| path.clone().into(), |project| project.join(&path)))
        }
        Some(_) => return Err("`cwd` is not text".into()),
    };
    Ok(ServerTransport::Program { command: command.clone(), args: args.to_vec(), env, cwd })
}

/// The variables that an entry sets, and those of the client that it passes on.
fn environment<'v>(
    get: &dyn Fn(&str) -> Option<&'v Value>,
    context: &variables::EntryContext<'_>,
) -> Result<BTreeMap<String, String>, UnusableEntry> {
    let mut env =
        text_map(["env", "environment", "envs"].iter().find_map(|key| get(key)), context, "env")?;
    for name in names(get("env_vars"), "env_vars")? {
        check_name(&name, "env_vars")?;
        env.entry(name.clone()).or_insert_with(|| format!("${{{name}:-}}"));
    }
    if let Some(first) =
        names(get("env_keys"), "env_keys")?.into_iter().find(|key| !env.contains_key(key))
    {
        return Err(UnusableEntry(format!("its variable {first} is in the client's own keychain")));
    }
    if get("envFile").is_some() {
        return Err("it reads its variables from a file (`envFile`)".into());
    }
    Ok(env)
}

fn address<'v>(
    url: &Value,
    get: &dyn Fn(&str) -> Option<&'v Value>,
    context: &variables::EntryContext<'_>,
) -> Result<ServerTransport, UnusableEntry> {
    let url = url.as_str().ok_or("its address is not text")?;
    let url = context.convert(url)?;
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err("its address begins with neither http:// nor https://".into());
    }
    let headers = get("headers").or_else(|| get("http_headers"));
    let mut headers = text_map(headers, context, "headers")?;
    if let Some(name) = get("bearer_token_env_var").and_then(Value::as_str) {
        headers.insert("Authorization".to_owned(), format!("Bearer ${{{name}}}"));
    }
    if let Some(from) = get("env_http_headers").and_then(Value::as_object) {
        for (header, name) in from {
            check_name(header, "env_http_headers")?;
            let name = name.as_str().ok_or("`env_http_headers` holds something other than text")?;
            headers.insert(header.clone(), format!("${{{name}}}"));
        }
    }
    Ok(ServerTransport::Address { url, headers })
}

fn texts(items: &[Value], key: &str) -> Result<Vec<String>, UnusableEntry> {
    let text = |item: &Value| item.as_str().map(str::to_owned);
    let all: Option<Vec<String>> = items.iter().map(text).collect();
    all.ok_or_else(|| UnusableEntry(format!("`{key}` holds something other than text")))
}

pub(super) fn names(value: Option<&Value>, key: &str) -> Result<Vec<String>, UnusableEntry> {
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => texts(items, key),
        Some(_) => Err(UnusableEntry(format!("`{key}` is not a list"))),
    }
}

fn text_map(
    value: Option<&Value>,
    context: &variables::EntryContext<'_>,
    key: &str,
) -> Result<BTreeMap<String, String>, UnusableEntry> {
    let members = match value {
        None | Some(Value::Null) => return Ok(BTreeMap::new()),
        Some(Value::Object(members)) => members,
        Some(_) => return Err(UnusableEntry(format!("`{key}` is not a table"))),
    };
    let one = |(name, value): (&String, &Value)| {
        check_name(name, key)?;
        let text = match value {
            Value::String(text) => context.convert(text)?,
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => return Err(UnusableEntry(format!("`{key}.{name}` is not text"))),
        };
        Ok((name.clone(), text))
    };
    members.iter().map(one).collect()
}

/// A name with a line end could not be written as a key of `weaver.toml`.
fn check_name(name: &str, key: &str) -> Result<(), UnusableEntry> {
    if !name.chars().any(char::is_control) {
        return Ok(());
    }
    let name = weaver_text::escape::line(name);
    Err(UnusableEntry(format!("the name `{name}` in `{key}` has control characters")))
}
