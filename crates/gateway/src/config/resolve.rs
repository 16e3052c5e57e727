//! Resolves the parsed tree into consistent settings, and reports all problems at once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use weaver_firewall::SessionBudget;
use weaver_policy::Finding;
use weaver_types::signature::PublicKey;
use weaver_types::{
    LocaleCode, MAX_RETRIES, Millicents, PrincipalId, RunBudget, RunSettings, SafetyMode,
    UpstreamName,
};

use super::error::whole;
use super::expansion::ExpansionContext;
use super::http;
use super::interpolate::Lookup;
use super::log;
use super::memory;
use super::node::{Node, shown};
use super::profile::{self, Profile};
use super::redaction;
use super::sentinel;
use super::server_table::{self, ReservedName, ServerSections};
use super::telemetry;
use super::tool::TOOLS;
use super::tool_section;
use super::word_table::WordTable;
use super::{Config, MEMORY};

/// Where the store lies when nothing is said.
const STORE: &str = ".weaver/ledger.db";
/// The tables of the file, and `servers`.
const ROOT: [&str; 14] = [
    "environment",
    "gateway",
    "profiles",
    "http",
    "principal",
    "run",
    "store",
    "log",
    "memory",
    "telemetry",
    "trust",
    "mcpServers",
    "servers",
    "tools",
];
const MAX_COUNT: u64 = 1 << 53;
const MAX_CENTS: u64 = 1 << 40;

/// The outcome of resolving a configuration.
pub(super) struct Resolved {
    /// Every setting, when nothing is wrong.
    pub(super) config: Option<Config>,
    /// The root key and the folder of the documents, as far as they could be read.
    pub(super) root: Option<PublicKey>,
    pub(super) folder: Option<PathBuf>,
    pub(super) findings: Vec<Finding>,
}

/// The parsed files.
pub(super) struct Parsed {
    pub(super) file: PathBuf,
    pub(super) toml: Node,
    pub(super) json: Option<Node>,
    /// The file of `json`.
    pub(super) servers_file: Option<PathBuf>,
    /// What the file of variables sets.
    pub(super) variables: BTreeMap<String, String>,
    pub(super) environment_file: Option<PathBuf>,
}

/// Resolves what was parsed.
pub(super) fn resolve(parsed: &Parsed, lookup: Lookup<'_>) -> Resolved {
    let mut out = Vec::new();
    let base = parsed.file.parent().unwrap_or(Path::new("")).to_path_buf();
    let root = parsed.toml.section(&ROOT, &mut out);
    let section = |name: &str, keys: &[&str], out: &mut Vec<Finding>| {
        let node = root?.get(name)?;
        Some(Section { table: node.section(keys, out)? })
    };
    let gateway = section("gateway", &GATEWAY, &mut out);
    let principal = section("principal", &["id"], &mut out);
    let run = section("run", &RUN, &mut out);
    let store = section("store", &["path", "inbox"], &mut out);
    let trust = section("trust", &["root", "folder"], &mut out);

    let context = ExpansionContext { base: &base, lookup };
    let servers = root.and_then(|root| root.get("mcpServers"));
    let log = log::read(root.and_then(|root| root.get("log")), &context, &mut out);
    let http = http::read(root.and_then(|root| root.get("http")), &context, &mut out);
    let telemetry = root.and_then(|root| root.get("telemetry"));
    let telemetry = telemetry::read(telemetry, &context, &mut out);
    let own = root.and_then(|root| root.get("tools"));
    let remembered = root.and_then(|root| root.get("memory"));
    let tools = tool_section::read(own, &context, &mut out);
    let sections = ServerSections {
        file: parsed.file.as_path(),
        toml: servers,
        json: parsed.json.as_ref(),
        optional: own.is_some() || remembered.is_some(),
    };
    let upstreams = server_table::upstreams(&sections, &context, &mut out);
    for reserved in [
        ReservedName { section: own, name: TOOLS, owner: "your own tools" },
        ReservedName { section: remembered, name: MEMORY, owner: "the tools of memory" },
    ] {
        server_table::check_reserved(&reserved, &upstreams, &mut out);
    }
    let profile =
        Profile::read(gateway.as_ref().map(|section| section.table), &Profile::default(), &mut out);
    let names: Vec<&UpstreamName> = upstreams.iter().map(|upstream| &upstream.name).collect();
    let profiles = root.and_then(|root| root.get("profiles"));
    let profiles = profile::profiles(profiles, &profile, &names, &mut out);
    let unprefixed = unprefixed(gateway.as_ref(), upstreams.len(), &mut out);
    let principal = principal_id(&parsed.file, principal.as_ref(), &mut out);
    let word_table = word_table(get(gateway.as_ref(), "word_table"), &base, &mut out);
    let approval_wait = approval_wait(gateway.as_ref(), &mut out);
    let sentinels = get(gateway.as_ref(), "sentinels");
    let sentinels = sentinels.map(|node| sentinel::read(node, &mut out)).unwrap_or_default();
    let session = read_session(&parsed.file, run.as_ref(), &mut out);
    let placeholders = get(run.as_ref(), "placeholders").and_then(|node| node.flag(&mut out));
    let frame_tokens = get(run.as_ref(), "frame_tokens");
    let frame_tokens = frame_tokens.and_then(|node| node.whole(FRAME_TOKENS, &mut out));
    let redaction = get(run.as_ref(), "redaction_rules");
    let redaction =
        redaction.map(|node| redaction::read(node, &base, &mut out)).unwrap_or_default();
    let (run, idle) = read_run(run.as_ref(), &mut out);
    let inbox = path(store.as_ref(), "inbox", ".weaver/inbox", &base, &mut out);
    let store = path(store.as_ref(), "path", STORE, &base, &mut out);
    let memory = memory::read(remembered, &base, store.as_deref(), &mut out);
    let root = root_key(&parsed.file, trust.as_ref(), &mut out);
    let folder = path(trust.as_ref(), "folder", "policy", &base, &mut out);

    let whole = (principal, store, inbox, root, folder.clone());
    let config = match whole {
        (Some(principal), Some(store), Some(inbox), Some(root), Some(folder)) if out.is_empty() => {
            Some(Config {
                file: parsed.file.clone(),
                profile,
                profiles,
                unprefixed,
                word_table,
                approval_wait,
                sentinels,
                principal,
                run,
                session,
                placeholders: placeholders.unwrap_or(true),
                frame_tokens: frame_tokens.and_then(|n| u32::try_from(n).ok()),
                redaction,
                idle,
                store,
                inbox,
                log,
                http,
                memory,
                telemetry,
                root,
                folder,
                servers_file: parsed.servers_file.clone(),
                environment_file: parsed.environment_file.clone(),
                upstreams,
                tools,
            })
        }
        _ => None,
    };
    Resolved { config, root, folder, findings: out }
}

/// The store alone.
pub(super) fn store_path(file: &Path, toml: &Node, out: &mut Vec<Finding>) -> Option<PathBuf> {
    let base = file.parent().unwrap_or(Path::new(""));
    let section = toml.table(out)?.get("store");
    let section = section.and_then(|node| node.table(out)).map(|table| Section { table });
    path(section.as_ref(), "path", STORE, base, out)
}

/// A table of the file.
struct Section<'n> {
    table: &'n BTreeMap<String, Node>,
}

fn get<'n>(section: Option<&Section<'n>>, name: &str) -> Option<&'n Node> {
    section?.table.get(name)
}

const GATEWAY: [&str; 7] = [
    "mode",
    "execute_tools",
    "unprefixed",
    "shortlist",
    "word_table",
    "approval_timeout_ms",
    "sentinels",
];
/// The longest that a call may wait for an approval: ten minutes, in milliseconds.
const MAX_APPROVAL_WAIT: u64 = 600_000;

/// How long a held call waits for an approval, where the file says so.
fn approval_wait(section: Option<&Section<'_>>, out: &mut Vec<Finding>) -> Option<Duration> {
    let node = get(section, "approval_timeout_ms")?;
    node.whole(0..=MAX_APPROVAL_WAIT, out).map(Duration::from_millis)
}

/// True when the tools of the one server keep their names.
fn unprefixed(section: Option<&Section<'_>>, upstreams: usize, out: &mut Vec<Finding>) -> bool {
    let node = get(section, "unprefixed");
    let unprefixed = node.and_then(|node| node.flag(out)).unwrap_or(false);
    if let Some(node) = node.filter(|_| unprefixed && upstreams > 1) {
        let message = format!("names without a prefix need one server, here are {upstreams}");
        out.push(node.finding("config.unprefixed", message, "remove it, or keep one server"));
    }
    unprefixed
}

/// The table of word vectors, once it was read without an error: the built-in one where nothing is
/// said, none where the word is `none`.
fn word_table(node: Option<&Node>, base: &Path, out: &mut Vec<Finding>) -> Option<WordTable> {
    let Some(node) = node else { return Some(WordTable::BuiltIn) };
    let table = WordTable::named(node.text(out)?, base)?;
    if let Err(error) = table.load() {
        let remedy = "write `built-in` or `none`, or name a folder with one safetensors file and \
                      vocab.txt or tokenizer.json";
        out.push(node.finding("config.word_table", error.to_string(), remedy));
    }
    Some(table)
}

fn principal_id(
    file: &Path,
    section: Option<&Section<'_>>,
    out: &mut Vec<Finding>,
) -> Option<PrincipalId> {
    let Some(node) = get(section, "id") else {
        out.push(missing(
            file,
            "principal.id",
            "write `[principal]` and `id = \"…\"`: who owns this process, as the signed policy \
             names them",
        ));
        return None;
    };
    let text = node.text(out)?;
    let id = PrincipalId::parse(text);
    if let Err(error) = &id {
        let message = format!("`{}` cannot name a principal", shown(text));
        out.push(node.finding("config.principal", message, format!("use {}", error.rule)));
    }
    id.ok()
}

fn root_key(
    file: &Path,
    section: Option<&Section<'_>>,
    out: &mut Vec<Finding>,
) -> Option<PublicKey> {
    let Some(node) = get(section, "root") else {
        out.push(missing(
            file,
            "trust.root",
            "run `weaver keys new --out root.key --id root` and write the public key that it \
             prints as `root = \"ed25519:…\"` under `[trust]`",
        ));
        return None;
    };
    let key = node.text(out)?.parse();
    if let Err(error) = &key {
        let error: &weaver_types::signature::SignatureError = error;
        let remedy = "write the public key that `weaver keys show FILE` prints";
        out.push(node.finding("config.root_key", error.to_string(), remedy));
    }
    key.ok()
}

fn missing(file: &Path, key: &str, remedy: &str) -> Finding {
    let message = format!("`{key}` is missing");
    let finding = whole(&file.display().to_string(), "config.missing_key", message, remedy);
    Finding { key: Some(key.to_owned()), ..finding }
}

/// A path, which starts at the folder of the configuration unless it is absolute.
fn path(
    section: Option<&Section<'_>>,
    name: &str,
    default: &str,
    base: &Path,
    out: &mut Vec<Finding>,
) -> Option<PathBuf> {
    let Some(node) = get(section, name) else { return Some(base.join(default)) };
    let text = node.text(out)?;
    if text.trim().is_empty() || text.contains('\0') {
        let remedy = format!("write a path, or remove it for `{default}`");
        out.push(node.finding("config.path", "this is no path", remedy));
        return None;
    }
    Some(base.join(text))
}

/// The tokens that one result may be shown with.
const FRAME_TOKENS: std::ops::RangeInclusive<u64> = 200..=200_000;

const RUN: [&str; 13] = [
    "safety_mode",
    "locale",
    "max_tool_calls",
    "max_retries_per_tool",
    "max_latency_ms",
    "max_prompt_tokens",
    "max_cost_usd_cents",
    "session_tokens",
    "token_counter",
    "placeholders",
    "frame_tokens",
    "redaction_rules",
    "idle_minutes",
];

fn read_run(section: Option<&Section<'_>>, out: &mut Vec<Finding>) -> (RunSettings, Duration) {
    let modes = [
        ("NORMAL", SafetyMode::Normal),
        ("SAFE", SafetyMode::Safe),
        ("STRICT", SafetyMode::Strict),
    ];
    let locales =
        [("en-US", LocaleCode::EnUs), ("en-IN", LocaleCode::EnIn), ("hi-IN", LocaleCode::HiIn)];
    let mode = get(section, "safety_mode").and_then(|node| node.word(&modes, out));
    let locale = get(section, "locale").and_then(|node| node.word(&locales, out));
    let mut whole =
        |name: &str, most: u64| get(section, name).and_then(|node| node.whole(0..=most, out));
    let mut budget = RunBudget::unlimited();
    budget.max_tool_calls = whole("max_tool_calls", MAX_COUNT);
    budget.max_latency_ms = whole("max_latency_ms", MAX_COUNT);
    budget.max_prompt_tokens = whole("max_prompt_tokens", MAX_COUNT);
    budget.max_cost =
        whole("max_cost_usd_cents", MAX_CENTS).map(|cents| Millicents(cents.saturating_mul(1_000)));
    if let Some(retries) = whole("max_retries_per_tool", u64::from(MAX_RETRIES)) {
        budget.max_retries_per_tool = u8::try_from(retries).unwrap_or(0);
    }
    let idle = get(section, "idle_minutes").and_then(|node| node.whole(1..=10_080, out));
    let settings = RunSettings {
        safety_mode: mode.unwrap_or_default(),
        locale: locale.unwrap_or_default(),
        budget,
        ..RunSettings::default()
    };
    (settings, Duration::from_secs(idle.unwrap_or(60) * 60))
}

/// The tokens of a run: counted where a cap needs it, by a counter that the file names.
fn read_session(
    file: &Path,
    section: Option<&Section<'_>>,
    out: &mut Vec<Finding>,
) -> Option<SessionBudget> {
    let most = u64::from(u32::MAX);
    let total = get(section, "session_tokens").and_then(|node| node.whole(1..=most, out));
    let Some(named) = get(section, "token_counter") else {
        let cap = ["session_tokens", "max_prompt_tokens"]
            .into_iter()
            .find(|cap| get(section, cap).is_some())?;
        let message = format!("`token_counter` is missing, by which `{cap}` is counted");
        let remedy = "name the model's own: `token_counter = \"o200k_base\"`, or \"cl100k_base\", \"chars4\"";
        out.push(whole(&file.display().to_string(), "config.missing_key", message, remedy));
        return None;
    };
    let name = named.text(out)?;
    match SessionBudget::named(name) {
        Ok(budget) => {
            let total = total.and_then(|total| u32::try_from(total).ok());
            Some(budget.with_total(total.unwrap_or(u32::MAX)))
        }
        Err(error) => {
            let remedy = "name a counter that this build has";
            out.push(named.finding("config.word", error.to_string(), remedy));
            None
        }
    }
}
