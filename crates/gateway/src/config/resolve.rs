//! Resolves the parsed tree into consistent settings, and reports all problems at once.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use weaver_drivers::confine::replaceable_links;
use weaver_policy::DocumentFinding;
use weaver_types::signature::{PublicKey, SignatureError};
use weaver_types::{PrincipalId, UpstreamName};

use super::definition::{ROOT_TABLE, STORE};
use super::denied_folder;
use super::error::file_finding;
use super::expansion::ExpansionContext;
use super::http;
use super::interpolate::ReferenceLookup;
use super::log;
use super::memory;
use super::node::{Node, excerpt};
use super::profile::{self, ClientProfile};
use super::run::{self, RunSection};
use super::sentinel;
use super::server_table::{self, ReservedName, ServerSections};
use super::telemetry;
use super::tool::OWN_TOOLS_NAMESPACE;
use super::tool_section;
use super::upstream::UpstreamSettings;
use super::word_vectors::WordVectorSource;
use super::work_folder;
use super::{Config, MEMORY_NAMESPACE};

/// The default ledger file.
const DEFAULT_STORE: &str = ".weaver/ledger.db";

/// The outcome of resolving a configuration.
pub(super) struct ResolvedConfig {
    /// The configuration, if there are no problems.
    pub(super) config: Option<Config>,
    /// The root key, if it could be read.
    pub(super) root: Option<PublicKey>,
    /// The folder of the signed documents, if it could be read.
    pub(super) documents_folder: Option<PathBuf>,
    pub(super) findings: Vec<DocumentFinding>,
}

/// The parsed configuration files.
pub(super) struct ParsedFiles {
    pub(super) file: PathBuf,
    pub(super) file_digest: [u8; 32],
    pub(super) toml: Node,
    pub(super) json: Option<Node>,
    /// The path of `json`.
    pub(super) servers_file: Option<PathBuf>,
    /// The variables set in the environment file.
    pub(super) variables: BTreeMap<String, String>,
    pub(super) environment_file: Option<PathBuf>,
}

impl ParsedFiles {
    /// The files that were read.
    fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        [Some(&self.file), self.servers_file.as_ref(), self.environment_file.as_ref()]
            .into_iter()
            .flatten()
    }
}

/// Resolves the parsed files.
pub(super) fn resolve(parsed: &ParsedFiles, lookup: ReferenceLookup<'_>) -> ResolvedConfig {
    let (file, toml, mut findings) = (parsed.file.as_path(), &parsed.toml, Vec::new());
    ROOT_TABLE.check(toml, &mut findings);
    let base = file.parent().unwrap_or(Path::new("")).to_path_buf();
    let files = RefCell::default();
    let context = ExpansionContext { base: &base, lookup, files: &files };
    parsed.paths().for_each(|file| context.record_source_file(file));
    let own_tools = toml.get("tools");
    let memory_section = toml.get("memory");
    let sections = ServerSections {
        file,
        toml: toml.get("mcpServers"),
        json: parsed.json.as_ref(),
        optional: own_tools.is_some() || memory_section.is_some(),
    };
    let upstreams = server_table::upstreams(&sections, &context, &mut findings);
    check_reserved_names(own_tools, memory_section, &upstreams, &mut findings);
    let gateway = toml.get("gateway");
    let setting = |name: &str| gateway?.get(name);
    let profile = ClientProfile::read(gateway, &ClientProfile::default());
    let names: Vec<&UpstreamName> = upstreams.iter().map(|upstream| &upstream.name).collect();
    let profiles = profile::profiles(toml.get("profiles"), &profile, &names, &mut findings);
    let unprefixed = read_unprefixed(setting("unprefixed"), upstreams.len(), &mut findings);
    let word_table = read_word_table(setting("word_table"), &base, &mut findings);
    let approval_timeout = setting("approval_timeout_ms").and_then(Node::integer);
    let RunSection { settings, idle, session, placeholders, frame_tokens, redaction } =
        run::read(file, toml.get("run"), &context, &mut findings);
    let inbox = read_path(toml.get("store"), "inbox", ".weaver/inbox", &base, &mut findings);
    let store = read_path(toml.get("store"), "path", DEFAULT_STORE, &base, &mut findings);
    let memory = memory::read(memory_section, &base, store.as_deref(), &mut findings);
    let log = log::read(toml.get("log"), &context, &mut findings);
    let http = http::read(toml.get("http"), &context, &mut findings);
    check_oauth_profile(toml.get("http"), &profiles, &mut findings);
    let telemetry = telemetry::read(toml.get("telemetry"), &context, &mut findings);
    let tools = tool_section::read(own_tools, &context, &mut findings);
    let work_folder = work_folder::read(setting("work_folder"), &context, &mut findings);
    let denied = work_folder.as_ref().and_then(|work| denied_folder::find(&base, work));
    if let Some(denied) = denied {
        findings.extend(work_folder::misplaced(
            setting("work_folder"),
            &denied,
            work_folder.as_deref(),
        ));
        work_folder::check(&denied, &sections, own_tools, &upstreams, &tools, &mut findings);
    }
    let principal = principal_id(file, toml.get("principal"), &mut findings);
    let root = root_key(file, toml.get("trust"), &mut findings);
    let folder = read_path(toml.get("trust"), "folder", "policy", &base, &mut findings);

    let source_files: BTreeSet<PathBuf> = files.take();
    let source_links = source_files.iter().flat_map(|file| replaceable_links(file)).collect();
    let required = (principal, store, inbox, root, folder.clone());
    let config = match required {
        (Some(principal), Some(store), Some(inbox), Some(root), Some(folder))
            if findings.is_empty() =>
        {
            Some(Config {
                file: parsed.file.clone(),
                file_digest: parsed.file_digest,
                profile,
                profiles,
                unprefixed,
                word_table,
                work_folder,
                own_work_folders: setting("own_work_folders")
                    .and_then(Node::flag)
                    .unwrap_or_default(),
                approval_timeout: approval_timeout.map(Duration::from_millis),
                sentinels: setting("sentinels").map(sentinel::read).unwrap_or_default(),
                principal,
                run: settings,
                session_budget: session,
                placeholders,
                frame_tokens,
                redaction_rules: redaction,
                idle_timeout: idle,
                store_path: store,
                inbox,
                log,
                http,
                memory,
                telemetry,
                root_key: root,
                documents_folder: folder,
                servers_file: parsed.servers_file.clone(),
                environment_file: parsed.environment_file.clone(),
                source_files,
                source_links,
                upstreams,
                tools,
            })
        }
        _ => None,
    };
    ResolvedConfig { config, root, documents_folder: folder, findings }
}

/// Refuses servers with the names of the gateway's own tools.
fn check_reserved_names(
    own_tools: Option<&Node>,
    memory: Option<&Node>,
    upstreams: &[UpstreamSettings],
    findings: &mut Vec<DocumentFinding>,
) {
    for (section, name, owner) in [
        (own_tools, OWN_TOOLS_NAMESPACE, "your own tools"),
        (memory, MEMORY_NAMESPACE, "the tools of memory"),
    ] {
        let reserved = ReservedName { section, name, owner };
        server_table::check_reserved(&reserved, upstreams, findings);
    }
}

/// Resolves only the store.
pub(super) fn store_path(
    file: &Path,
    toml: &Node,
    findings: &mut Vec<DocumentFinding>,
) -> Option<PathBuf> {
    let base = file.parent().unwrap_or(Path::new(""));
    let section = toml.get("store");
    if let Some(section) = section {
        STORE.check(section, findings);
    }
    read_path(section, "path", DEFAULT_STORE, base, findings)
}

/// Parses whether the tools of the only server keep their names.
fn read_unprefixed(
    node: Option<&Node>,
    upstreams: usize,
    findings: &mut Vec<DocumentFinding>,
) -> bool {
    let unprefixed = node.and_then(Node::flag).unwrap_or(false);
    if let Some(node) = node.filter(|_| unprefixed && upstreams > 1) {
        let message = format!("`unprefixed` needs exactly one server; {upstreams} are configured");
        findings.push(node.finding("config.unprefixed", message, "remove it, or keep one server"));
    }
    unprefixed
}

/// Reports a missing profile for clients with tokens, because none of them could connect.
fn check_oauth_profile(
    http: Option<&Node>,
    profiles: &BTreeMap<String, ClientProfile>,
    findings: &mut Vec<DocumentFinding>,
) {
    let named = http.and_then(|http| http.get("oauth")?.get("profile"));
    let Some((node, name)) = named.and_then(|node| Some((node, node.text()?))) else { return };
    if !profiles.contains_key(name) {
        let message = format!("there is no profile `{}`", excerpt(name));
        let remedy = format!("write a table `[profiles.{}]`, or remove this", excerpt(name));
        findings.push(node.finding("config.profile", message, remedy));
    }
}

/// The word vectors: built-in by default, `None` for `none`. The table is loaded once to check it.
fn read_word_table(
    node: Option<&Node>,
    base: &Path,
    findings: &mut Vec<DocumentFinding>,
) -> Option<WordVectorSource> {
    let Some(node) = node else { return Some(WordVectorSource::BuiltIn) };
    let table = WordVectorSource::from_name(node.text()?, base)?;
    if let Err(error) = table.load() {
        let remedy = "write `built-in` or `none`, or name a folder with one safetensors file and \
                      vocab.txt or tokenizer.json";
        findings.push(node.finding("config.word_table", error.to_string(), remedy));
    }
    Some(table)
}

fn principal_id(
    file: &Path,
    section: Option<&Node>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<PrincipalId> {
    let Some(node) = section.and_then(|section| section.get("id")) else {
        findings.push(missing_key(
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
        let message = format!("`{}` cannot name a principal", excerpt(text));
        findings.push(node.finding("config.principal", message, format!("use {}", error.rule)));
    }
    id.ok()
}

fn root_key(
    file: &Path,
    section: Option<&Node>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<PublicKey> {
    let Some(node) = section.and_then(|section| section.get("root")) else {
        findings.push(missing_key(
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
        findings.push(node.finding("config.root_key", error.to_string(), remedy));
    }
    key.ok()
}

fn missing_key(file: &Path, key: &str, remedy: &str) -> DocumentFinding {
    let message = format!("`{key}` is missing");
    let finding = file_finding(&file.display().to_string(), "config.missing_key", message, remedy);
    DocumentFinding { key: Some(key.to_owned()), ..finding }
}

/// A path, relative to the configuration's folder unless it is absolute.
fn read_path(
    section: Option<&Node>,
    name: &str,
    default: &str,
    base: &Path,
    findings: &mut Vec<DocumentFinding>,
) -> Option<PathBuf> {
    let Some(node) = section.and_then(|section| section.get(name)) else {
        return Some(base.join(default));
    };
    let text = node.text()?;
    if text.trim().is_empty() || text.contains('\0') {
        let remedy = format!("write a path, or remove it for `{default}`");
        findings.push(node.finding("config.path", "not a valid path", remedy));
        return None;
    }
    Some(base.join(text))
}
