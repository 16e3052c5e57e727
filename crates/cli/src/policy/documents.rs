//! Loads the documents that a command examines.

use std::path::{Path, PathBuf};

use weaver_gateway::{bounded_file, config};
use weaver_policy::{DocumentSource, DocumentSources, MAX_DOCUMENT_BYTES, PolicySet};
use weaver_types::{PolicyOrigin, Timestamp};

use super::args::Documents;
use crate::{Exit, Failure};

/// Used as the keys document if none is given.
const NO_KEYS: &str = "kind = \"keys\"\nformat = 1\nid = \"none\"\nversion = 1\n";

/// A policy set, and whether a keys document was given with it.
pub(crate) struct LoadedDocuments {
    pub(crate) set: PolicySet,
    pub(super) with_keys: bool,
}

/// Loads the documents that the arguments name.
pub(super) fn load(args: &Documents, now: Timestamp) -> Result<LoadedDocuments, Failure> {
    match (&args.policy, &args.contracts) {
        (Some(policy), Some(contracts)) => load_files(policy, contracts, args.keys.as_deref(), now),
        _ => load_configured(&args.config.path(), now),
    }
}

/// Loads the documents of a configuration. Their signatures are verified if possible; invalid ones
/// do not stop the command.
fn load_configured(path: &Path, now: Timestamp) -> Result<LoadedDocuments, Failure> {
    let config = config::load(path).map_err(|error| {
        Failure::from(error)
            .with_next_step("name the documents instead: --policy FILE --contracts FILE")
    })?;
    let signed = config::load_policy(&config, config::SignatureChecks::Required, now);
    let set =
        signed.or_else(|_| config::load_policy(&config, config::SignatureChecks::Skipped, now))?;
    Ok(LoadedDocuments { set, with_keys: true })
}

/// Loads documents from files, without verifying signatures.
pub(crate) fn load_files(
    policy: &Path,
    contracts: &Path,
    keys: Option<&Path>,
    now: Timestamp,
) -> Result<LoadedDocuments, Failure> {
    let keys_name = keys.map_or_else(|| "no keys".to_owned(), |path| path.display().to_string());
    let keys_text = keys.map_or_else(|| Ok(NO_KEYS.to_owned()), document_text)?;
    let set =
        load_unsigned(policy, contracts, DocumentSource::unsigned(&keys_name, &keys_text), now)?;
    Ok(LoadedDocuments { set, with_keys: keys.is_some() })
}

/// Loads a policy from its text, with contracts from a file.
pub(super) fn load_policy_text(
    policy: &str,
    contracts: &Path,
    now: Timestamp,
) -> Result<PolicySet, Failure> {
    let name = contracts.display().to_string();
    let contracts = document_text(contracts)?;
    let sources = DocumentSources {
        policy: DocumentSource::unsigned("policy", policy),
        contracts: DocumentSource::unsigned(&name, &contracts),
        keys: DocumentSource::unsigned("no keys", NO_KEYS),
    };
    Ok(PolicySet::load_unsigned_development(&sources, now)?)
}

/// Like [`load_files`], with a keys document from its text.
pub(crate) fn load_with_keys(
    policy: &Path,
    contracts: &Path,
    keys: &str,
    now: Timestamp,
) -> Result<PolicySet, Failure> {
    load_unsigned(policy, contracts, DocumentSource::unsigned("keys", keys), now)
}

fn load_unsigned(
    policy: &Path,
    contracts: &Path,
    keys: DocumentSource<'_>,
    now: Timestamp,
) -> Result<PolicySet, Failure> {
    let name = |path: &Path| path.display().to_string();
    let (policy_name, contracts_name) = (name(policy), name(contracts));
    let (policy, contracts) = (document_text(policy)?, document_text(contracts)?);
    let sources = DocumentSources {
        policy: DocumentSource::unsigned(&policy_name, &policy),
        contracts: DocumentSource::unsigned(&contracts_name, &contracts),
        keys,
    };
    Ok(PolicySet::load_unsigned_development(&sources, now)?)
}

/// Loads a folder with the documents, or a policy with the given contracts.
pub(super) fn load_folder_or_policy(
    path: &Path,
    contracts: Option<&PathBuf>,
    now: Timestamp,
) -> Result<PolicySet, Failure> {
    let loaded = match (path.is_dir(), contracts) {
        (true, _) => {
            let keys = path.join("keys.toml");
            let keys = keys.exists().then_some(keys);
            let (policy, own) = (path.join("policy.toml"), path.join("contracts.toml"));
            load_files(&policy, contracts.unwrap_or(&own), keys.as_deref(), now)
        }
        (false, Some(contracts)) => load_files(path, contracts, None, now),
        (false, None) => {
            let message = format!("{}: this is not a folder with documents", path.display());
            let failure = Failure::new(Exit::Usage, "policy.no_contracts", message);
            Err(failure.with_next_step("name a folder, or the contracts with --contracts FILE"))
        }
    };
    loaded.map(|loaded| loaded.set)
}

/// The text of a document.
fn document_text(path: &Path) -> Result<String, Failure> {
    read_file(path, MAX_DOCUMENT_BYTES)
}

/// The text of a file, up to a size.
pub(super) fn read_file(path: &Path, max: usize) -> Result<String, Failure> {
    bounded_file::read_text(path, max).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        Failure::new(Exit::Invalid, "policy.unreadable", message)
            .with_next_step("name a file that is there")
    })
}

/// The origin of the documents, in one word.
pub(crate) fn origin_name(set: &PolicySet) -> &'static str {
    match set.basis().origin {
        PolicyOrigin::Signed => "signed",
        PolicyOrigin::Code => "code",
        PolicyOrigin::UnsignedDevelopment => "unsigned_development",
    }
}
