//! Reads `[tools.NAME]`.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::time::Duration;

use serde_json::{Map, Value};
use weaver_drivers::http::{Authority, Body, Method, OperationError};
use weaver_drivers::process::OutputForm;
use weaver_policy::Finding;
use weaver_types::canonical::{self, Profile};
use weaver_types::{CapabilityId, Millicents};

use super::expansion::{ExpansionContext, expanded, program};
use super::node::{Node, Shape, shown};
use super::tool::{HttpTool, ProgramTool, SecretSource, TOOLS, Tool, ToolImplementation};
use super::{MAX_CONFIG, confine};
use crate::bounded_file;

/// The most tools, and entries of one list of a tool.
const MAX_TOOLS: usize = 1_000;
const MAX_ENTRIES: usize = 1_000;
const MAX_PRICE: u64 = 1 << 40;
const TOOL: [&str; 4] = ["description", "input_schema", "http", "program"];
const HTTP: [&str; 15] = [
    "method",
    "url",
    "headers",
    "secrets",
    "body",
    "content",
    "idempotency_header",
    "hosts",
    "networks",
    "plain_http",
    "redirects",
    "header_timeout_ms",
    "response_kb",
    "ca_file",
    "price_millicents",
];
const PROGRAM: [&str; 10] = [
    "command",
    "args",
    "stdin",
    "env",
    "cwd",
    "output",
    "output_kb",
    "success",
    "confine",
    "price_millicents",
];
const SECRET: [&str; 4] = ["prefix", "env", "file", "command"];

type Table = BTreeMap<String, Node>;

/// Reads all of them; those that are wrong are left out.
pub(super) fn read(
    node: Option<&Node>,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Vec<Tool> {
    let Some(node) = node else { return Vec::new() };
    let Some(table) = node.table(out) else { return Vec::new() };
    if table.len() > MAX_TOOLS {
        let message = format!("{} tools, at most {MAX_TOOLS} are allowed", table.len());
        out.push(node.finding("config.range", message, "remove some"));
    }
    table.iter().filter_map(|(name, node)| tool(name, node, context, out)).collect()
}

fn tool(
    name: &str,
    node: &Node,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Option<Tool> {
    let table = node.section(&TOOL, out)?;
    let before = out.len();
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let legal = name.len() <= 64 && !name.is_empty() && name.bytes().all(plain);
    if !legal || CapabilityId::parse(format!("{TOOLS}.{name}")).is_err() {
        let message = format!("`{}` cannot name a tool", shown(name));
        out.push(node.finding("config.name", message, "use 1 to 64 of a-z, A-Z, 0-9, `_`, `-`"));
    }
    let description = match table.get("description") {
        Some(node) => node.text(out).unwrap_or_default().to_owned(),
        None => {
            let remedy = "write `description`: it is what a model chooses by";
            out.push(node.finding("config.missing_key", "`description` is missing", remedy));
            String::new()
        }
    };
    let input_schema = table.get("input_schema").and_then(|node| schema(node, context, out));
    let implementation = match (table.get("http"), table.get("program")) {
        (Some(node), None) => http(node, context, out).map(ToolImplementation::Http),
        (None, Some(node)) => process(node, context, out).map(ToolImplementation::Program),
        _ => {
            let message = "a tool is either a request or a program";
            let remedy = "write `[tools.NAME.http]` or `[tools.NAME.program]`";
            out.push(node.finding("config.tool", message, remedy));
            None
        }
    };
    let implementation = implementation?;
    (out.len() == before).then(|| Tool {
        name: name.to_owned(),
        description,
        input_schema,
        implementation,
    })
}

/// A schema: a table, or the file that holds it as JSON.
fn schema(node: &Node, context: &ExpansionContext<'_>, out: &mut Vec<Finding>) -> Option<Value> {
    if let Shape::Table(_) = &node.shape {
        let value = json(node);
        if value.is_none() {
            let remedy = "put it into a file and name that: `input_schema = \"x.json\"`";
            out.push(node.finding(
                "config.tool",
                "a value that is not text, whole or a flag",
                remedy,
            ));
        }
        return value;
    }
    let path = context.base.join(node.text(out)?);
    let read =
        bounded_file::text(&path, MAX_CONFIG).map_err(|error| error.to_string()).and_then(|text| {
            canonical::parse(text.as_bytes(), Profile::Foreign).map_err(|error| error.to_string())
        });
    match read {
        Ok(value @ Value::Object(_)) => Some(value),
        Ok(_) => {
            out.push(node.finding("config.tool", "the file holds no object", "write a schema"));
            None
        }
        Err(error) => {
            let message = format!("{}: {}", path.display(), shown(&error));
            out.push(node.finding("config.unreadable", message, "name the schema's file"));
            None
        }
    }
}

fn json(node: &Node) -> Option<Value> {
    Some(match &node.shape {
        Shape::Text(text) => Value::from(text.clone()),
        Shape::Whole(number) => Value::from(*number),
        Shape::Flag(flag) => Value::from(*flag),
        Shape::List(list) => Value::Array(list.iter().map(json).collect::<Option<_>>()?),
        Shape::Table(table) => {
            let entry = |(name, node): (&String, &Node)| Some((name.clone(), json(node)?));
            Value::Object(table.iter().map(entry).collect::<Option<Map<_, _>>>()?)
        }
        Shape::Other(_) => return None,
    })
}

fn http(node: &Node, context: &ExpansionContext<'_>, out: &mut Vec<Finding>) -> Option<HttpTool> {
    let table = node.section(&HTTP, out)?;
    let before = out.len();
    let methods: Vec<(&str, Method)> =
        Method::ALL.into_iter().map(|method| (method.as_str(), method)).collect();
    let method = table.get("method").and_then(|node| node.word(&methods, out));
    let url = text(table, "url", context, out);
    let bytes = whole(table, "response_kb", 1..=1 << 20, out);
    let tool = HttpTool {
        method: method.unwrap_or_default(),
        url: url.unwrap_or_default(),
        headers: texts(table, "headers", context, out),
        secrets: secrets(table, context, out),
        body: table.get("body").and_then(|node| body(node, out)).unwrap_or_default(),
        content: match list(table, "content", context, out) {
            types if types.is_empty() => BTreeSet::from(["application/json".to_owned()]),
            types => types.into_iter().collect(),
        },
        idempotency_header: text(table, "idempotency_header", context, out),
        hosts: parsed(table, "hosts", out),
        networks: parsed(table, "networks", out),
        plain_http: table.get("plain_http").and_then(|node| node.flag(out)).unwrap_or(false),
        redirects: whole(table, "redirects", 0..=20, out).and_then(|n| u8::try_from(n).ok()),
        header_time: whole(table, "header_timeout_ms", 100..=60_000, out)
            .map(Duration::from_millis),
        response_bytes: bytes.and_then(|kb| usize::try_from(kb.saturating_mul(1024)).ok()),
        authority: table.get("ca_file").and_then(|node| authority(node, context, out)),
        price: price(table, out),
    };
    if out.len() > before {
        return None;
    }
    if let Err(error) = tool.operation().check(&tool.access()) {
        let remedy = "see `[tools.NAME.http]` in the reference";
        out.push(node.finding("config.tool", format!("{error} [{}]", error.code()), remedy));
        return None;
    }
    Some(tool)
}

/// The certificates in a file.
fn authority(
    node: &Node,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Option<Authority> {
    let path = context.base.join(expanded(node, context, out)?);
    let read = bounded_file::text(&path, MAX_CONFIG).map_err(|error| error.to_string());
    let read = read.and_then(|text| {
        let read = Authority::from_pem(text.as_bytes());
        read.map_err(|error| format!("{error} [{}]", error.code()))
    });
    read.map_err(|problem| {
        let message = format!("{}: {}", path.display(), shown(&problem));
        out.push(node.finding("config.unreadable", message, "name a file of certificates in PEM"));
    })
    .ok()
}

fn process(
    node: &Node,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Option<ProgramTool> {
    let table = node.section(&PROGRAM, out)?;
    let before = out.len();
    let command = text(table, "command", context, out).unwrap_or_default();
    let forms = [("text", OutputForm::Text), ("json", OutputForm::Json)];
    let output = table.get("output").and_then(|node| node.word(&forms, out));
    let bytes = whole(table, "output_kb", 1..=1 << 20, out);
    let codes = table.get("success").map(|node| {
        let all = node.list(out).iter();
        let all: Vec<_> = all.collect();
        all.into_iter()
            .filter_map(|node| node.whole(0..=255, out))
            .filter_map(|code| i32::try_from(code).ok())
            .collect()
    });
    let tool = ProgramTool {
        command: program(context, &command),
        args: list(table, "args", context, out),
        stdin: text(table, "stdin", context, out),
        env: texts(table, "env", context, out),
        cwd: text(table, "cwd", context, out).map(|path| context.base.join(path)),
        output: output.unwrap_or_default(),
        output_bytes: bytes.and_then(|kb| usize::try_from(kb.saturating_mul(1024)).ok()),
        success: codes.unwrap_or_else(|| BTreeSet::from([0])),
        confine: table.get("confine").and_then(|node| confine::read(node, context, out)),
        price: price(table, out),
    };
    if out.len() > before {
        return None;
    }
    if let Err(error) = tool.process().check() {
        let remedy = "see `[tools.NAME.program]` in the reference";
        out.push(node.finding("config.tool", format!("{error} [{}]", error.code()), remedy));
        return None;
    }
    Some(tool)
}

fn text(
    table: &Table,
    name: &str,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Option<String> {
    table.get(name).and_then(|node| expanded(node, context, out))
}

fn texts(
    table: &Table,
    name: &str,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> BTreeMap<String, String> {
    let entries = table.get(name).and_then(|node| node.table(out)).into_iter().flatten();
    let entries: Vec<_> = entries.take(MAX_ENTRIES).collect();
    let read = |(name, node): (&String, &Node), out: &mut Vec<Finding>| {
        Some((name.clone(), expanded(node, context, out)?))
    };
    entries.into_iter().filter_map(|entry| read(entry, out)).collect()
}

fn list(
    table: &Table,
    name: &str,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Vec<String> {
    let Some(node) = table.get(name) else { return Vec::new() };
    let items = node.list(out);
    if items.len() > MAX_ENTRIES {
        let message = format!("{} entries, at most {MAX_ENTRIES} are allowed", items.len());
        out.push(node.finding("config.range", message, "remove what is not needed"));
        return Vec::new();
    }
    items.iter().filter_map(|item| expanded(item, context, out)).collect()
}

/// A list of hosts or networks.
fn parsed<T: FromStr<Err = OperationError>>(
    table: &Table,
    name: &str,
    out: &mut Vec<Finding>,
) -> Vec<T> {
    let items: Vec<&Node> =
        table.get(name).map(|node| node.list(out).iter().collect()).unwrap_or_default();
    let mut read = Vec::new();
    for item in items.into_iter().take(MAX_ENTRIES) {
        match item.text(out).map(|text| text.parse::<T>()) {
            Some(Ok(one)) => read.push(one),
            Some(Err(error)) => {
                let code = error.code();
                out.push(item.finding("config.tool", format!("{error} [{code}]"), "correct it"));
            }
            None => {}
        }
    }
    read
}

fn whole(
    table: &Table,
    name: &str,
    range: std::ops::RangeInclusive<u64>,
    out: &mut Vec<Finding>,
) -> Option<u64> {
    table.get(name).and_then(|node| node.whole(range, out))
}

fn price(table: &Table, out: &mut Vec<Finding>) -> Millicents {
    Millicents(whole(table, "price_millicents", 0..=MAX_PRICE, out).unwrap_or(0))
}

/// `none`, `rest`, `json:NAME` or `text:NAME`.
fn body(node: &Node, out: &mut Vec<Finding>) -> Option<Body> {
    let text = node.text(out)?;
    match text.split_once(':') {
        None if text == "none" => Some(Body::None),
        None if text == "rest" => Some(Body::Rest),
        Some(("json", name)) if !name.is_empty() => Some(Body::Argument(name.to_owned())),
        Some(("text", name)) if !name.is_empty() => Some(Body::Text(name.to_owned())),
        _ => {
            let message = format!("`{}` is no body", shown(text));
            let remedy = "write \"none\", \"rest\", \"json:NAME\" or \"text:NAME\"";
            out.push(node.finding("config.word", message, remedy));
            None
        }
    }
}

fn secrets(
    table: &Table,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> BTreeMap<String, (String, SecretSource)> {
    let entries = table.get("secrets").and_then(|node| node.table(out)).into_iter().flatten();
    let entries: Vec<_> = entries.take(MAX_ENTRIES).collect();
    let mut read = BTreeMap::new();
    for (name, node) in entries {
        if let Some(secret) = secret(node, context, out) {
            read.insert(name.clone(), secret);
        }
    }
    read
}

fn secret(
    node: &Node,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Option<(String, SecretSource)> {
    let table = node.section(&SECRET, out)?;
    let prefix = match table.get("prefix") {
        Some(node) => node.text(out)?.to_owned(),
        None => String::new(),
    };
    let source = source(node, table, context, out)?;
    Some((prefix, source))
}

/// Where a secret comes from: the one of the three that is named.
pub(super) fn source(
    node: &Node,
    table: &BTreeMap<String, Node>,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Option<SecretSource> {
    match (table.get("env"), table.get("file"), table.get("command")) {
        // The name of a variable: its value is looked up when a request is made.
        (Some(node), None, None) => Some(SecretSource::Env(node.text(out)?.to_owned())),
        (None, Some(node), None) => {
            Some(SecretSource::File(context.base.join(expanded(node, context, out)?)))
        }
        (None, None, Some(_)) => Some(SecretSource::Command(list(table, "command", context, out))),
        _ => {
            let message = "a secret has one source";
            let remedy = "write one of `env`, `file`, `command`";
            out.push(node.finding("config.tool", message, remedy));
            None
        }
    }
}
