//! The keys of a server.

use super::super::confine::NETWORKS;
use super::super::server::{INSTANCE_SHARING, TRANSPORT_TYPES};
use super::super::server_login::GRANTS;
use super::keys::MANY;
use super::tool_keys::SECRET_SOURCE;
use super::{SectionDefinition, ValueType, key, words};
use ValueType::{Flag, Integer, List, Map, Table, Text, Word};
use weaver_types::TIMEOUT_MS;

/// The table `mcpServers`, here and in an MCP client's file.
pub(in crate::config) const SERVERS: ValueType = Map(&Table(&SERVER), MANY);

static SERVER: SectionDefinition = SectionDefinition {
    keys: &[
        key("type", Word(&words(&TRANSPORT_TYPES)), "How it is reached; may be left out"),
        key("command", Text, "The program: a name in `PATH`, or a path"),
        key("args", List(&Text, MANY), "Its arguments").with_default("[]"),
        key("env", Map(&Text, MANY), "Its environment variables, in addition to the few that every program gets").with_default("{}"),
        key("cwd", Text, "Its working directory"),
        key("url", Text, "Its address, where it is reached over HTTP"),
        key("headers", Map(&Text, MANY), "Headers of each request to it").with_default("{}"),
        key("ca_file", Text, "Certificates, in PEM, that count beside the platform's for this server and where its logins are made"),
        key("oauth", Table(&OAUTH), "How `weaver login NAME` logs in; needed only where the authorization server registers no clients by itself"),
        key("disabled", Flag, "Leaves the server out; its variables are not looked up").with_default("false"),
        key("instances", Word(&words(&INSTANCE_SHARING)), "A process or session for each client, with its own login; for each folder that clients work in; or one for all").with_default("\"client\""),
        key("projects", List(&Text, MANY), "Folders of projects: only clients that work in one of them, or below it, see the server; without any, all do").with_default("[]"),
        key("timeout_ms", Integer(*TIMEOUT_MS.start() as u64, *TIMEOUT_MS.end() as u64), "How long one call may take; the tool's contract may say less").with_default("60000"),
        key("initialize_timeout_ms", Integer(1_000, 600_000), "How long it may take to start and answer the handshake").with_default("60000"),
        key("limits", Table(&LIMITS), "Limits on its calls; calls beyond them are refused at once"),
        key("confine", Table(&CONFINE), "What its process may reach; the gateway's own state is closed to every process"),
    ],
};

static LIMITS: SectionDefinition = SectionDefinition {
    keys: &[
        key("calls", Integer(1, 10_000), "The most calls at once").with_default("64"),
        key("waiting", Integer(0, 100_000), "The most calls that wait for a free slot")
            .with_default("256"),
        key(
            "calls_per_second",
            Integer(1, 100_000),
            "The most calls that begin in a second; no limit unless set",
        ),
        key("message_kb", Integer(1, 1 << 20), "The longest message, either way, in KiB")
            .with_default("16384"),
    ],
};

static OAUTH: SectionDefinition = SectionDefinition {
    keys: &[
        key("grant", Word(&words(&GRANTS)), "For whom a token is issued: a person who logs in; the gateway itself, by `client_id` and `client_secret` or `client_key`; whoever the `assertion` of a platform, or of an identity provider (`token_exchange`), speaks for").with_default("\"authorization_code\""),
        key("issuer", Text, "The only authorization server that gets the client's secret, key or assertion; without it, the one of the first login"),
        key("client_id", Text, "The id of a client that was registered by hand"),
        key("client_secret", Table(&SECRET_SOURCE), "Its secret, for confidential clients"),
        key("client_key", Table(&SECRET_SOURCE), "Its private key in place of a secret (`private_key_jwt`): PEM, PKCS #8, of P-256, P-384, Ed25519 or RSA"),
        key("client_key_id", Text, "The key id (`kid`) of that key"),
        key("assertion", Table(&SECRET_SOURCE), "The token of a workload, for `jwt_bearer`; read at each use, and others may be able to read its file"),
        key("token_exchange", Table(&TOKEN_EXCHANGE), "Where an identity provider gives the assertion for `jwt_bearer` (ID-JAG)"),
        key("dpop_bound_access_tokens", Flag, "Binds tokens to a key (DPoP) and takes no others; they are bound also where the server asks for it").with_default("false"),
        key(
            "client_metadata_url",
            Text,
            "The `https://` address of a public document that is the client's id",
        ),
        key("scopes", List(&Text, MANY), "Scopes beside those that the server asks for").with_default("[]"),
        key("redirect_port", Integer(1, 65_535), "The port of the redirect address, for servers that require a fixed one"),
    ],
};

static TOKEN_EXCHANGE: SectionDefinition = SectionDefinition {
    keys: &[
        key("issuer", Text, "The `https://` address that the identity provider calls itself")
            .required(),
        key("client_id", Text, "The id of the gateway there").required(),
        key("client_secret", Table(&SECRET_SOURCE), "Its secret there, for confidential clients"),
        key("subject_token", Table(&SECRET_SOURCE), "The ID token of whoever the gateway acts for")
            .required(),
    ],
};

/// The confinement of a process.
pub(super) static CONFINE: SectionDefinition = SectionDefinition {
    keys: &[
        key(
            "read",
            List(&Text, MANY),
            "Paths to read, with all below; without any of `read`, `write`, `execute` and `system` all files but the state are reachable",
        ),
        key("write", List(&Text, MANY), "Paths to read, write, make and remove"),
        key("execute", List(&Text, MANY), "Paths to read and execute"),
        key("system", Flag, "Also allows the system files that programs need to start")
            .with_default("true"),
        key("network", Word(&words(&NETWORKS)), "Whether it reaches the network")
            .with_default("\"host\""),
        key("user", Text, "The user that it runs as if root starts it: a name, `uid` or `uid:gid`"),
        key(
            "isolated",
            Flag,
            "Requires that it cannot signal other processes or reach their abstract sockets",
        )
        .with_default("false"),
        key(
            "address_space_mb",
            Integer(1, 1 << 24),
            "The most address space of each process, in MiB",
        ),
        key("cpu_seconds", Integer(1, 1 << 31), "The most processor time of each process"),
        key("open_files", Integer(1, 1 << 20), "The most open files of each process"),
        key(
            "processes",
            Integer(1, 1 << 20),
            "The most processes of its user; not enforced for root",
        ),
        key("file_size_mb", Integer(1, 1 << 24), "The largest file that it can write, in MiB"),
        key(
            "best_effort",
            Flag,
            "Starts with the protections that the system supports, and lets the policy decide",
        )
        .with_default("false"),
    ],
};
