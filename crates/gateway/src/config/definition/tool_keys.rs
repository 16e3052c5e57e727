//! The keys of an operator's own tool, and of secrets.

use super::super::tool_section::{METHODS, OUTPUT_FORMS};
use super::keys::MANY;
use super::server_keys::CONFINE;
use super::{Form, Key, Section, key, words};
use Form::{Flag, List, Map, Table, Text, TextOrTable, Whole, Word};

/// An entry of `tools`.
pub(super) static TOOL: Section = Section {
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

const PRICE: Key =
    key("price_millicents", Whole(0, 1 << 40), "What one call costs, in thousandths of a US cent")
        .or("0");

static REQUEST: Section = Section {
    keys: &[
        key("method", Word(&words(&METHODS)), "The method").or("\"GET\""),
        key("url", Text, "The address: `{name}` is a segment of the path or a value of the query, `{name?}` may be left out, `{name...}` is several").required(),
        key("headers", Map(&Text, MANY), "Headers, where arguments may stand too").or("{}"),
        key("secrets", Map(&Table(&HEADER_SECRET), MANY), "Headers that carry a secret, which is read anew for each request").or("{}"),
        key("body", Text, "`none`; `rest`: a JSON object of the arguments that stand neither in the URL nor in a header; `json:NAME`, `text:NAME`: one argument, as JSON or as plain text").or("\"none\""),
        key("content", List(&Text, MANY), "The media types of answers; others are refused").or("[\"application/json\"]"),
        key("idempotency_header", Text, "Gets the same key in every attempt of a call"),
        key("hosts", List(&Text, MANY), "Further hosts to which redirects, and addresses from an argument, may lead").or("[]"),
        key("networks", List(&Text, MANY), "Addresses that are not public and may be connected to").or("[]"),
        key("plain_http", Flag, "`http://` to other machines too; never with a secret").or("false"),
        key("redirects", Whole(0, 20), "The most redirects that are followed"),
        key("header_timeout_ms", Whole(100, 60_000), "How long the head of an answer may take"),
        key("response_kb", Whole(1, 1 << 20), "The longest answer, in KiB"),
        key("ca_file", Text, "Certificates, in PEM, that count beside the platform's for this tool"),
        PRICE,
    ],
};

static PROGRAM: Section = Section {
    keys: &[
        key("command", Text, "A name in `PATH`, or a path; no shell").required(),
        key("args", List(&Text, MANY), "`{name}`, `{name?}` and `{name...}` are whole items")
            .or("[]"),
        key("stdin", Text, "The argument that becomes its standard input"),
        key("env", Map(&Text, MANY), "Its variables").or("{}"),
        key("cwd", Text, "Its working directory"),
        key("output", Word(&words(&OUTPUT_FORMS)), "What it prints").or("\"text\""),
        key("output_kb", Whole(1, 1 << 20), "How much of it is kept, in KiB"),
        key("success", List(&Whole(0, 255), MANY), "Exit codes of success").or("[0]"),
        key("confine", Table(&CONFINE), "What is kept from it, as for a server"),
        PRICE,
    ],
};

static HEADER_SECRET: Section = Section {
    keys: &[key("prefix", Text, "What stands before the secret").or("\"\""), ENV, FILE, COMMAND],
};

/// Where a secret comes from: one of three.
pub(super) static SECRET_SOURCE: Section = Section { keys: &[ENV, FILE, COMMAND] };

const ENV: Key = key("env", Text, "A variable");
const FILE: Key = key("file", Text, "A file that nobody else can read");
const COMMAND: Key =
    key("command", List(&Text, MANY), "A program that prints it, and its arguments");
