//! The keys at the top of `weaver.toml`, and those of the gateway itself.

use Form::{Flag, List, Map, Table, Text, Whole, Word};

use super::super::profile::{EXECUTE_TOOLS, MODES};
use super::super::run::{LOCALES, SAFETY_MODES};
use super::super::sentinel::SENTINELS;
use super::super::telemetry::LOG_FORMATS;
use super::server_keys::SERVERS;
use super::tool_keys::{SECRET_SOURCE, TOOL};
use super::{Form, Key, Section, key, words};

/// The most entries of a list that people write by hand.
const FEW: usize = 16;
/// The most entries of a list or a table.
pub(super) const MANY: usize = 1_000;
const DAY_S: u64 = 24 * 60 * 60;
const NO_LIMIT: u64 = 1 << 53;

/// The whole file.
pub(in crate::config) static ROOT: Section = Section {
    keys: &[
        key(
            "servers",
            Text,
            "An MCP client's own file of servers, in JSON, beside those of `mcpServers`; a name in both is refused",
        ),
        key(
            "environment",
            Text,
            "A file of variables, `NAME=VALUE` a line, that nobody else can read; they count before those of the environment",
        ),
        key("gateway", Table(&GATEWAY), "What clients see, and how long a held call waits"),
        key(
            "profiles",
            Map(&Table(&PROFILE), 64),
            "What a client sees that asks for the profile by its name; what is left out is as in `gateway`",
        ),
        key("http", Table(&HTTP), "Where clients are served over HTTP; nowhere without it"),
        key("principal", Table(&PRINCIPAL), "Who owns this gateway").required(),
        key("run", Table(&RUN), "Limits of a run, and how results are shown"),
        key("store", Table(&STORE), "Where the ledger lies"),
        key(
            "log",
            Table(&LOG),
            "The key of the log, where its signed checkpoints go, and which payloads end",
        ),
        key(
            "memory",
            Table(&MEMORY),
            "Durable memory as four tools, `kernel.memory.*`; none without it",
        ),
        key("telemetry", Table(&TELEMETRY), "What operators see of a gateway that runs"),
        key("trust", Table(&TRUST), "The root key, and the folder of the signed documents")
            .required(),
        key(
            "mcpServers",
            SERVERS,
            "Servers, as MCP clients write them, of which at most 100 are on; a name has 1 to 32 of a-z, 0-9, `_`, `-`",
        ),
        key(
            "tools",
            Map(&Table(&TOOL), MANY),
            "Your own tools: an operation of an HTTP API, or a program; the id is `tools.NAME`",
        ),
    ],
};

const MODE: Key = key(
    "mode",
    Word(&words(&MODES)),
    "How tools are shown: a few that find and run the others, or every visible one",
)
.or("\"gateway\"");
const EXECUTE: Key = key(
    "execute_tools",
    Word(&words(&EXECUTE_TOOLS)),
    "In gateway mode one tool runs every other, or three run those that read, write and destroy",
)
.or("\"single\"");
const SHORTLIST: Key =
    key("shortlist", Whole(1, 20), "The most tools that one browse shows").or("8");

static GATEWAY: Section = Section {
        keys: &[
            MODE,
            EXECUTE,
            SHORTLIST,
            key("unprefixed", Flag, "With one server, its tools keep their own names").or("false"),
            key("word_table", Text, "Word vectors that help to find tools: `built-in`, `none`, or a folder that model2vec wrote").or("\"built-in\""),
            key("approval_timeout_ms", Whole(0, 600_000), "How long a held call waits for an approval; left out, 45000 for a call with a progress token, the life of its task for one that has a task, and 0 for any other"),
            key("sentinels", List(&Word(&words(&SENTINELS)), FEW), "Watchers that ask for more care; what they say weighs as `[signals]` of the policy has it").or("[]"),
        ],
};

static PROFILE: Section = Section {
    keys: &[
        MODE,
        EXECUTE,
        SHORTLIST,
        key("servers", List(&Text, MANY), "The servers in view; all of them where it is left out"),
    ],
};

static HTTP: Section = Section {
    keys: &[
        key("listen", Text, "Address and port; another than a loopback address needs a certificate, or a proxy in front").required(),
        key("hosts", List(&Text, MANY), "Names of this host beside its address").or("[]"),
        key("origins", List(&Text, MANY), "Web pages whose requests are served").or("[]"),
        key("anonymous", Flag, "Clients without a token act as the principal; at a loopback address only").or("false"),
        key("proxy_ends_tls", Flag, "A proxy in front ends TLS, and nobody else reaches the port").or("false"),
        key("cert", Text, "The certificate and those above it, in PEM; read again when the file changes"),
        key("key", Text, "Its private key, in PEM"),
        key("oauth", Table(&OAUTH), "Clients with an access token of an issuer that the signed policy trusts are let in too"),
    ],
};

static OAUTH: Section = Section {
    keys: &[
        key(
            "resource",
            Text,
            "What tokens must be meant for: the address under which clients reach `/mcp`",
        ),
        key("leeway_s", Whole(0, 300), "How much clocks may differ, in seconds").or("60"),
        key("profile", Text, "The profile of these clients"),
        key(
            "introspection",
            Map(&Table(&INTROSPECTION), FEW),
            "How tokens that are no JWTs are introspected, by the names of issuers in the policy",
        ),
        key(
            "authority",
            Text,
            "A file of certificates, in PEM, that count beside the platform's for issuers",
        ),
    ],
};

static INTROSPECTION: Section = Section {
    keys: &[
        key("client_id", Text, "The gateway's id at the issuer").required(),
        key("client_secret", Table(&SECRET_SOURCE), "Its secret there").required(),
    ],
};

static PRINCIPAL: Section = Section {
    keys: &[key("id", Text, "The id under which the signed policy names the owner").required()],
};

static RUN: Section = Section {
    keys: &[
        key(
            "safety_mode",
            Word(&words(&SAFETY_MODES)),
            "`SAFE`: local reads only; `STRICT`: and results as handles",
        )
        .or("\"NORMAL\""),
        key(
            "locale",
            Word(&words(&LOCALES)),
            "How `weaver` and `weaver trace` write counts and days; drivers of a host are told it",
        )
        .or("\"en-US\""),
        key("idle_minutes", Whole(1, 10_080), "After how long without a call a run ends").or("60"),
        key("max_tool_calls", Whole(0, NO_LIMIT), "The most calls of a run"),
        key(
            "max_retries_per_tool",
            Whole(0, weaver_types::MAX_RETRIES as u64),
            "The most retries of a call",
        )
        .or("3"),
        key(
            "max_latency_ms",
            Whole(0, NO_LIMIT),
            "The longest time that all calls of a run may take together",
        ),
        key(
            "max_cost_usd_cents",
            Whole(0, 1 << 40),
            "What the prices of your own tools may come to in a run",
        ),
        key(
            "max_prompt_tokens",
            Whole(0, NO_LIMIT),
            "The most tokens of all that a run was shown; needs `token_counter`",
        ),
        key(
            "session_tokens",
            Whole(1, u32::MAX as u64),
            "The same tokens as a budget, under which results grow shorter; needs `token_counter`",
        ),
        key(
            "token_counter",
            Text,
            "How tokens are counted: `o200k_base`, `cl100k_base` (both with the feature `tiktoken`) or `chars4`",
        ),
        key(
            "placeholders",
            Flag,
            "Masks have numbers, such as `[EMAIL_1]`; otherwise always `[REDACTED]`",
        )
        .or("true"),
        key(
            "frame_tokens",
            Whole(200, 200_000),
            "The most tokens with which one result is shown; a signed rule may say more",
        )
        .or("8000"),
        key(
            "redaction_rules",
            List(&Text, FEW),
            "Files of your own rules of redaction, beside the built-in ones",
        )
        .or("[]"),
    ],
};

pub(in crate::config) static STORE: Section = Section {
    keys: &[
        key("path", Text, "The ledger").or("\".weaver/ledger.db\""),
        key("inbox", Text, "The folder into which `weaver approve` drops what approvers sign")
            .or("\".weaver/inbox\""),
    ],
};

static LOG: Section = Section {
    keys: &[
        key("key", Text, "An encrypted key file; without it nothing is signed"),
        key(
            "passphrase",
            Table(&SECRET_SOURCE),
            "Where its passphrase comes from, unless `--log-passphrase-fd` hands it over",
        ),
        key("every_events", Whole(1, 1_000_000), "A checkpoint after so many events").or("1000"),
        key("every_seconds", Whole(1, DAY_S), "And after so long, if there was any event").or("60"),
        key("publish", List(&Table(&PUBLISH), FEW), "Where checkpoints go").or("[]"),
        key("witnesses", List(&Text, FEW), "Verifier keys of witnesses whose cosignatures count")
            .or("[]"),
        key("quorum", Whole(0, FEW as u64), "How many of them are wanted").or("0"),
        key("retention", List(&Table(&RETENTION), FEW), "Payloads that end").or("[]"),
    ],
};

static PUBLISH: Section = Section {
    keys: &[
        key("file", Text, "A file, replaced whole and synced"),
        key(
            "command",
            List(&Text, 64),
            "A program and its arguments; the checkpoint is its standard input",
        ),
        key(
            "http",
            Text,
            "An address that takes the checkpoint by POST; `http://` for this machine only",
        ),
        key("timeout_ms", Whole(100, 60_000), "How long one attempt may take").or("10000"),
    ],
};

static RETENTION: Section = Section {
    keys: &[
        key("older_than_days", Whole(1, 36_500), "How old a payload must be").required(),
        key("principal", Text, "Only those of this principal"),
        key("tag", Text, "Only those with this tag"),
        key("kinds", List(&Text, MANY), "Only those of these kinds of events"),
    ],
};

static MEMORY: Section = Section {
    keys: &[
        key("file", Text, "The file; beside the ledger where it is left out"),
        key("values", Whole(1, 100_000), "The most values").or("100000"),
        key("facts", Whole(1, 10_000), "The most facts").or("10000"),
        key("episodes", Whole(1, 1_000), "The most episodes").or("1000"),
        key("value_bytes", Whole(1, 32 * 1024), "The most bytes of one value").or("32768"),
    ],
};

static TELEMETRY: Section = Section {
    keys: &[
        key(
            "log_format",
            Word(&words(&LOG_FORMATS)),
            "How messages are written, one a line; `--log-format` counts before it",
        )
        .or("\"text\""),
        key("otlp", Table(&OTLP), "A collector that takes traces and metrics by OTLP over HTTP"),
    ],
};

static OTLP: Section = Section {
    keys: &[
        key("endpoint", Text, "Its address, without `/v1/traces`; `http://` for this machine only")
            .required(),
        key("headers", Map(&Text, FEW), "Headers of each request").or("{}"),
        key("interval_s", Whole(1, 60 * 60), "How often metrics are sent, in seconds").or("60"),
    ],
};

static TRUST: Section = Section {
    keys: &[
        key("root", Text, "The public key that `weaver keys new` prints").required(),
        key("folder", Text, "The folder of the signed documents").or("\"policy\""),
    ],
};
