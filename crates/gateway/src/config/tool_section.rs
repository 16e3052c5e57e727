//! Reads `[tools.NAME]`.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::time::Duration;

use serde_json::{Map, Value};
use weaver_drivers::http::{Body, Method, OperationError};
use weaver_drivers::process::OutputForm;
use weaver_policy::Finding;
use weaver_types::canonical::{self, Profile};
use weaver_types::{CapabilityId, Millicents};

use super::credential::{authority, source};
use super::expansion::{ExpansionContext, expanded, expanded_list, expanded_table, program};
use super::node::{Node, Shape, shown};
use super::tool::{HttpTool, ProgramTool, SecretSource, TOOLS, Tool, ToolImplementation};
use super::{MAX_CONFIG, confine};
use crate::bounded_file;

pub(super) const METHODS: [(&str, Method); 6] = [
    ("GET", Method::Get),
    ("HEAD", Method::Head),
    ("POST", Method::Post),
    ("PUT", Method::Put),
    ("PATCH", Method::Patch),
    ("DELETE", Method::Delete),
];
pub(super) const OUTPUT_FORMS: [(&str, OutputForm); 2] =
    [("text", OutputForm::Text), ("json", OutputForm::Json)];

/// Reads all of them; those that are wrong are left out.
pub(super) fn read(
    node: Option<&Node>,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Vec<Tool> {
    let tools = node.and_then(Node::table).into_iter().flatten();
    tools.filter_map(|(name, node)| tool(name, node, context, out)).collect()
}

fn tool(
    name: &str,
    node: &Node,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Option<Tool> {
    let before = out.len();
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let legal = name.len() <= 64 && !name.is_empty() && name.bytes().all(plain);
    if !legal || CapabilityId::parse(format!("{TOOLS}.{name}")).is_err() {
        let message = format!("`{}` cannot name a tool", shown(name));
        out.push(node.finding("config.name", message, "use 1 to 64 of a-z, A-Z, 0-9, `_`, `-`"));
    }
    let description = match node.get("description") {
        Some(node) => node.text().unwrap_or_default().to_owned(),
        None => {
            let remedy = "write `description`: it is what a model chooses by";
            out.push(node.finding("config.missing_key", "`description` is missing", remedy));
            String::new()
        }
    };
    let input_schema = node.get("input_schema").and_then(|node| schema(node, context, out));
    let implementation = match (node.get("http"), node.get("program")) {
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
    let path = context.base.join(node.text()?);
    context.note_file(&path);
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
    let before = out.len();
    let get = |name: &str| node.get(name);
    let whole = |name: &str| get(name)?.whole();
    let url = match get("url") {
        Some(node) => expanded(node, context, out)?,
        None => String::new(),
    };
    let tool = HttpTool {
        method: get("method").and_then(|node| node.word(&METHODS)).unwrap_or_default(),
        url,
        headers: expanded_table(get("headers"), context, out),
        secrets: secrets(get("secrets"), context, out),
        body: get("body").and_then(|node| body(node, out)).unwrap_or_default(),
        content: match expanded_list(get("content"), context, out) {
            types if types.is_empty() => BTreeSet::from(["application/json".to_owned()]),
            types => types.into_iter().collect(),
        },
        idempotency_header: get("idempotency_header").and_then(|node| expanded(node, context, out)),
        hosts: parsed(get("hosts"), out),
        networks: parsed(get("networks"), out),
        plain_http: get("plain_http").and_then(Node::flag).unwrap_or(false),
        redirects: whole("redirects").and_then(|n| u8::try_from(n).ok()),
        header_time: whole("header_timeout_ms").map(Duration::from_millis),
        response_bytes: kilobytes(get("response_kb")),
        authority: get("ca_file").and_then(|node| authority(node, context, out)),
        price: Millicents(whole("price_millicents").unwrap_or(0)),
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

fn process(
    node: &Node,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Option<ProgramTool> {
    let before = out.len();
    let get = |name: &str| node.get(name);
    let command = match get("command") {
        Some(node) => expanded(node, context, out)?,
        None => String::new(),
    };
    let codes = get("success").map(|node| {
        let codes = node.list().iter().filter_map(Node::whole);
        codes.filter_map(|code| i32::try_from(code).ok()).collect()
    });
    let tool = ProgramTool {
        command: program(context, &command),
        args: expanded_list(get("args"), context, out),
        stdin: get("stdin").and_then(|node| expanded(node, context, out)),
        env: expanded_table(get("env"), context, out),
        cwd: get("cwd")
            .and_then(|node| expanded(node, context, out))
            .map(|path| context.base.join(path)),
        output: get("output").and_then(|node| node.word(&OUTPUT_FORMS)).unwrap_or_default(),
        output_bytes: kilobytes(get("output_kb")),
        success: codes.unwrap_or_else(|| BTreeSet::from([0])),
        confine: get("confine").and_then(|node| confine::read(node, context, out)),
        price: Millicents(get("price_millicents").and_then(Node::whole).unwrap_or(0)),
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

fn kilobytes(node: Option<&Node>) -> Option<usize> {
    usize::try_from(node?.whole()?.saturating_mul(1024)).ok()
}

/// A list of hosts or networks.
fn parsed<T: FromStr<Err = OperationError>>(node: Option<&Node>, out: &mut Vec<Finding>) -> Vec<T> {
    let mut read = Vec::new();
    for item in node.map(Node::list).unwrap_or_default() {
        match item.text().map(str::parse::<T>) {
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

/// `none`, `rest`, `json:NAME` or `text:NAME`.
fn body(node: &Node, out: &mut Vec<Finding>) -> Option<Body> {
    let text = node.text()?;
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
    node: Option<&Node>,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> BTreeMap<String, (String, SecretSource)> {
    let entries = node.and_then(Node::table).into_iter().flatten();
    let secret = |(name, node): (&String, &Node)| {
        let prefix = node.get("prefix").and_then(Node::text).unwrap_or_default();
        Some((name.clone(), (prefix.to_owned(), source(node, context, out)?)))
    };
    entries.filter_map(secret).collect()
}
