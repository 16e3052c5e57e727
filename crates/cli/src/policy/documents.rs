//! The documents that are looked at.

use std::path::{Path, PathBuf};

use weaver_gateway::{bounded_file, config};
use weaver_policy::{MAX_BYTES, PolicySet, Source, Sources};
use weaver_types::{Origin, Timestamp};

use super::args::Documents;
use crate::{Exit, Failure};

/// What stands for keys where none are given.
const NO_KEYS: &str = "kind = \"keys\"\nformat = 1\nid = \"none\"\nversion = 1\n";

/// A set, and whether somebody gave a keys document with it.
pub(crate) struct LoadedDocuments {
    pub(crate) set: PolicySet,
    pub(super) with_keys: bool,
}

/// Reads what the arguments name.
pub(super) fn load(args: &Documents, now: Timestamp) -> Result<LoadedDocuments, Failure> {
    match (&args.policy, &args.contracts) {
        (Some(policy), Some(contracts)) => files(policy, contracts, args.keys.as_deref(), now),
        _ => configured(&args.config, now),
    }
}

/// Signed documents count as signed; others are read all the same.
fn configured(path: &Path, now: Timestamp) -> Result<LoadedDocuments, Failure> {
    let config = config::load(path).map_err(|error| {
        Failure::from(error).next("name the documents instead: --policy FILE --contracts FILE")
    })?;
    let signed = config::load_policy(&config, config::SignatureChecks::Required, now);
    let set =
        signed.or_else(|_| config::load_policy(&config, config::SignatureChecks::Skipped, now))?;
    Ok(LoadedDocuments { set, with_keys: true })
}

/// Documents of which nothing proves the origin.
pub(crate) fn files(
    policy: &Path,
    contracts: &Path,
    keys: Option<&Path>,
    now: Timestamp,
) -> Result<LoadedDocuments, Failure> {
    let keys_name = keys.map_or_else(|| "no keys".to_owned(), |path| path.display().to_string());
    let keys_text = keys.map_or_else(|| Ok(NO_KEYS.to_owned()), text)?;
    let set = unsigned(policy, contracts, Source::unsigned(&keys_name, &keys_text), now)?;
    Ok(LoadedDocuments { set, with_keys: keys.is_some() })
}

/// A policy that stands in no file, with contracts that do.
pub(super) fn with_contracts(
    policy: &str,
    contracts: &Path,
    now: Timestamp,
) -> Result<PolicySet, Failure> {
    let name = contracts.display().to_string();
    let contracts = text(contracts)?;
    let sources = Sources {
        policy: Source::unsigned("policy", policy),
        contracts: Source::unsigned(&name, &contracts),
        keys: Source::unsigned("no keys", NO_KEYS),
    };
    Ok(PolicySet::load_unsigned_development(&sources, now)?)
}

/// The same, with a keys document that stands in no file.
pub(crate) fn with_keys(
    policy: &Path,
    contracts: &Path,
    keys: &str,
    now: Timestamp,
) -> Result<PolicySet, Failure> {
    unsigned(policy, contracts, Source::unsigned("keys", keys), now)
}

fn unsigned(
    policy: &Path,
    contracts: &Path,
    keys: Source<'_>,
    now: Timestamp,
) -> Result<PolicySet, Failure> {
    let name = |path: &Path| path.display().to_string();
    let (policy_name, contracts_name) = (name(policy), name(contracts));
    let (policy, contracts) = (text(policy)?, text(contracts)?);
    let sources = Sources {
        policy: Source::unsigned(&policy_name, &policy),
        contracts: Source::unsigned(&contracts_name, &contracts),
        keys,
    };
    Ok(PolicySet::load_unsigned_development(&sources, now)?)
}

/// A folder with the documents, or a policy with contracts given beside it.
pub(super) fn either(
    path: &Path,
    contracts: Option<&PathBuf>,
    now: Timestamp,
) -> Result<PolicySet, Failure> {
    let loaded = match (path.is_dir(), contracts) {
        (true, _) => {
            let keys = path.join("keys.toml");
            let keys = keys.exists().then_some(keys);
            let (policy, own) = (path.join("policy.toml"), path.join("contracts.toml"));
            files(&policy, contracts.unwrap_or(&own), keys.as_deref(), now)
        }
        (false, Some(contracts)) => files(path, contracts, None, now),
        (false, None) => {
            let message = format!("{}: this is no folder with documents", path.display());
            let failure = Failure::new(Exit::Usage, "policy.no_contracts", message);
            Err(failure.next("name a folder, or the contracts with --contracts FILE"))
        }
    };
    loaded.map(|loaded| loaded.set)
}

/// The text of a document.
fn text(path: &Path) -> Result<String, Failure> {
    read(path, MAX_BYTES)
}

/// The text of any file that was named.
pub(super) fn read(path: &Path, max: usize) -> Result<String, Failure> {
    bounded_file::text(path, max).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        Failure::new(Exit::Invalid, "policy.unreadable", message).next("name a file that is there")
    })
}

/// The origin in one word.
pub(crate) fn origin(set: &PolicySet) -> &'static str {
    match set.basis().origin {
        Origin::Signed => "signed",
        Origin::Code => "code",
        Origin::UnsignedDevelopment => "unsigned_development",
    }
}
