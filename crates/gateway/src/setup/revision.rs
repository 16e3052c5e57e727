//! A new version of the policy of a gateway that is there.
//!
//! The document keeps every byte that the change does not touch: rules are added at its end, and
//! exceptions are put into the rules that they are about. The signed folder is exchanged as a whole,
//! so that the gateway sees either the old policy or the new one.

use std::io;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use weaver_policy::{MAX_BYTES, PolicySet, Source, Sources, TrustedDestination};
use weaver_types::Timestamp;
use weaver_types::signature::{Kind, SigningKey};

use super::documents::ROOT_KEY;
use super::error::{SetupError, system};
use super::folder::Signer;
use super::update::{copy_of, exchange, with_version};
use crate::bounded_file;
use crate::config::{self, Config};

const POLICY: &str = "policy.toml";

/// The policy of a gateway, to be changed and signed again.
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
    /// [`SetupError::Check`], where it does not pass the check as it is.
    pub fn open(file: &Path, now: Timestamp) -> Result<Self, SetupError> {
        let (config, policy) = config::check(file, now).map_err(SetupError::Check)?;
        let read = |name: &str| {
            let path = config.folder.join(name);
            bounded_file::text(&path, MAX_BYTES)
                .map_err(|error| system("read", &path)(io::Error::other(error.to_string())))
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

    /// Where the root key is, unless it was moved.
    #[must_use]
    pub fn root_key(&self) -> PathBuf {
        self.config.base().join(ROOT_KEY)
    }

    /// A draft with the other documents in force.
    ///
    /// # Errors
    /// [`SetupError::Documents`] with everything that is wrong in it.
    pub fn draft(&self, text: &str, now: Timestamp) -> Result<PolicySet, SetupError> {
        let sources = Sources {
            policy: Source::unsigned(POLICY, text),
            contracts: Source::unsigned("contracts.toml", &self.contracts),
            keys: Source::unsigned("keys.toml", &self.keys),
        };
        PolicySet::load_unsigned_development(&sources, now)
            .map_err(|error| SetupError::Documents(error.findings().to_vec()))
    }

    /// The text with a version above that of the policy in force; as it is where it has one.
    ///
    /// # Errors
    /// [`SetupError::ByHand`], where its version is not on a line of its own.
    pub fn raised(&self, text: &str, now: Timestamp) -> Result<String, SetupError> {
        let current = self.policy.policy().version;
        if self.draft(text, now)?.policy().version > current {
            return Ok(text.to_owned());
        }
        with_version(text, current.saturating_add(1))
            .ok_or_else(|| self.by_hand("its version is not on a line of its own"))
    }

    /// The policy with a rule more, and an exception from each of the named rules.
    ///
    /// # Errors
    /// [`SetupError::ByHand`], where a named rule is written so that no exception can be put in.
    pub fn with_rule(
        &self,
        rule: &str,
        exception: &str,
        stopped_by: &[String],
    ) -> Result<String, SetupError> {
        let mut text = self.text.clone();
        for name in stopped_by {
            text = with_exception(&text, name, exception).ok_or_else(|| {
                self.by_hand("a rule that stops the call is written so that no exception fits in")
            })?;
        }
        let end = if text.ends_with('\n') { "" } else { "\n" };
        Ok(format!("{text}{end}\n{rule}"))
    }

    /// The policy with one more host from which a run may read after untrusted input.
    ///
    /// # Errors
    /// [`SetupError::ByHand`], where neither the list nor the version is written so that it fits in.
    pub fn with_destination(&self, destination: &TrustedDestination) -> Result<String, SetupError> {
        with_destination(&self.text, destination)
            .ok_or_else(|| self.by_hand("it has no place for `trusted_destinations`"))
    }

    /// Signs the text and puts it into force.
    ///
    /// # Errors
    /// [`SetupError`]; the gateway is then as it was.
    pub fn apply(&self, text: &str, key: &SigningKey, now: Timestamp) -> Result<(), SetupError> {
        let folder = &self.config.folder;
        let staged = copy_of(folder, "policy.")?;
        let signer = Signer { folder: &staged, key, now };
        let signed = signer.write(Kind::Policy, text).and_then(|()| {
            let config = Config { folder: staged.clone(), ..self.config.clone() };
            config::load_policy(&config, config::SignatureChecks::Required, now)
                .map_err(SetupError::Check)?;
            exchange(&staged, folder).map_err(system("put the new policy into", folder))
        });
        let _ = std::fs::remove_dir_all(&staged);
        signed
    }

    fn by_hand(&self, reason: &'static str) -> SetupError {
        SetupError::ByHand { path: self.config.folder.join(POLICY), reason }
    }
}

/// The text with an exception in the rule of this name: under `unless`, or under `not` where that is
/// taken. `None` where the rule has both, or writes its match as a table of its own.
fn with_exception(text: &str, name: &str, exception: &str) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let rules = member(document.get_ref(), "rules")?;
    let DeValue::Array(rules) = rules.get_ref() else { return None };
    let mut tables = rules.iter().filter_map(|rule| rule.get_ref().as_table());
    let is_named = |rule: &&DeTable<'_>| {
        member(rule, "name").and_then(|value| value.get_ref().as_str()) == Some(name)
    };
    let rule = tables.find(is_named)?;
    let matches = member(rule, "match")?;
    let table = matches.get_ref().as_table()?;
    let key = ["unless", "not"].into_iter().find(|key| member(table, key).is_none())?;
    let span = matches.span();
    let written = text.get(span.clone())?;
    let (at, inserted) = if written.starts_with('{') && written.ends_with('}') {
        let inner = written.get(1..written.len().checked_sub(1)?)?.trim();
        let comma = if inner.is_empty() || inner.ends_with(',') { "" } else { "," };
        (span.end.checked_sub(1)?, format!("{comma} {key} = {exception} "))
    } else {
        // Dotted keys: one more line below the name.
        let name = member(rule, "name")?.span();
        let line = text.get(name.end..)?.find('\n')?;
        (name.end.checked_add(line)?.checked_add(1)?, format!("match.{key} = {exception}\n"))
    };
    let (before, after) = text.split_at_checked(at)?;
    Some(format!("{}{inserted}{after}", before.trim_end_matches(' ')))
}

/// The text with one more trusted destination: at the head of the list, before what comments there
/// are in it, or in a new one below the version.
fn with_destination(text: &str, destination: &TrustedDestination) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let root = document.get_ref();
    let (at, inserted) = match member(root, "trusted_destinations") {
        Some(list) => {
            let DeValue::Array(items) = list.get_ref() else { return None };
            let more = if items.is_empty() { "" } else { ", " };
            (list.span().start.checked_add(1)?, format!("\"{destination}\"{more}"))
        }
        None => {
            let version = member(root, "version")?.span();
            let line = text.get(version.end..)?.find('\n')?;
            let at = version.end.checked_add(line)?.checked_add(1)?;
            (at, format!("trusted_destinations = [\"{destination}\"]\n"))
        }
    };
    let (before, after) = text.split_at_checked(at)?;
    Some(format!("{before}{inserted}{after}"))
}

fn member<'t, 'i>(table: &'t DeTable<'i>, name: &str) -> Option<&'t Spanned<DeValue<'i>>> {
    table.iter().find(|(key, _)| key.get_ref().as_ref() == name).map(|(_, value)| value)
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
