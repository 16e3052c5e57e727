//! Reads `[tools.NAME]`.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::time::Duration;

use serde_json::{Map, Value};
use weaver_drivers::http::{Body, Method, OperationError};
use weaver_drivers::process::OutputForm;
use weaver_policy::DocumentFinding;
use weaver_types::canonical::{self, Profile};
use weaver_types::{CapabilityId, Millicents};

use super::credential::{read_certificate_authority, read_secret_source};
use super::expansion::{ExpansionContext, expand_list, expand_table, expand_text, resolve_program};
use super::node::{Node, NodeValue, excerpt};
use super::tool::{
    HttpTool, OWN_TOOLS_NAMESPACE, OwnTool, ProgramTool, SecretSource, ToolImplementation,
};
use super::{MAX_CONFIG_BYTES, confine};
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

/// Parses all tools; invalid ones are omitted.
pub(super) fn read(
    node: Option<&Node>,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Vec<OwnTool> {
    let tools = node.and_then(Node::table).into_iter().flatten();
    tools.filter_map(|(name, node)| read_tool(name, node, context, findings)).collect()
}

fn read_tool(
    name: &str,
    node: &Node,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<OwnTool> {
    let before = findings.len();
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let legal = name.len() <= 64 && !name.is_empty() && name.bytes().all(plain);
    if !legal || CapabilityId::parse(format!("{OWN_TOOLS_NAMESPACE}.{name}")).is_err() {
        let message = format!("`{}` cannot name a tool", excerpt(name));
        findings.push(node.finding(
            "config.name",
            message,
            "use 1 to 64 of a-z, A-Z, 0-9, `_`, `-`",
        ));
    }
    let description = match node.get("description") {
        Some(node) => node.text().unwrap_or_default().to_owned(),
        None => {
            let remedy = "write `description`: it is what a model chooses by";
            findings.push(node.finding("config.missing_key", "`description` is missing", remedy));
            String::new()
        }
    };
    let input_schema =
        node.get("input_schema").and_then(|node| read_schema(node, context, findings));
    let implementation = match (node.get("http"), node.get("program")) {
        (Some(node), None) => read_http_tool(node, context, findings).map(ToolImplementation::Http),
        (None, Some(node)) => {
            read_program_tool(node, context, findings).map(ToolImplementation::Program)
        }
        _ => {
            let message = "a tool is either a request or a program";
            let remedy = "write `[tools.NAME.http]` or `[tools.NAME.program]`";
            findings.push(node.finding("config.tool", message, remedy));
            None
        }
    };
    let implementation = implementation?;
    (findings.len() == before).then(|| OwnTool {
        name: name.to_owned(),
        description,
        input_schema,
        implementation,
    })
}

/// A schema: a table, or the name of a JSON file.
fn read_schema(
    node: &Node,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<Value> {
    if let NodeValue::Table(_) = &node.value {
        let value = json(node);
        if value.is_none() {
            let remedy = "put it into a file and name that: `input_schema = \"x.json\"`";
            findings.push(node.finding(
                "config.tool",
                "a value that is not text, whole or a flag",
                remedy,
            ));
        }
        return value;
    }
    let path = context.base.join(node.text()?);
    context.record_source_file(&path);
    let read = bounded_file::read_text(&path, MAX_CONFIG_BYTES)
        .map_err(|error| error.to_string())
        .and_then(|text| {
            canonical::parse(text.as_bytes(), Profile::Foreign).map_err(|error| error.to_string())
        });
    match read {
        Ok(value @ Value::Object(_)) => Some(value),
        Ok(_) => {
            findings.push(node.finding(
                "config.tool",
                "the file holds no object",
                "write a schema",
            ));
            None
        }
        Err(error) => {
            let message = format!("{}: {}", path.display(), excerpt(&error));
            findings.push(node.finding("config.unreadable", message, "name the schema's file"));
            None
        }
    }
}

fn json(node: &Node) -> Option<Value> {
    Some(match &node.value {
        NodeValue::Text(text) => Value::from(text.clone()),
        NodeValue::Integer(number) => Value::from(*number),
        NodeValue::Flag(flag) => Value::from(*flag),
        NodeValue::List(list) => Value::Array(list.iter().map(json).collect::<Option<_>>()?),
        NodeValue::Table(table) => {
            let entry = |(name, node): (&String, &Node)| Some((name.clone(), json(node)?));
            Value::Object(table.iter().map(entry).collect::<Option<Map<_, _>>>()?)
        }
        NodeValue::Other(_) => return None,
    })
}

fn read_http_tool(
    node: &Node,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<HttpTool> {
    let before = findings.len();
    let get = |name: &str| node.get(name);
    let integer = |name: &str| get(name)?.integer();
    let url = match get("url") {
        Some(node) => expand_text(node, context, findings)?,
        None => String::new(),
    };
    let tool = HttpTool {
        method: get("method").and_then(|node| node.word(&METHODS)).unwrap_or_default(),
        url,
        headers: expand_table(get("headers"), context, findings),
        secrets: read_secrets(get("secrets"), context, findings),
        body: get("body").and_then(|node| read_body(node, findings)).unwrap_or_default(),
        content: match expand_list(get("content"), context, findings) {
            types if types.is_empty() => BTreeSet::from(["application/json".to_owned()]),
            types => types.into_iter().collect(),
        },
        idempotency_header: get("idempotency_header")
            .and_then(|node| expand_text(node, context, findings)),
        hosts: parse_list(get("hosts"), findings),
        networks: parse_list(get("networks"), findings),
        plain_http: get("plain_http").and_then(Node::flag).unwrap_or(false),
        max_redirects: integer("redirects").and_then(|n| u8::try_from(n).ok()),
        header_timeout: integer("header_timeout_ms").map(Duration::from_millis),
        max_response_bytes: read_kib(get("response_kb")),
        certificate_authority: get("ca_file")
            .and_then(|node| read_certificate_authority(node, context, findings)),
        price: Millicents(integer("price_millicents").unwrap_or(0)),
    };
    if findings.len() > before {
        return None;
    }
    if let Err(error) = tool.operation().check(&tool.access()) {
        let remedy = "see `[tools.NAME.http]` in the reference";
        findings.push(node.finding("config.tool", format!("{error} [{}]", error.code()), remedy));
        return None;
    }
    Some(tool)
}

fn read_program_tool(
    node: &Node,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<ProgramTool> {
    let before = findings.len();
    let get = |name: &str| node.get(name);
    let command = match get("command") {
        Some(node) => expand_text(node, context, findings)?,
        None => String::new(),
    };
    let codes = get("success").map(|node| {
        let codes = node.list().iter().filter_map(Node::integer);
        codes.filter_map(|code| i32::try_from(code).ok()).collect()
    });
    let tool = ProgramTool {
        command: resolve_program(context, &command),
        args: expand_list(get("args"), context, findings),
        stdin: get("stdin").and_then(|node| expand_text(node, context, findings)),
        env: expand_table(get("env"), context, findings),
        cwd: get("cwd")
            .and_then(|node| expand_text(node, context, findings))
            .map(|path| context.base.join(path)),
        output: get("output").and_then(|node| node.word(&OUTPUT_FORMS)).unwrap_or_default(),
        output_bytes: read_kib(get("output_kb")),
        success: codes.unwrap_or_else(|| BTreeSet::from([0])),
        confine: get("confine").and_then(|node| confine::read(node, context, findings)),
        price: Millicents(get("price_millicents").and_then(Node::integer).unwrap_or(0)),
    };
    if findings.len() > before {
        return None;
    }
    if let Err(error) = tool.process().check() {
        let remedy = "see `[tools.NAME.program]` in the reference";
        findings.push(node.finding("config.tool", format!("{error} [{}]", error.code()), remedy));
        return None;
    }
    Some(tool)
}

fn read_kib(node: Option<&Node>) -> Option<usize> {
    usize::try_from(node?.integer()?.saturating_mul(1024)).ok()
}

/// Parses a list of hosts or address ranges.
fn parse_list<T: FromStr<Err = OperationError>>(
    node: Option<&Node>,
    findings: &mut Vec<DocumentFinding>,
) -> Vec<T> {
    let mut read = Vec::new();
    for item in node.map(Node::list).unwrap_or_default() {
        match item.text().map(str::parse::<T>) {
            Some(Ok(one)) => read.push(one),
            Some(Err(error)) => {
                let code = error.code();
                findings.push(item.finding(
                    "config.tool",
                    format!("{error} [{code}]"),
                    "correct it",
                ));
            }
            None => {}
        }
    }
    read
}

/// `none`, `rest`, `json:NAME` or `text:NAME`.
fn read_body(node: &Node, findings: &mut Vec<DocumentFinding>) -> Option<Body> {
    let text = node.text()?;
    match text.split_once(':') {
        None if text == "none" => Some(Body::None),
        None if text == "rest" => Some(Body::Rest),
        Some(("json", name)) if !name.is_empty() => Some(Body::Argument(name.to_owned())),
        Some(("text", name)) if !name.is_empty() => Some(Body::Text(name.to_owned())),
        _ => {
            let message = format!("`{}` is not a body", excerpt(text));
            let remedy = "write \"none\", \"rest\", \"json:NAME\" or \"text:NAME\"";
            findings.push(node.finding("config.word", message, remedy));
            None
        }
    }
}

fn read_secrets(
    node: Option<&Node>,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> BTreeMap<String, (String, SecretSource)> {
    let entries = node.and_then(Node::table).into_iter().flatten();
    let secret = |(name, node): (&String, &Node)| {
        let prefix = node.get("prefix").and_then(Node::text).unwrap_or_default();
        Some((name.clone(), (prefix.to_owned(), read_secret_source(node, context, findings)?)))
    };
    entries.filter_map(secret).collect()
}
