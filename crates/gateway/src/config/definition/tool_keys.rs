//! The keys of the operator's own tools, and of secrets.

use super::super::tool_section::{METHODS, OUTPUT_FORMS};
use super::keys::MANY;
use super::server_keys::CONFINE;
use super::{KeyDefinition, SectionDefinition, ValueType, key, words};
use ValueType::{Flag, Integer, List, Map, Table, Text, TextOrTable, Word};

/// An entry of `tools`.
pub(super) static TOOL: SectionDefinition = SectionDefinition {
    keys: &[
        key("description", Text, "What a model chooses it by").required(),
        key(
            "input_schema",
            TextOrTable,
            "The JSON Schema of its arguments, or the name of a file with it; any object where it is left out",
        ),
        key("http", Table(&REQUEST), "It is an operation of an HTTP API"),
        key("program", Table(&PROGRAM), "It is a program"),
    ],
};

const PRICE: KeyDefinition = key(
    "price_millicents",
    Integer(0, 1 << 40),
    "What one call costs, in thousandths of a US cent",
)
.with_default("0");

static REQUEST: SectionDefinition = SectionDefinition {
    keys: &[
        key("method", Word(&words(&METHODS)), "The method").with_default("\"GET\""),
        key("url", Text, "The address: `{name}` is a segment of the path or a value of the query, `{name?}` may be left out, `{name...}` is several").required(),
        key("headers", Map(&Text, MANY), "Headers, where arguments may stand too").with_default("{}"),
        key("secrets", Map(&Table(&HEADER_SECRET), MANY), "Headers that carry a secret, which is read anew for each request").with_default("{}"),
        key("body", Text, "`none`; `rest`: a JSON object of the arguments that stand neither in the URL nor in a header; `json:NAME`, `text:NAME`: one argument, as JSON or as plain text").with_default("\"none\""),
        key("content", List(&Text, MANY), "The media types of answers; others are refused").with_default("[\"application/json\"]"),
        key("idempotency_header", Text, "Gets the same key in every attempt of a call"),
        key("hosts", List(&Text, MANY), "Further hosts to which redirects, and addresses from an argument, may lead").with_default("[]"),
        key("networks", List(&Text, MANY), "Addresses that are not public and may be connected to").with_default("[]"),
        key("plain_http", Flag, "`http://` to other machines too; never with a secret").with_default("false"),
        key("redirects", Integer(0, 20), "The most redirects that are followed"),
        key("header_timeout_ms", Integer(100, 60_000), "How long the head of an answer may take"),
        key("response_kb", Integer(1, 1 << 20), "The longest answer, in KiB"),
        key("ca_file", Text, "Certificates, in PEM, that count beside the platform's for this tool"),
        PRICE,
    ],
};

static PROGRAM: SectionDefinition = SectionDefinition {
    keys: &[
        key("command", Text, "A name in `PATH`, or a path; no shell").required(),
        key("args", List(&Text, MANY), "`{name}`, `{name?}` and `{name...}` are whole items")
            .with_default("[]"),
        key("stdin", Text, "The argument that becomes its standard input"),
        key("env", Map(&Text, MANY), "Its variables").with_default("{}"),
        key("cwd", Text, "Its working directory"),
        key("output", Word(&words(&OUTPUT_FORMS)), "What it prints").with_default("\"text\""),
        key("output_kb", Integer(1, 1 << 20), "How much of it is kept, in KiB"),
        key("success", List(&Integer(0, 255), MANY), "Exit codes of success").with_default("[0]"),
        key("confine", Table(&CONFINE), "What is kept from it, as for a server"),
        PRICE,
    ],
};

static HEADER_SECRET: SectionDefinition = SectionDefinition {
    keys: &[
        key("prefix", Text, "What stands before the secret").with_default("\"\""),
        ENV,
        FILE,
        COMMAND,
    ],
};

/// The source of a secret: one of three.
pub(super) static SECRET_SOURCE: SectionDefinition =
    SectionDefinition { keys: &[ENV, FILE, COMMAND] };

const ENV: KeyDefinition = key("env", Text, "A variable");
const FILE: KeyDefinition = key("file", Text, "A file that nobody else can read");
const COMMAND: KeyDefinition =
    key("command", List(&Text, MANY), "A program that prints it, and its arguments");
