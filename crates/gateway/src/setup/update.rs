//! Taking what is new into a gateway that is there: new servers, and new tools of known ones.
//!
//! Nothing existing is overwritten: `weaver.toml` gets sections at its end, the contracts entries at
//! theirs, and both keep every other byte. A tool that changed is told and not touched, since that
//! is for a person to look at. The signed folder is exchanged as a whole, so that the gateway sees
//! either all of the change or nothing of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use weaver_policy::{Contract, MAX_BYTES, PolicySet};
use weaver_policy_analysis::propose::Proposal;
use weaver_types::signature::{Kind, SigningKey};
use weaver_types::{CapabilityId, Effects, Timestamp, UpstreamName};

use super::documents::{self, ROOT_KEY, SECRETS, ServerSection};
use super::error::{SetupError, system};
use super::folder::Signer;
use super::posture::Posture;
use super::review::Review;
use super::secrets;
use super::selection::{Selection, ServerFolders, matching_server};
use crate::bounded_file;
use crate::clients::{ClientFile, replace_file};
use crate::config::{self, Config, Upstream};
use crate::interruption;
use crate::listing::ListingResult;

/// The configuration from which new servers are tried, beside the real one.
const TRIAL: &str = ".weaver-update.toml";
/// The signed folder until it takes its place.
const STAGED: &str = ".weaver-update";

/// A gateway that is there.
pub struct Update {
    config: Config,
    policy: PolicySet,
    text: String,
    contracts: String,
}

/// What differs between a gateway and what its servers say now.
#[derive(Debug, Default)]
pub struct Changes {
    /// Tools that no contract names, with what is proposed for them.
    pub new: BTreeMap<CapabilityId, Proposal>,
    /// Tools that are not as their contract pins them.
    pub changed: Vec<CapabilityId>,
    /// Those of them whose words speak of more than their contract allows.
    pub raised: BTreeSet<CapabilityId>,
    /// Tools that no contract names and that get none, since their words speak to the model.
    pub suspicious: Vec<CapabilityId>,
    /// Tools that have a contract and are not listed any more, of servers that answered.
    pub missing: Vec<CapabilityId>,
    /// Servers that did not answer, and why.
    pub away: BTreeMap<UpstreamName, String>,
    /// Tools that cannot be used, and why.
    pub problems: Vec<String>,
}

impl Update {
    /// Reads the gateway.
    ///
    /// # Errors
    /// [`SetupError::Check`], where it does not pass the check as it is.
    pub fn open(file: &Path, now: Timestamp) -> Result<Self, SetupError> {
        let (config, policy) = config::check(file, now).map_err(SetupError::Check)?;
        let read = |path: &Path, max: usize| {
            bounded_file::text(path, max)
                .map_err(|error| system("read", path)(io::Error::other(error.to_string())))
        };
        let text = read(&config.file, config::MAX_CONFIG)?;
        let contracts = read(&config.folder.join("contracts.toml"), MAX_BYTES)?;
        Ok(Self { config, policy, text, contracts })
    }

    /// The gateway's configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Where its root key is, unless it was moved.
    #[must_use]
    pub fn root_key(&self) -> PathBuf {
        self.config.base().join(ROOT_KEY)
    }

    /// The names that its servers have.
    #[must_use]
    pub fn names(&self) -> BTreeSet<String> {
        self.config.upstreams.iter().map(|one| one.name.to_string()).collect()
    }

    /// The variables that its file of variables sets.
    #[must_use]
    pub fn variables(&self) -> BTreeSet<String> {
        let file = self.config.environment_file.as_ref();
        let text = file.and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.filter_map(|line| Some(line.split_once('=')?.0.to_owned())).collect()
    }

    /// The files without the servers that the gateway stands in front of already.
    #[must_use]
    pub fn unknown_servers(&self, mut files: Vec<ClientFile>) -> Vec<ClientFile> {
        for file in &mut files {
            file.servers.retain(|server| matching_server(server, &self.config).is_none());
        }
        files
    }

    /// All servers, with the new ones: a configuration from which they can be started.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn listing_servers(&self, selection: &Selection) -> Result<Vec<Upstream>, SetupError> {
        if selection.servers.is_empty() {
            return Ok(self.config.upstreams.clone());
        }
        let trial = self.config.base().join(TRIAL);
        let text = self.with_sections(self.text.clone(), selection);
        replace_file(&trial, &text).map_err(system("write", &trial))?;
        let own = |name: &str| {
            let secret = selection.secrets.iter().find(|secret| secret.variable == name);
            secret.map(|secret| secret.value.clone())
        };
        let config = config::load_with_variables(&trial, &own);
        // It is of no use to anybody; the next update overwrites one that stays.
        let _ = fs::remove_file(&trial);
        Ok(config.map_err(SetupError::Check)?.upstreams)
    }

    /// What is new and what differs.
    #[must_use]
    pub fn changes(&self, listed: Vec<(UpstreamName, ListingResult)>) -> Changes {
        let mut changes = Changes::default();
        let mut answered = Vec::new();
        for (name, result) in listed {
            match result {
                Ok(tools) => answered.push((name, tools)),
                Err(problem) => drop(changes.away.insert(name, problem.to_string())),
            }
        }
        let names: BTreeSet<String> = answered.iter().map(|(name, _)| name.to_string()).collect();
        // The posture is that of the policy that is there; here only contracts are looked at.
        let (review, problems) = Review::of(Posture::Locked, answered, &ServerFolders::new());
        changes.problems = problems;
        let named = self.contracts_by_id();
        let mut contracts = review.contracts();
        for (id, contract) in &named {
            let server = id.as_str().split('.').next().unwrap_or_default();
            match contracts.get(id) {
                None if names.contains(server) => changes.missing.push(id.clone()),
                Some(now) if is_changed(contract, now) => {
                    changes.changed.push(id.clone());
                    let bound = contract.effects.unwrap_or(Effects::UNDECLARED);
                    if !now.effects.within(bound) {
                        changes.raised.insert(id.clone());
                    }
                }
                _ => {}
            }
        }
        contracts.retain(|id, _| !named.contains_key(id));
        // A contract that pins nothing would go on to count when the words are others, and the rule
        // that keeps such a tool away after a setup is not written here.
        let suspicious = review.suspicious().filter(|id| contracts.remove(*id).is_some());
        changes.suspicious = suspicious.cloned().collect();
        changes.new = contracts;
        changes
    }

    /// The contracts of single tools.
    fn contracts_by_id(&self) -> BTreeMap<CapabilityId, &Contract> {
        let entries = self.policy.contracts().capabilities.iter();
        let named = entries.filter_map(|(pattern, contract)| {
            Some((CapabilityId::parse(pattern.as_str()).ok()?, contract))
        });
        named.collect()
    }

    /// Writes what is new and signs it.
    ///
    /// # Errors
    /// [`SetupError`]; the gateway is then as it was, or has the new contracts and not the new
    /// servers, which is whole as well.
    pub fn apply(
        &self,
        selection: &Selection,
        changes: &Changes,
        key: &SigningKey,
        now: Timestamp,
    ) -> Result<(), SetupError> {
        // What an interrupted update left.
        let _ = fs::remove_dir_all(self.config.folder.with_file_name(STAGED));
        if !changes.new.is_empty() {
            let staged = self.staged(changes, key, now)?;
            let exchanged = exchange(&staged, &self.config.folder);
            interruption::step();
            let _ = fs::remove_dir_all(&staged);
            exchanged.map_err(system("put the new documents into", &self.config.folder))?;
        }
        if selection.servers.is_empty() {
            return Ok(());
        }
        let secrets = self.secrets_file();
        if selection.has_secrets_file() {
            let text = self.secrets_text(selection)?;
            replace_file(&secrets, &text).map_err(system("write", &secrets))?;
        }
        let text = self.config_text(selection);
        replace_file(&self.config.file, &text).map_err(system("write", &self.config.file))?;
        config::check(&self.config.file, now).map_err(SetupError::Check).map(|_| ())
    }

    /// The folder of the documents with the new contracts, signed and checked, beside the old one.
    fn staged(
        &self,
        changes: &Changes,
        key: &SigningKey,
        now: Timestamp,
    ) -> Result<PathBuf, SetupError> {
        let staged = copy_of(&self.config.folder, "contracts.")?;
        let signer = Signer { folder: &staged, key, now };
        signer.write(Kind::Contracts, &self.contracts_text(changes)?)?;
        let config = Config { folder: staged.clone(), ..self.config.clone() };
        config::load_policy(&config, config::SignatureChecks::Required, now)
            .map_err(SetupError::Check)?;
        Ok(staged)
    }

    fn contracts_text(&self, changes: &Changes) -> Result<String, SetupError> {
        let path = self.config.folder.join("contracts.toml");
        let version = self.policy.contracts().version.saturating_add(1);
        let by_hand = |reason| SetupError::ByHand { path: path.clone(), reason };
        let text = with_version(&self.contracts, version)
            .ok_or_else(|| by_hand("its version is not on a line of its own"))?;
        let fresh = documents::contracts(&changes.new);
        let (_, entries) = fresh
            .split_once("version = 1\n")
            .ok_or_else(|| by_hand("the new entries cannot be told from their head"))?;
        let end = if text.ends_with('\n') { "" } else { "\n" };
        Ok(format!("{text}{end}{entries}"))
    }

    fn config_text(&self, selection: &Selection) -> String {
        let mut text = self.text.clone();
        if selection.has_secrets_file() && self.config.environment_file.is_none() {
            // A key of the root stands before all tables.
            let lines = text.split_inclusive('\n');
            let head = lines.take_while(|line| line.starts_with('#') || line.trim().is_empty());
            let head: usize = head.map(str::len).sum();
            text.insert_str(head, &format!("environment = \"{SECRETS}\"\n\n"));
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
        own.unwrap_or_else(|| self.config.base().join(SECRETS))
    }

    fn secrets_text(&self, selection: &Selection) -> Result<String, SetupError> {
        let path = self.secrets_file();
        match fs::read_to_string(&path) {
            Ok(text) => {
                let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
                Ok(format!("{text}{end}{}", secrets::lines(&selection.secrets)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(secrets::file_text(&selection.secrets))
            }
            Err(error) => Err(system("read", &path)(error)),
        }
    }
}

/// Whether a tool is another than the one that its contract pins.
fn is_changed(contract: &Contract, now: &Proposal) -> bool {
    contract.upstream_digest.is_some() && now.upstream_digest != contract.upstream_digest
}

/// A copy of a folder of documents beside it, without the files whose names begin so.
pub(super) fn copy_of(folder: &Path, except: &str) -> Result<PathBuf, SetupError> {
    let staged = folder.with_file_name(STAGED);
    match fs::remove_dir_all(&staged) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(system("remove", &staged)(error));
        }
        _ => {}
    }
    fs::create_dir(&staged).map_err(system("make", &staged))?;
    let entries = fs::read_dir(folder).map_err(system("read", folder))?;
    for from in entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()) {
        let name = file_name(&from);
        if !name.starts_with(except) {
            fs::copy(&from, staged.join(&name)).map_err(system("copy", &from))?;
        }
    }
    Ok(staged)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The text with another version, where that stands on a line of its own.
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

/// Lets two folders change places, in one step where the system can.
pub(super) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        if renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok() {
            return Ok(());
        }
    }
    let aside = other.with_file_name(format!("{STAGED}-old"));
    let _ = fs::remove_dir_all(&aside);
    fs::rename(other, &aside)?;
    if let Err(error) = fs::rename(one, other) {
        fs::rename(&aside, other)?;
        return Err(error);
    }
    fs::remove_dir_all(aside)
}
