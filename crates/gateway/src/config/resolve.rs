//! Resolves the parsed tree into consistent settings, and reports all problems at once.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use weaver_policy::Finding;
use weaver_types::signature::{PublicKey, SignatureError};
use weaver_types::{PrincipalId, UpstreamName};

use super::definition::{ROOT, STORE};
use super::error::whole;
use super::expansion::ExpansionContext;
use super::http;
use super::interpolate::Lookup;
use super::log;
use super::memory;
use super::node::{Node, shown};
use super::profile::{self, Profile};
use super::run::{self, RunSection};
use super::sentinel;
use super::server_table::{self, ReservedName, ServerSections};
use super::telemetry;
use super::tool::TOOLS;
use super::tool_section;
use super::word_table::WordTable;
use super::{Config, MEMORY};

/// Where the store lies when nothing is said.
const DEFAULT_STORE: &str = ".weaver/ledger.db";

/// The outcome of resolving a configuration.
pub(super) struct ResolvedConfig {
    /// Every setting, when nothing is wrong.
    pub(super) config: Option<Config>,
    /// The root key and the folder of the documents, as far as they could be read.
    pub(super) root: Option<PublicKey>,
    pub(super) folder: Option<PathBuf>,
    pub(super) findings: Vec<Finding>,
}

/// The parsed files.
pub(super) struct ParsedFiles {
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
pub(super) fn resolve(parsed: &ParsedFiles, lookup: Lookup<'_>) -> ResolvedConfig {
    let (file, toml, mut out) = (parsed.file.as_path(), &parsed.toml, Vec::new());
    ROOT.check(toml, &mut out);
    let base = file.parent().unwrap_or(Path::new("")).to_path_buf();
    let files = RefCell::default();
    let context = ExpansionContext { base: &base, lookup, files: &files };
    [Some(&parsed.file), parsed.servers_file.as_ref(), parsed.environment_file.as_ref()]
        .into_iter()
        .flatten()
        .for_each(|file| context.note_file(file));
    let own = toml.get("tools");
    let remembered = toml.get("memory");
    let sections = ServerSections {
        file,
        toml: toml.get("mcpServers"),
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
    let gateway = toml.get("gateway");
    let setting = |name: &str| gateway?.get(name);
    let profile = Profile::read(gateway, &Profile::default());
    let names: Vec<&UpstreamName> = upstreams.iter().map(|upstream| &upstream.name).collect();
    let profiles = profile::profiles(toml.get("profiles"), &profile, &names, &mut out);
    let unprefixed = unprefixed(setting("unprefixed"), upstreams.len(), &mut out);
    let word_table = word_table(setting("word_table"), &base, &mut out);
    let approval_wait = setting("approval_timeout_ms").and_then(Node::whole);
    let RunSection { settings, idle, session, placeholders, frame_tokens, redaction } =
        run::read(file, toml.get("run"), &context, &mut out);
    let inbox = path(toml.get("store"), "inbox", ".weaver/inbox", &base, &mut out);
    let store = path(toml.get("store"), "path", DEFAULT_STORE, &base, &mut out);
    let memory = memory::read(remembered, &base, store.as_deref(), &mut out);
    let log = log::read(toml.get("log"), &context, &mut out);
    let http = http::read(toml.get("http"), &context, &mut out);
    let telemetry = telemetry::read(toml.get("telemetry"), &context, &mut out);
    let tools = tool_section::read(own, &context, &mut out);
    let principal = principal_id(file, toml.get("principal"), &mut out);
    let root = root_key(file, toml.get("trust"), &mut out);
    let folder = path(toml.get("trust"), "folder", "policy", &base, &mut out);

    let required = (principal, store, inbox, root, folder.clone());
    let config = match required {
        (Some(principal), Some(store), Some(inbox), Some(root), Some(folder)) if out.is_empty() => {
            Some(Config {
                file: parsed.file.clone(),
                profile,
                profiles,
                unprefixed,
                word_table,
                approval_wait: approval_wait.map(Duration::from_millis),
                sentinels: setting("sentinels").map(sentinel::read).unwrap_or_default(),
                principal,
                run: settings,
                session,
                placeholders,
                frame_tokens,
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
                files: files.take(),
                upstreams,
                tools,
            })
        }
        _ => None,
    };
    ResolvedConfig { config, root, folder, findings: out }
}

/// The store alone.
pub(super) fn store_path(file: &Path, toml: &Node, out: &mut Vec<Finding>) -> Option<PathBuf> {
    let base = file.parent().unwrap_or(Path::new(""));
    let section = toml.get("store");
    if let Some(section) = section {
        STORE.check(section, out);
    }
    path(section, "path", DEFAULT_STORE, base, out)
}

/// True when the tools of the one server keep their names.
fn unprefixed(node: Option<&Node>, upstreams: usize, out: &mut Vec<Finding>) -> bool {
    let unprefixed = node.and_then(Node::flag).unwrap_or(false);
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
    let table = WordTable::named(node.text()?, base)?;
    if let Err(error) = table.load() {
        let remedy = "write `built-in` or `none`, or name a folder with one safetensors file and \
                      vocab.txt or tokenizer.json";
        out.push(node.finding("config.word_table", error.to_string(), remedy));
    }
    Some(table)
}

fn principal_id(
    file: &Path,
    section: Option<&Node>,
    out: &mut Vec<Finding>,
) -> Option<PrincipalId> {
    let Some(node) = section.and_then(|section| section.get("id")) else {
        out.push(missing(
            file,
            "principal.id",
            "write `[principal]` and `id = \"…\"`: who owns this process, as the signed policy \
             names them",
        ));
        return None;
    };
    let text = node.text()?;
    let id = PrincipalId::parse(text);
    if let Err(error) = &id {
        let message = format!("`{}` cannot name a principal", shown(text));
        out.push(node.finding("config.principal", message, format!("use {}", error.rule)));
    }
    id.ok()
}

fn root_key(file: &Path, section: Option<&Node>, out: &mut Vec<Finding>) -> Option<PublicKey> {
    let Some(node) = section.and_then(|section| section.get("root")) else {
        out.push(missing(
            file,
            "trust.root",
            "run `weaver keys new --out root.key --id root` and write the public key that it \
             prints as `root = \"ed25519:…\"` under `[trust]`",
        ));
        return None;
    };
    let key = node.text()?.parse();
    if let Err(error) = &key {
        let error: &SignatureError = error;
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
    section: Option<&Node>,
    name: &str,
    default: &str,
    base: &Path,
    out: &mut Vec<Finding>,
) -> Option<PathBuf> {
    let Some(node) = section.and_then(|section| section.get(name)) else {
        return Some(base.join(default));
    };
    let text = node.text()?;
    if text.trim().is_empty() || text.contains('\0') {
        let remedy = format!("write a path, or remove it for `{default}`");
        out.push(node.finding("config.path", "this is no path", remedy));
        return None;
    }
    Some(base.join(text))
}
