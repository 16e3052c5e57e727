//! The top-level keys of `weaver.toml`, and those of the gateway itself.

use ValueType::{Flag, Integer, List, Map, Table, Text, Word};

use super::super::profile::{EXECUTE_TOOLS, MODES};
use super::super::run::{LOCALES, SAFETY_MODES};
use super::super::sentinel::SENTINELS;
use super::super::telemetry::LOG_FORMATS;
use super::server_keys::SERVERS;
use super::tool_keys::{SECRET_SOURCE, TOOL};
use super::{KeyDefinition, SectionDefinition, ValueType, key, words};

/// The most entries of a handwritten list.
const FEW: usize = 16;
/// The most entries of any other list or table.
pub(super) const MANY: usize = 1_000;
const DAY_S: u64 = 24 * 60 * 60;
const NO_LIMIT: u64 = 1 << 53;

/// The whole file.
pub(in crate::config) static ROOT_TABLE: SectionDefinition = SectionDefinition {
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

const MODE: KeyDefinition = key(
    "mode",
    Word(&words(&MODES)),
    "How tools are shown: a few that find and run the others, or every visible one",
)
.with_default("\"gateway\"");
const EXECUTE: KeyDefinition = key(
    "execute_tools",
    Word(&words(&EXECUTE_TOOLS)),
    "In gateway mode one tool runs every other, or three run those that read, write and destroy",
)
.with_default("\"single\"");
const SHORTLIST: KeyDefinition =
    key("shortlist", Integer(1, 20), "The most tools that one browse shows").with_default("8");

static GATEWAY: SectionDefinition = SectionDefinition {
        keys: &[
            MODE,
            EXECUTE,
            SHORTLIST,
            key("unprefixed", Flag, "With one server, its tools keep their own names").with_default("false"),
            key("word_table", Text, "Word vectors that help to find tools: `built-in`, `none`, or a folder that model2vec wrote").with_default("\"built-in\""),
            key("work_folder", Text, "Where servers and programs start that name no `cwd`; outside of the folder of this file, they are denied that folder as a whole"),
            key("own_work_folders", Flag, "Each of them starts in a folder of its own there, of which the others are denied").with_default("false"),
            key("approval_timeout_ms", Integer(0, 600_000), "How long a held call waits for an approval; left out, 45000 for a call with a progress token or of a client that knows tasks, the life of its task for one that was called as a task, and 0 for any other"),
            key("sentinels", List(&Word(&words(&SENTINELS)), FEW), "Watchers that ask for more care; what they say weighs as `[signals]` of the policy has it").with_default("[]"),
        ],
};

static PROFILE: SectionDefinition = SectionDefinition {
    keys: &[
        MODE,
        EXECUTE,
        SHORTLIST,
        key("servers", List(&Text, MANY), "The servers in view; all of them where it is left out"),
    ],
};

static HTTP: SectionDefinition = SectionDefinition {
    keys: &[
        key("listen", Text, "Address and port; another than a loopback address needs a certificate, or a proxy in front").required(),
        key("hosts", List(&Text, MANY), "Names of this host beside its address").with_default("[]"),
        key("origins", List(&Text, MANY), "Web pages whose requests are served").with_default("[]"),
        key("anonymous", Flag, "Clients without a token act as the principal; at a loopback address only").with_default("false"),
        key("proxy_ends_tls", Flag, "A proxy in front ends TLS, and nobody else reaches the port").with_default("false"),
        key("cert", Text, "The certificate and those above it, in PEM; read again when the file changes"),
        key("key", Text, "Its private key, in PEM"),
        key("oauth", Table(&OAUTH), "Clients with an access token of an issuer that the signed policy trusts are let in too"),
    ],
};

static OAUTH: SectionDefinition = SectionDefinition {
    keys: &[
        key(
            "resource",
            Text,
            "What tokens must be meant for: the address under which clients reach `/mcp`",
        ),
        key("leeway_s", Integer(0, 300), "How much clocks may differ, in seconds")
            .with_default("60"),
        key("profile", Text, "The profile of these clients"),
        key(
            "introspection",
            Map(&Table(&INTROSPECTION), FEW),
            "How tokens that are no JWTs are introspected, by the names of issuers in the policy; \
             answers are cached for 30 s, refusals for 5 s",
        ),
        key("ca_file", Text, "Certificates, in PEM, that count beside the platform's for issuers"),
    ],
};

static INTROSPECTION: SectionDefinition = SectionDefinition {
    keys: &[
        key("client_id", Text, "The gateway's id at the issuer").required(),
        key("client_secret", Table(&SECRET_SOURCE), "Its secret there").required(),
    ],
};

static PRINCIPAL: SectionDefinition = SectionDefinition {
    keys: &[key("id", Text, "The id under which the signed policy names the owner").required()],
};

static RUN: SectionDefinition = SectionDefinition {
    keys: &[
        key(
            "safety_mode",
            Word(&words(&SAFETY_MODES)),
            "`SAFE`: local reads only; `STRICT`: and results as handles",
        )
        .with_default("\"NORMAL\""),
        key(
            "locale",
            Word(&words(&LOCALES)),
            "How `weaver` and `weaver trace` write counts and days; drivers of a host are told it",
        )
        .with_default("\"en-US\""),
        key("idle_minutes", Integer(1, 10_080), "After how long without a call a run ends")
            .with_default("60"),
        key("max_tool_calls", Integer(0, NO_LIMIT), "The most calls of a run"),
        key(
            "max_retries_per_tool",
            Integer(0, weaver_types::MAX_RETRIES as u64),
            "The most retries of a call",
        )
        .with_default("3"),
        key(
            "max_latency_ms",
            Integer(0, NO_LIMIT),
            "The longest time that all calls of a run may take together",
        ),
        key(
            "max_cost_usd_cents",
            Integer(0, 1 << 40),
            "What the prices of your own tools may come to in a run",
        ),
        key(
            "max_prompt_tokens",
            Integer(0, NO_LIMIT),
            "The most tokens of all that a run was shown; needs `token_counter`",
        ),
        key(
            "session_tokens",
            Integer(1, u32::MAX as u64),
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
        .with_default("true"),
        key(
            "frame_tokens",
            Integer(200, 200_000),
            "The most tokens with which one result is shown; a signed rule may say more",
        )
        .with_default("8000"),
        key(
            "redaction_rules",
            List(&Text, FEW),
            "Files of your own rules of redaction, beside the built-in ones",
        )
        .with_default("[]"),
    ],
};

pub(in crate::config) static STORE: SectionDefinition = SectionDefinition {
    keys: &[
        key("path", Text, "The ledger").with_default("\".weaver/ledger.db\""),
        key("inbox", Text, "The folder into which `weaver approve` drops what approvers sign")
            .with_default("\".weaver/inbox\""),
    ],
};

static LOG: SectionDefinition = SectionDefinition {
    keys: &[
        key("key", Text, "An encrypted key file; without it nothing is signed"),
        key(
            "passphrase",
            Table(&SECRET_SOURCE),
            "Where its passphrase comes from, unless `--log-passphrase-fd` hands it over",
        ),
        key("every_events", Integer(1, 1_000_000), "A checkpoint after so many events")
            .with_default("1000"),
        key("every_seconds", Integer(1, DAY_S), "And after so long, if there was any event")
            .with_default("60"),
        key("publish", List(&Table(&PUBLISH), FEW), "Where checkpoints go").with_default("[]"),
        key("witnesses", List(&Text, FEW), "Verifier keys of witnesses whose cosignatures count")
            .with_default("[]"),
        key("quorum", Integer(0, FEW as u64), "How many of them are wanted").with_default("0"),
        key("retention", List(&Table(&RETENTION), FEW), "Payloads that end").with_default("[]"),
    ],
};

static PUBLISH: SectionDefinition = SectionDefinition {
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
        key("timeout_ms", Integer(100, 60_000), "How long one attempt may take")
            .with_default("10000"),
    ],
};

static RETENTION: SectionDefinition = SectionDefinition {
    keys: &[
        key("older_than_days", Integer(1, 36_500), "How old a payload must be").required(),
        key("principal", Text, "Only those of this principal"),
        key("tag", Text, "Only those with this tag"),
        key("kinds", List(&Text, MANY), "Only those of these kinds of events"),
    ],
};

static MEMORY: SectionDefinition = SectionDefinition {
    keys: &[
        key("file", Text, "The file; beside the ledger where it is left out"),
        key("values", Integer(1, 100_000), "The most values").with_default("100000"),
        key("facts", Integer(1, 10_000), "The most facts").with_default("10000"),
        key("episodes", Integer(1, 1_000), "The most episodes").with_default("1000"),
        key("value_bytes", Integer(1, 32 * 1024), "The most bytes of one value")
            .with_default("32768"),
    ],
};

static TELEMETRY: SectionDefinition = SectionDefinition {
    keys: &[
        key(
            "log_format",
            Word(&words(&LOG_FORMATS)),
            "How messages are written, one a line; `--log-format` counts before it",
        )
        .with_default("\"text\""),
        key("otlp", Table(&OTLP), "A collector that takes traces and metrics by OTLP over HTTP"),
    ],
};

static OTLP: SectionDefinition = SectionDefinition {
    keys: &[
        key("endpoint", Text, "Its address, without `/v1/traces`; `http://` for this machine only")
            .required(),
        key("headers", Map(&Text, FEW), "Headers of each request").with_default("{}"),
        key("attributes", Map(&Text, FEW), "Attributes of this gateway in all that is sent; they count before `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`").with_default("{}"),
        key("interval_s", Integer(1, 60 * 60), "How often metrics are sent, in seconds")
            .with_default("60"),
    ],
};

static TRUST: SectionDefinition = SectionDefinition {
    keys: &[
        key("root", Text, "The public key that `weaver keys new` prints").required(),
        key("folder", Text, "The folder of the signed documents").with_default("\"policy\""),
    ],
};
