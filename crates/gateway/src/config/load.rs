//! Loads a configuration, and the documents that it names.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use weaver_policy::PolicySet;
use weaver_types::{PrincipalId, Timestamp};

use super::error::{ConfigErrors, file_finding};
use super::interpolate::{Reference, ReferenceLookup};
use super::node::Node;
use super::resolve::{self, ParsedFiles, ResolvedConfig};
use super::system_lookup::SystemLookup;
use super::{Config, DEFAULT_FILE_NAME, DocumentFinding, MAX_CONFIG_BYTES, NO_CONFIG_REMEDY};
use super::{documents, environment_file, tree, written_digest};
use crate::bounded_file::{self, ReadError};

/// Reads a configuration. Variables come from the process environment, and keychain references from
/// the system's keychain.
///
/// # Errors
/// [`ConfigErrors`] with all problems.
pub fn load(path: impl AsRef<Path>) -> Result<Config, ConfigErrors> {
    load_resolved(path.as_ref(), &SystemLookup::default().lookup())
}

/// The store that a configuration names, without checking the rest: the gateway reports other
/// problems when it starts.
///
/// # Errors
/// [`ConfigErrors`], if the file cannot be read or its `[store]` is invalid.
pub fn load_store_path(path: impl AsRef<Path>) -> Result<PathBuf, ConfigErrors> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let text = config_text(path, &name).map_err(|finding| ConfigErrors::new(vec![*finding]))?;
    let toml = tree::toml(&name, &text).map_err(|finding| ConfigErrors::new(vec![*finding]))?;
    let mut findings = Vec::new();
    match resolve::store_path(path, &toml, &mut findings) {
        Some(store) if findings.is_empty() => Ok(store),
        _ => Err(ConfigErrors::new(findings)),
    }
}

/// The store that a configuration names which cannot be parsed, as far as its `[store]` can be read
/// alone. A daemon may still run with what the file said before; whoever asks it must check that it
/// serves this file.
#[must_use]
pub fn guess_store_path(path: impl AsRef<Path>) -> Option<PathBuf> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let text = config_text(path, &name).ok()?;
    let is_head = |line: &&str| line.trim_start().starts_with('[');
    let mut section: Vec<&str> = Vec::new();
    let mut lines = text.lines().skip_while(|line| line.trim() != "[store]");
    section.extend(lines.next());
    section.extend(lines.take_while(|line| !is_head(line)));
    let toml = tree::toml(&name, &section.join("\n")).ok()?;
    resolve::store_path(path, &toml, &mut Vec::new())
}

/// As [`load`], with variables from `lookup`. The keychain entry `NAME` is looked up there as
/// `keychain:NAME`; the system's keychain is not used.
///
/// # Errors
/// As [`load`].
pub fn load_with(
    path: impl AsRef<Path>,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<Config, ConfigErrors> {
    load_resolved(path.as_ref(), &|reference| Ok(look_up_by_name(reference, lookup)))
}

/// The configuration that this text would be as the file at `path`, which is not read. Variables in
/// `variables` take precedence over the environment.
pub(crate) fn load_text(
    path: &Path,
    text: &str,
    variables: &dyn Fn(&str) -> Option<String>,
) -> Result<Config, ConfigErrors> {
    let system = SystemLookup::default();
    let system = system.lookup();
    let lookup = |reference: Reference<'_>| match reference {
        Reference::Variable(name) if let Some(value) = variables(name) => Ok(Some(value)),
        _ => system(reference),
    };
    valid_config(resolve_files(parse_text(path, text), &lookup))
}

/// As [`load_text`], with variables and keychain entries from `lookup` only, as in [`load_with`].
pub(crate) fn load_text_with(
    path: &Path,
    text: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<Config, ConfigErrors> {
    let named = |reference: Reference<'_>| Ok(look_up_by_name(reference, lookup));
    valid_config(resolve_files(parse_text(path, text), &named))
}

/// The keychain entry `NAME` is called `keychain:NAME`.
fn look_up_by_name(
    reference: Reference<'_>,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Option<String> {
    match reference {
        Reference::Variable(name) => lookup(name),
        Reference::Keychain(name) => lookup(&format!("keychain:{name}")),
    }
}

fn load_resolved(path: &Path, lookup: ReferenceLookup<'_>) -> Result<Config, ConfigErrors> {
    valid_config(read_config(path, lookup))
}

fn valid_config(resolved: ResolvedConfig) -> Result<Config, ConfigErrors> {
    match resolved {
        ResolvedConfig { config: Some(config), .. } => Ok(config),
        ResolvedConfig { findings, .. } => Err(ConfigErrors::new(findings)),
    }
}

/// Whether the signatures of documents are verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureChecks {
    /// Documents that are not signed by the root key are refused.
    Required,
    /// Signatures are not verified, and every decision under these documents records that.
    Skipped,
}

impl SignatureChecks {
    /// The choice made by the option `--unsigned-development`.
    #[must_use]
    pub fn unless(unsigned_development: bool) -> Self {
        if unsigned_development { Self::Skipped } else { Self::Required }
    }
}

/// Loads the three documents that the configuration names.
///
/// # Errors
/// [`ConfigErrors`] with all problems: unreadable files, signatures, form, content, and documents
/// that expired before `now`.
pub fn load_policy(
    config: &Config,
    checks: SignatureChecks,
    now: Timestamp,
) -> Result<PolicySet, ConfigErrors> {
    let root = match checks {
        SignatureChecks::Required => Some(&config.root_key),
        SignatureChecks::Skipped => None,
    };
    documents::load(&config.documents_folder, root, now)
}

/// Checks a configuration and its documents, and reports all problems of both.
///
/// # Errors
/// [`ConfigErrors`] with all of it.
pub fn check(path: impl AsRef<Path>, now: Timestamp) -> Result<(Config, PolicySet), ConfigErrors> {
    let ResolvedConfig { config, root, documents_folder: folder, mut findings } =
        read_config(path.as_ref(), &SystemLookup::default().lookup());
    let set = match &folder {
        None => None,
        Some(folder) => match documents::load(folder, root.as_ref(), now) {
            Ok(set) => {
                let id = config.as_ref().map(|config| &config.principal);
                findings.extend(id.and_then(|id| unknown_principal(&set, folder, id)));
                Some(set)
            }
            Err(errors) => {
                findings.extend(errors.findings().iter().cloned());
                None
            }
        },
    };
    match (config, set) {
        (Some(config), Some(set)) if findings.is_empty() => Ok((config, set)),
        _ => Err(ConfigErrors::new(findings)),
    }
}

/// A finding if the policy does not name the principal, because the gateway would not start.
fn unknown_principal(set: &PolicySet, folder: &Path, id: &PrincipalId) -> Option<DocumentFinding> {
    if set.principal(id).is_some() {
        return None;
    }
    let file = folder.join("policy.toml").display().to_string();
    let message = format!("the policy does not name the principal `{id}` of the configuration");
    let remedy = format!("write `[principals.\"{id}\"]` there with its roles, then sign it again");
    Some(file_finding(&file, "config.unknown_principal", message, remedy))
}

fn read_config(path: &Path, lookup: ReferenceLookup<'_>) -> ResolvedConfig {
    resolve_files(parse_files(path), lookup)
}

fn resolve_files(
    parsed: Result<ParsedFiles, Box<DocumentFinding>>,
    lookup: ReferenceLookup<'_>,
) -> ResolvedConfig {
    match parsed {
        Ok(parsed) => {
            // The file of variables takes precedence, so that the gateway behaves the same whatever
            // environment the client gives it.
            let keychain = RefCell::new(BTreeSet::new());
            let variables_first = |reference: Reference<'_>| match reference {
                Reference::Variable(name) if let Some(value) = parsed.variables.get(name) => {
                    Ok(Some(value.clone()))
                }
                Reference::Variable(_) => lookup(reference),
                Reference::Keychain(_) => lookup(reference).inspect(|value| {
                    keychain.borrow_mut().extend(value.clone());
                }),
            };
            let mut resolved = resolve::resolve(&parsed, &variables_first);
            let mut secrets = keychain.take();
            secrets.extend(parsed.variables.values().cloned());
            for upstream in resolved.config.iter_mut().flat_map(|config| &mut config.upstreams) {
                upstream.note_secrets(&secrets);
            }
            resolved
        }
        Err(finding) => ResolvedConfig {
            config: None,
            root: None,
            documents_folder: None,
            findings: vec![*finding],
        },
    }
}

/// Parses the files. An unreadable file of servers is reported at the key that names it.
fn parse_files(path: &Path) -> Result<ParsedFiles, Box<DocumentFinding>> {
    let text = config_text(path, &path.display().to_string())?;
    parse_text(path, &text)
}

/// As [`parse_files`], with this text in the place of the configuration's.
fn parse_text(path: &Path, text: &str) -> Result<ParsedFiles, Box<DocumentFinding>> {
    let toml = tree::toml(&path.display().to_string(), text)?;
    let json = servers_file(path, &toml)?;
    let (json, servers_file) = json.unzip();
    let environment = environment_file::read(path, &toml)?;
    let environment_file = environment.as_ref().map(|file| file.path.clone());
    let variables = environment.unwrap_or_default().variables;
    Ok(ParsedFiles {
        file: path.to_path_buf(),
        file_digest: written_digest::digest(text),
        toml,
        json,
        servers_file,
        variables,
        environment_file,
    })
}

fn config_text(path: &Path, name: &str) -> Result<String, Box<DocumentFinding>> {
    bounded_file::read_text(path, MAX_CONFIG_BYTES).map_err(|error| {
        let message = match error {
            ReadError::Absent if path == Path::new(DEFAULT_FILE_NAME) => {
                "it is not here, in a folder above, or in your own folder".to_owned()
            }
            error => error.to_string(),
        };
        Box::new(file_finding(name, "config.unreadable", message, NO_CONFIG_REMEDY))
    })
}

fn servers_file(path: &Path, toml: &Node) -> Result<Option<(Node, PathBuf)>, Box<DocumentFinding>> {
    let Some(node) = toml.get("servers") else { return Ok(None) };
    let Some(name) = node.text() else { return Ok(None) };
    let path = path.parent().unwrap_or(Path::new("")).join(name);
    let text = bounded_file::read_text(&path, MAX_CONFIG_BYTES).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        Box::new(node.finding(
            "config.unreadable",
            message,
            "name the JSON file of your MCP servers",
        ))
    })?;
    let json = tree::json(&path.display().to_string(), &text)?;
    Ok(Some((json, path)))
}
