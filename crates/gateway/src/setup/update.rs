//! Adds what is new to an existing gateway: new servers, and new tools of known servers.
//!
//! A new tool gets what a setup would give it: its contract, and the rules that bound it. Nothing is
//! overwritten: sections are appended to `weaver.toml`, entries to the contracts and rules to the
//! policy, and all other bytes stay. A changed tool is reported and not touched, because a person must review
//! it. The signed folder is exchanged as a whole, so that the gateway sees either all of the change
//! or none of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use weaver_policy::{Contract, MAX_DOCUMENT_BYTES, PolicySet};
use weaver_policy_analysis::propose::ContractProposal;
use weaver_types::signature::{DocumentKind, SigningKey};
use weaver_types::{CapabilityId, Effects, Timestamp, UpstreamName};

use super::documents::{self, ROOT_KEY, SECRETS_FILE, ServerSection};
use super::error::{SetupError, io_error};
use super::folder::DocumentSigner;
use super::folder_exchange::{copy_for_staging, exchange_folders, staging_folder};
use super::local_writes::{KnownNames, RuleTexts};
use super::permission::Permission;
use super::policy_text;
use super::posture::Posture;
use super::review::{Review, ReviewError};
use super::secrets;
use super::selection::Selection;
use super::server_matcher::ServerMatcher;
use crate::bounded_file;
use crate::clients::{ClientFile, replace_file};
use crate::config::{self, Config, UpstreamSettings};
use crate::interruption;
use crate::listing::ListingResult;
use crate::serve::FeatureKind;

const POLICY: &str = "policy.toml";

/// An existing gateway.
pub struct GatewayUpdate {
    config: Config,
    pub(super) policy: PolicySet,
    text: String,
    pub(super) contracts: String,
    pub(super) policy_text: String,
}

/// The differences between a gateway's contracts and what its servers list now.
#[derive(Debug, Default)]
pub struct ServerChanges {
    /// Tools without a contract, with their proposed contracts.
    pub new_tools: BTreeMap<CapabilityId, ContractProposal>,
    /// Tools that differ from what their contract pins.
    pub changed_tools: Vec<CapabilityId>,
    /// Changed tools whose descriptions suggest more effects than their contract allows.
    pub raised_effects: BTreeSet<CapabilityId>,
    /// Tools without a contract that get none, because their descriptions address the model.
    pub suspicious: Vec<CapabilityId>,
    /// Tools with a contract that are no longer listed, of servers that answered.
    pub missing_tools: Vec<CapabilityId>,
    /// Servers that did not answer, and why.
    pub unreachable: BTreeMap<UpstreamName, String>,
    /// Unusable tools, and why.
    pub problems: Vec<String>,
    /// The new tools whose calls wait for a person.
    pub held: BTreeSet<CapabilityId>,
    /// Why a person should look at a new tool.
    pub doubts: BTreeMap<CapabilityId, String>,
    /// The rules that bound the new tools.
    rules: RuleTexts,
}

impl GatewayUpdate {
    /// Reads the gateway.
    ///
    /// # Errors
    /// [`SetupError::Check`], if it does not pass the check already.
    pub fn open(file: &Path, now: Timestamp) -> Result<Self, SetupError> {
        let (config, policy) = config::check(file, now).map_err(SetupError::Check)?;
        let read = |path: &Path, max: usize| {
            bounded_file::read_text(path, max)
                .map_err(|error| io_error("read", path)(io::Error::other(error.to_string())))
        };
        let text = read(&config.file, config::MAX_CONFIG_BYTES)?;
        let document = |name: &str| read(&config.documents_folder.join(name), MAX_DOCUMENT_BYTES);
        let (contracts, policy_text) = (document("contracts.toml")?, document(POLICY)?);
        Ok(Self { config, policy, text, contracts, policy_text })
    }

    /// The gateway's configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The default location of its root key.
    #[must_use]
    pub fn root_key(&self) -> PathBuf {
        self.config.base().join(ROOT_KEY)
    }

    /// The names of its servers.
    #[must_use]
    pub fn server_names(&self) -> BTreeSet<String> {
        self.config.upstreams.iter().map(|one| one.name.to_string()).collect()
    }

    /// The variables set in its file of variables.
    #[must_use]
    pub fn variables(&self) -> BTreeSet<String> {
        let file = self.config.environment_file.as_ref();
        let text = file.and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.filter_map(|line| Some(line.split_once('=')?.0.to_owned())).collect()
    }

    /// The files without the servers that the gateway already has.
    #[must_use]
    pub fn unknown_servers(&self, mut files: Vec<ClientFile>) -> Vec<ClientFile> {
        let matcher = ServerMatcher::new(&self.config);
        for file in &mut files {
            let mut servers = std::mem::take(&mut file.servers);
            servers.retain(|server| matcher.find(file, server).is_none());
            file.servers = servers;
        }
        files
    }

    /// All servers, including the new ones, in a form that can be started.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn listing_servers(
        &self,
        selection: &Selection,
    ) -> Result<Vec<UpstreamSettings>, SetupError> {
        if selection.servers.is_empty() {
            return Ok(self.config.upstreams.clone());
        }
        let text = self.with_sections(self.text.clone(), selection);
        let own = |name: &str| {
            let secret = selection.secrets.iter().find(|secret| secret.variable == name);
            secret.map(|secret| secret.value.clone())
        };
        let config = config::load_text(&self.config.file, &text, &own);
        Ok(config.map_err(SetupError::Check)?.upstreams)
    }

    /// Compares what the servers list now with the contracts. `servers` are those that were listed,
    /// `selection` the new ones among them, and `accepted` the tools whose descriptions a person has
    /// read although they address a model.
    ///
    /// # Errors
    /// [`ReviewError`], if an accepted tool is not listed.
    pub fn changes(
        &self,
        listed: Vec<(UpstreamName, ListingResult)>,
        servers: &[UpstreamSettings],
        selection: &Selection,
        accepted: &[String],
    ) -> Result<ServerChanges, ReviewError> {
        let mut changes = ServerChanges::default();
        let mut answered = Vec::new();
        for (name, result) in listed {
            match result {
                Ok(tools) => answered.push((name, tools)),
                Err(problem) => drop(changes.unreachable.insert(name, problem.to_string())),
            }
        }
        let names: BTreeSet<String> = answered.iter().map(|(name, _)| name.to_string()).collect();
        let folders = Selection::folders_of(servers);
        let (mut review, problems) = Review::propose(self.posture(), answered, &folders);
        changes.problems = problems;
        let named = self.contracts_by_id();
        let proposals = review.proposals();
        for (id, contract) in &named {
            let server = id.as_str().split('.').next().unwrap_or_default();
            match proposals.get(id) {
                // A server lists no questions that it asks.
                None if FeatureKind::of(id).is_asked_by_servers() => {}
                None if names.contains(server) => changes.missing_tools.push(id.clone()),
                Some(now) if is_changed(contract, now) => {
                    changes.changed_tools.push(id.clone());
                    let bound = contract.effects.unwrap_or(Effects::UNDECLARED);
                    if !now.effects.within(bound) {
                        changes.raised_effects.insert(id.clone());
                    }
                }
                _ => {}
            }
        }
        for id in accepted {
            review.accept_description(id)?;
        }
        review.retain(|id| !named.contains_key(id));
        review.refuse_left_out(selection);
        // A contract without a digest would still apply after the description changes.
        changes.new_tools = review.contracts();
        let suspicious = review.suspicious().filter(|id| !changes.new_tools.contains_key(*id));
        changes.suspicious = suspicious.cloned().collect();
        let held = review.rows().iter().filter(|row| row.permission == Permission::Ask);
        changes.held = held.map(|row| row.id.clone()).collect();
        changes.rules = review.tool_rules(&KnownNames::of(&self.policy, &self.policy_text));
        let quoted =
            review.rows().iter().filter_map(|row| Some((row.id.clone(), row.doubt.clone()?)));
        changes.doubts = quoted.collect();
        Ok(changes)
    }

    /// The posture from which the policy in force was made; the strictest if it cannot be told.
    #[must_use]
    pub fn posture(&self) -> Posture {
        Posture::of(&self.policy)
    }

    /// The contracts of individual tools.
    pub(super) fn contracts_by_id(&self) -> BTreeMap<CapabilityId, &Contract> {
        let entries = self.policy.contracts().capabilities.iter();
        let named = entries.filter_map(|(pattern, contract)| {
            Some((CapabilityId::parse(pattern.as_str()).ok()?, contract))
        });
        named.collect()
    }

    /// Writes and signs what is new.
    ///
    /// # Errors
    /// [`SetupError`]; then the gateway is unchanged, or has the new contracts without the new
    /// servers, which is also consistent.
    pub fn apply(
        &self,
        selection: &Selection,
        changes: &ServerChanges,
        key: &SigningKey,
        now: Timestamp,
    ) -> Result<(), SetupError> {
        self.remove_leftovers();
        let has_rules = changes.rules != RuleTexts::default();
        let policy = has_rules.then(|| self.policy_text(&changes.rules)).transpose()?;
        if !changes.new_tools.is_empty() {
            let contracts = self.contracts_text(changes)?;
            self.put_documents(Some(&contracts), policy.as_deref(), key, now)?;
        }
        if selection.servers.is_empty() {
            return Ok(());
        }
        let secrets = self.secrets_file();
        if selection.has_secrets_file() {
            let text = self.secrets_text(selection)?;
            replace_file(&secrets, &text).map_err(io_error("write", &secrets))?;
        }
        let text = self.config_text(selection);
        let file = &self.config.file;
        self.config.note_replacement(&text).map_err(io_error("note the change of", file))?;
        replace_file(file, &text).map_err(io_error("write", file))?;
        config::check(&self.config.file, now).map_err(SetupError::Check).map(|_| ())
    }

    /// Signs these documents and puts them into force, all together.
    ///
    /// # Errors
    /// [`SetupError`]; then the gateway is unchanged.
    pub(super) fn put_documents(
        &self,
        contracts: Option<&str>,
        policy: Option<&str>,
        key: &SigningKey,
        now: Timestamp,
    ) -> Result<(), SetupError> {
        self.remove_leftovers();
        let staging = self.stage_documents(contracts, policy, key, now)?;
        let exchanged = exchange_folders(&staging, &self.config.documents_folder);
        interruption::step();
        let _ = fs::remove_dir_all(&staging);
        exchanged.map_err(io_error("put the new documents into", &self.config.documents_folder))
    }

    /// Removes what an interrupted update left.
    fn remove_leftovers(&self) {
        let _ = fs::remove_dir_all(staging_folder(&self.config));
    }

    /// The documents folder with these documents, signed and checked, next to the old one.
    fn stage_documents(
        &self,
        contracts: Option<&str>,
        policy: Option<&str>,
        key: &SigningKey,
        now: Timestamp,
    ) -> Result<PathBuf, SetupError> {
        let documents = [(DocumentKind::Contracts, contracts), (DocumentKind::Policy, policy)];
        let new = documents.iter().filter(|(_, text)| text.is_some());
        let replaced: Vec<String> = new.map(|(kind, _)| format!("{kind}.")).collect();
        let staging = copy_for_staging(&self.config, &replaced)?;
        let signer = DocumentSigner { folder: &staging, key, now };
        for (kind, text) in documents {
            text.map(|text| signer.write(kind, text)).transpose()?;
        }
        let config = Config { documents_folder: staging.clone(), ..self.config.clone() };
        config::load_policy(&config, config::SignatureChecks::Required, now)
            .map_err(SetupError::Check)?;
        Ok(staging)
    }

    fn contracts_text(&self, changes: &ServerChanges) -> Result<String, SetupError> {
        let path = self.config.documents_folder.join("contracts.toml");
        let version = self.policy.contracts().version.saturating_add(1);
        let manual_edit_error = |reason| SetupError::NeedsManualEdit { path: path.clone(), reason };
        let text = with_version(&self.contracts, version)
            .ok_or_else(|| manual_edit_error("its version is not on a line of its own"))?;
        let contracts = documents::contracts(&changes.new_tools);
        let (_, entries) = contracts
            .split_once("version = 1\n")
            .ok_or_else(|| manual_edit_error("the new entries cannot be told from their head"))?;
        let end = if text.ends_with('\n') { "" } else { "\n" };
        Ok(format!("{text}{end}{entries}"))
    }

    /// The policy with these rules at its end, under the next version.
    fn policy_text(&self, rules: &RuleTexts) -> Result<String, SetupError> {
        let path = self.config.documents_folder.join(POLICY);
        let version = self.policy.policy().version.saturating_add(1);
        let text = with_version(&self.policy_text, version).ok_or(SetupError::NeedsManualEdit {
            path,
            reason: "its version is not on a line of its own",
        })?;
        Ok(policy_text::with_rules(text, rules))
    }

    fn config_text(&self, selection: &Selection) -> String {
        let mut text = self.text.clone();
        if selection.has_secrets_file() && self.config.environment_file.is_none() {
            // A key of the root table must come before all tables.
            let lines = text.split_inclusive('\n');
            let head = lines.take_while(|line| line.starts_with('#') || line.trim().is_empty());
            let head: usize = head.map(str::len).sum();
            text.insert_str(head, &format!("environment = \"{SECRETS_FILE}\"\n\n"));
        }
        self.with_sections(text, selection)
    }

    fn with_sections(&self, mut text: String, selection: &Selection) -> String {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        for server in &selection.servers {
            text.push_str(&ServerSection(server).to_string());
        }
        text
    }

    fn secrets_file(&self) -> PathBuf {
        let own = self.config.environment_file.clone();
        own.unwrap_or_else(|| self.config.base().join(SECRETS_FILE))
    }

    fn secrets_text(&self, selection: &Selection) -> Result<String, SetupError> {
        let path = self.secrets_file();
        match fs::read_to_string(&path) {
            Ok(text) => {
                let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
                Ok(format!("{text}{end}{}", secrets::variable_lines(&selection.secrets)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(secrets::file_text(&selection.secrets))
            }
            Err(error) => Err(io_error("read", &path)(error)),
        }
    }
}

/// Whether a tool differs from what its contract pins.
fn is_changed(contract: &Contract, now: &ContractProposal) -> bool {
    contract.upstream_digest.is_some() && now.upstream_digest != contract.upstream_digest
}

/// The text with another version, if the version is on a line of its own.
pub(super) fn with_version(text: &str, version: u64) -> Option<String> {
    let mut found = false;
    let mut open = true;
    let lines: String = text
        .split_inclusive('\n')
        .map(|line| {
            open &= !line.trim_start().starts_with('[');
            let key = line.trim_start().strip_prefix("version");
            if open && key.is_some_and(|rest| rest.trim_start().starts_with('=')) {
                found = true;
                format!("version = {version}\n")
            } else {
                line.to_owned()
            }
        })
        .collect();
    found.then_some(lines)
}
