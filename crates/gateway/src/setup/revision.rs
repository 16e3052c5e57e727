//! A new version of an existing gateway's policy.
//!
//! The document keeps every byte that is not changed: rules are appended, and exceptions are
//! inserted into the rules that they concern. The signed folder is exchanged as a whole, so that
//! the gateway sees either the old policy or the new one.

use std::io;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};
use weaver_policy::{
    DocumentSource, DocumentSources, MAX_DOCUMENT_BYTES, PolicySet, TrustedDestination,
};
use weaver_types::Timestamp;
use weaver_types::signature::{DocumentKind, SigningKey};

use super::documents::ROOT_KEY;
use super::error::{SetupError, io_error};
use super::folder::DocumentSigner;
use super::folder_exchange::{copy_for_staging, exchange_folders};
use super::policy_text::{find_rule, table_entry};
use super::posture::Posture;
use super::posture_change;
use super::update::with_version;
use crate::bounded_file;
use crate::config::{self, Config};
use crate::private_file;

const POLICY: &str = "policy.toml";
/// The folder of drafts, in the gateway's private folder.
const DRAFTS: &str = "drafts";

/// An existing gateway's policy, to be changed and signed again.
pub struct PolicyRevision {
    config: Config,
    policy: PolicySet,
    text: String,
    contracts: String,
    keys: String,
}

impl PolicyRevision {
    /// Reads the gateway.
    ///
    /// # Errors
    /// [`SetupError::Check`], if it does not pass the check already.
    pub fn open(file: &Path, now: Timestamp) -> Result<Self, SetupError> {
        let (config, policy) = config::check(file, now).map_err(SetupError::Check)?;
        let read = |name: &str| {
            let path = config.documents_folder.join(name);
            bounded_file::read_text(&path, MAX_DOCUMENT_BYTES)
                .map_err(|error| io_error("read", &path)(io::Error::other(error.to_string())))
        };
        let (text, contracts, keys) = (read(POLICY)?, read("contracts.toml")?, read("keys.toml")?);
        Ok(Self { config, policy, text, contracts, keys })
    }

    /// The gateway's configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The documents in force.
    #[must_use]
    pub fn policy(&self) -> &PolicySet {
        &self.policy
    }

    /// The text of the policy in force.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The default location of the root key.
    #[must_use]
    pub fn root_key(&self) -> PathBuf {
        self.config.base().join(ROOT_KEY)
    }

    /// The folder for texts that are edited before they are signed, which servers are denied.
    ///
    /// # Errors
    /// [`SetupError`], if it cannot be made.
    pub fn draft_folder(&self) -> Result<PathBuf, SetupError> {
        let folder = self.config.private_folder().join(DRAFTS);
        let made = self.config.make_private_folder();
        let made = made.and_then(|_| private_file::create_own_folder(&folder));
        made.map_err(io_error("make", &folder))?;
        Ok(folder)
    }

    /// A policy set of this text with the other documents in force.
    ///
    /// # Errors
    /// [`SetupError::Documents`] with everything that is wrong in it.
    pub fn draft(&self, text: &str, now: Timestamp) -> Result<PolicySet, SetupError> {
        self.draft_of(text, &self.contracts, now)
    }

    /// A policy set of the policy in force with these contracts.
    ///
    /// # Errors
    /// As [`draft`](Self::draft).
    pub(super) fn with_contracts(
        &self,
        contracts: &str,
        now: Timestamp,
    ) -> Result<PolicySet, SetupError> {
        self.draft_of(&self.text, contracts, now)
    }

    fn draft_of(
        &self,
        policy: &str,
        contracts: &str,
        now: Timestamp,
    ) -> Result<PolicySet, SetupError> {
        let sources = DocumentSources {
            policy: DocumentSource::unsigned(POLICY, policy),
            contracts: DocumentSource::unsigned("contracts.toml", contracts),
            keys: DocumentSource::unsigned("keys.toml", &self.keys),
        };
        PolicySet::load_unsigned_development(&sources, now)
            .map_err(|error| SetupError::Documents(error.findings().to_vec()))
    }

    /// The text with a version above that of the policy in force; unchanged if its version is
    /// higher already.
    ///
    /// # Errors
    /// [`SetupError::NeedsManualEdit`], if its version is not on a line of its own.
    pub fn with_raised_version(&self, text: &str, now: Timestamp) -> Result<String, SetupError> {
        let current = self.policy.policy().version;
        if self.draft(text, now)?.policy().version > current {
            return Ok(text.to_owned());
        }
        with_version(text, current.saturating_add(1))
            .ok_or_else(|| self.manual_edit_error("its version is not on a line of its own"))
    }

    /// The policy with an additional rule, and an exception in each of the named rules.
    ///
    /// # Errors
    /// [`SetupError::NeedsManualEdit`], if a named rule is written so that no exception can be
    /// inserted.
    pub fn with_rule(
        &self,
        rule: &str,
        exception: &str,
        stopped_by: &[String],
    ) -> Result<String, SetupError> {
        let mut text = self.text.clone();
        for name in stopped_by {
            text = with_exception(&text, name, exception).ok_or_else(|| {
                self.manual_edit_error(
                    "a rule that stops the call is written so that no exception fits in",
                )
            })?;
        }
        let end = if text.ends_with('\n') { "" } else { "\n" };
        Ok(format!("{text}{end}\n{rule}"))
    }

    /// The policy with one more host from which a run may read after untrusted input.
    ///
    /// # Errors
    /// [`SetupError::NeedsManualEdit`], if neither list nor version is written so that it can be
    /// inserted.
    pub fn with_destination(&self, destination: &TrustedDestination) -> Result<String, SetupError> {
        with_destination(&self.text, destination)
            .ok_or_else(|| self.manual_edit_error("it has no place for `trusted_destinations`"))
    }

    /// The policy under another posture. What a person chose or wrote stays.
    ///
    /// # Errors
    /// [`SetupError`], if the policy is written so that this cannot be changed here.
    pub fn with_posture(&self, posture: Posture, now: Timestamp) -> Result<String, SetupError> {
        let cannot = || self.manual_edit_error("its rules are not those of a posture");
        let text = posture_change::with_posture(&self.text, &self.policy, posture);
        let text = text.ok_or_else(cannot)?;
        match Posture::of(&self.draft(&text, now)?) == posture {
            true => Ok(text),
            false => Err(cannot()),
        }
    }

    /// Signs the text and puts it into force.
    ///
    /// # Errors
    /// [`SetupError`]; then the gateway is unchanged.
    pub fn apply(&self, text: &str, key: &SigningKey, now: Timestamp) -> Result<(), SetupError> {
        let folder = &self.config.documents_folder;
        let staging = copy_for_staging(&self.config, &["policy."])?;
        let signer = DocumentSigner { folder: &staging, key, now };
        let signed = signer.write(DocumentKind::Policy, text).and_then(|()| {
            let config = Config { documents_folder: staging.clone(), ..self.config.clone() };
            config::load_policy(&config, config::SignatureChecks::Required, now)
                .map_err(SetupError::Check)?;
            exchange_folders(&staging, folder).map_err(io_error("put the new policy into", folder))
        });
        let _ = std::fs::remove_dir_all(&staging);
        signed
    }

    fn manual_edit_error(&self, reason: &'static str) -> SetupError {
        SetupError::NeedsManualEdit { path: self.config.documents_folder.join(POLICY), reason }
    }
}

/// Inserts an exception into the rule of this name: as `unless`, or as `not` if `unless` is
/// present. `None` if the rule has both, or writes its match as a separate table.
pub(super) fn with_exception(text: &str, name: &str, exception: &str) -> Option<String> {
    let (at, inserted) = find_rule(text, name, |rule| {
        let matches = table_entry(rule, "match")?;
        let table = matches.get_ref().as_table()?;
        let key = ["unless", "not"].into_iter().find(|key| table_entry(table, key).is_none())?;
        let span = matches.span();
        let written = text.get(span.clone())?;
        if written.starts_with('{') && written.ends_with('}') {
            let inner = written.get(1..written.len().checked_sub(1)?)?.trim();
            let comma = if inner.is_empty() || inner.ends_with(',') { "" } else { "," };
            return Some((span.end.checked_sub(1)?, format!("{comma} {key} = {exception} ")));
        }
        // Dotted keys: insert a line below the name.
        let name = table_entry(rule, "name")?.span();
        let line = text.get(name.end..)?.find('\n')?;
        Some((name.end.checked_add(line)?.checked_add(1)?, format!("match.{key} = {exception}\n")))
    })?;
    let (before, after) = text.split_at_checked(at)?;
    Some(format!("{}{inserted}{after}", before.trim_end_matches(' ')))
}

/// Inserts a trusted destination: at the beginning of the list, before any comments in it, or as a
/// new list below the version.
fn with_destination(text: &str, destination: &TrustedDestination) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let root = document.get_ref();
    let (at, inserted) = match table_entry(root, "trusted_destinations") {
        Some(list) => {
            let DeValue::Array(items) = list.get_ref() else { return None };
            let more = if items.is_empty() { "" } else { ", " };
            (list.span().start.checked_add(1)?, format!("\"{destination}\"{more}"))
        }
        None => {
            let version = table_entry(root, "version")?.span();
            let line = text.get(version.end..)?.find('\n')?;
            let at = version.end.checked_add(line)?.checked_add(1)?;
            (at, format!("trusted_destinations = [\"{destination}\"]\n"))
        }
    };
    let (before, after) = text.split_at_checked(at)?;
    Some(format!("{before}{inserted}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_goes_into_the_list_or_below_the_version() {
        let docs = TrustedDestination::parse("docs.rs").unwrap();
        for (text, wanted) in [
            (
                "version = 1 # one\n[a]\n",
                "version = 1 # one\ntrusted_destinations = [\"docs.rs\"]\n[a]\n",
            ),
            ("trusted_destinations = []\n", "trusted_destinations = [\"docs.rs\"]\n"),
            ("trusted_destinations = [\"a\"]\n", "trusted_destinations = [\"docs.rs\", \"a\"]\n"),
            (
                "trusted_destinations = [\n \"a\", # mine\n]\n",
                "trusted_destinations = [\"docs.rs\", \n \"a\", # mine\n]\n",
            ),
        ] {
            assert_eq!(with_destination(text, &docs).as_deref(), Some(wanted));
        }
        assert_eq!(with_destination("[a]\n", &docs), None);
    }

    #[test]
    fn an_exception_goes_where_the_rule_keeps_its_match() {
        for (rule, wanted) in [
            ("match = { rung = [\"L4\"] }", "match = { rung = [\"L4\"], unless = { x = 1 } }"),
            ("match = {}", "match = { unless = { x = 1 } }"),
            ("match = { unless = { y = 1 } }", "match = { unless = { y = 1 }, not = { x = 1 } }"),
        ] {
            let text = format!("[[rules]]\nname = \"a\"\n{rule}\neffect = \"deny\"\n");
            let found = with_exception(&text, "a", "{ x = 1 }").unwrap();
            assert!(found.contains(wanted), "{found}");
        }
        let dotted =
            "[[rules]]\nname = \"a\" # mine\nmatch.capability = \"x\"\neffect = \"deny\"\n";
        let found = with_exception(dotted, "a", "{ x = 1 }").unwrap();
        let wanted = "name = \"a\" # mine\nmatch.unless = { x = 1 }\nmatch.capability = \"x\"\n";
        assert!(found.contains(wanted), "{found}");
        assert_eq!(with_exception(dotted, "b", "{}"), None);
        let both = "[[rules]]\nname = \"a\"\nmatch = { not = {}, unless = {} }\n";
        assert_eq!(with_exception(both, "a", "{}"), None);
    }
}
