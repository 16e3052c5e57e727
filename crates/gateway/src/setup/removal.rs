//! Removes servers from a gateway's configuration.
//!
//! Only `weaver.toml` and the file of secrets change, so no key is needed. The contracts and rules of
//! a removed server stay signed and have no effect; if the server is taken in again, they count
//! again.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::error::{SetupError, io_error};
use super::server_matcher::UNKNOWN_VALUE;
use crate::bounded_file;
use crate::clients::{replace_file, without_toml_servers};
use crate::config::{self, Config};

/// The table of servers.
const SERVERS: &str = "mcpServers";

/// The files of a gateway without some of its servers.
#[derive(Debug)]
pub struct ServerRemoval {
    config: Config,
    old_text: String,
    text: String,
    secrets: Option<SecretsRemoval>,
}

/// The file of secrets without the variables that only removed servers name.
#[derive(Debug)]
struct SecretsRemoval {
    path: PathBuf,
    text: String,
    variables: Vec<String>,
}

impl ServerRemoval {
    /// Plans to remove these servers, all of which are in the configuration.
    ///
    /// # Errors
    /// [`SetupError`], if their sections cannot be taken out, or something else needs them.
    pub fn plan(config: Config, names: &[String]) -> Result<Self, SetupError> {
        let file = config.file.clone();
        let old_text = read(&file)?;
        let by_hand = |reason| SetupError::NeedsManualEdit { path: file.clone(), reason };
        let text = without_toml_servers(&old_text, &[SERVERS.to_owned()], names)
            .ok_or_else(|| by_hand("the servers are written in a form that cannot be edited"))?;
        if text == old_text {
            return Err(by_hand("the servers are in another file, which it names"));
        }
        let secrets = SecretsRemoval::plan(&config, &old_text, &text)?;
        let removal = Self { config, old_text, text, secrets };
        removal.check()?;
        Ok(removal)
    }

    /// The path, the old and the new text of the configuration.
    #[must_use]
    pub fn change(&self) -> (&Path, &str, &str) {
        (&self.config.file, &self.old_text, &self.text)
    }

    /// The secrets that are removed too, by the names of their variables.
    #[must_use]
    pub fn variables(&self) -> &[String] {
        self.secrets.as_ref().map_or(&[], |secrets| &secrets.variables)
    }

    /// Replaces the files. A running gateway ends the servers by itself.
    ///
    /// # Errors
    /// [`SetupError`]; then the configuration is unchanged, or has been replaced and the secrets are
    /// still there.
    pub fn apply(&self) -> Result<(), SetupError> {
        let file = &self.config.file;
        self.config.note_replacement(&self.text).map_err(io_error("note the change of", file))?;
        replace_file(file, &self.text).map_err(io_error("write", file))?;
        if let Some(SecretsRemoval { path, text, .. }) = &self.secrets {
            replace_file(path, text).map_err(io_error("write", path))?;
        }
        Ok(())
    }

    /// Whether the gateway could start with the new text.
    fn check(&self) -> Result<(), SetupError> {
        let removed = self.variables();
        let lookup = |name: &str| match std::env::var(name) {
            Ok(value) => Some(value),
            // A variable of the gateway's own environment may be unknown here; a secret that goes
            // is not there.
            Err(_) => {
                let is_removed = removed.iter().any(|removed| removed == name);
                (!is_removed).then(|| UNKNOWN_VALUE.to_owned())
            }
        };
        let checked = config::load_text_with(&self.config.file, &self.text, &lookup);
        checked.map(drop).map_err(SetupError::Check)
    }
}

impl SecretsRemoval {
    /// `None` if no variable becomes unused.
    fn plan(config: &Config, old_text: &str, text: &str) -> Result<Option<Self>, SetupError> {
        let Some(path) = config.environment_file.clone() else { return Ok(None) };
        let secrets = read(&path)?;
        // The other file of servers names variables too, and is not changed here.
        let other_servers =
            config.servers_file.as_deref().map(read).transpose()?.unwrap_or_default();
        let mut still_named = named_variables(text);
        still_named.extend(named_variables(&other_servers));
        let unused: BTreeSet<&str> =
            named_variables(old_text).difference(&still_named).copied().collect();
        let is_unused = |line: &str| {
            let name = line.split_once('=').map(|(name, _)| name.trim());
            name.is_some_and(|name| unused.contains(name))
        };
        let (gone, kept): (Vec<&str>, Vec<&str>) =
            secrets.split_inclusive('\n').partition(|line| is_unused(line));
        let names = gone.iter().filter_map(|line| line.split_once('='));
        let variables: Vec<String> = names.map(|(name, _)| name.trim().to_owned()).collect();
        let text = kept.concat();
        Ok((!variables.is_empty()).then_some(Self { path, text, variables }))
    }
}

/// The variables that a configuration names: `${NAME}`, `${env:NAME}`, `${NAME:-default}`.
fn named_variables(text: &str) -> BTreeSet<&str> {
    let references = text.split("${").skip(1);
    let names = references.filter_map(|rest| {
        let inner = rest.split_once('}')?.0;
        let inner = inner.strip_prefix("env:").unwrap_or(inner);
        Some(inner.split_once(":-").map_or(inner, |(name, _)| name))
    });
    names.collect()
}

fn read(path: &Path) -> Result<String, SetupError> {
    bounded_file::read_text(path, config::MAX_CONFIG_BYTES)
        .map_err(|error| io_error("read", path)(io::Error::other(error.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_variables_are_read_in_each_form() {
        let text = "a = \"${ONE}\"\nb = [\"${env:TWO}\", \"x${THREE:-y}z\"]\nc = \"${open\"\n";
        assert_eq!(named_variables(text), BTreeSet::from(["ONE", "THREE", "TWO"]));
    }

    #[test]
    fn a_section_goes_with_its_comments_and_its_parts() {
        let text = "# head\n\n[mcpServers.a]\ncommand = \"a\"\n\n# From x, `b` in y\n# mine\n[mcpServers.b]\n\
            command = \"b\"\n[mcpServers.b.confine]\nopen_files = 4\n\n# of c\n[mcpServers.c]\ncommand = \"c\"\n";
        let keys = [SERVERS.to_owned()];
        let rest = without_toml_servers(text, &keys, &["b".to_owned()]).unwrap();
        assert_eq!(
            rest,
            "# head\n\n[mcpServers.a]\ncommand = \"a\"\n\n\n# of c\n[mcpServers.c]\ncommand = \"c\"\n"
        );
        assert_eq!(without_toml_servers(text, &keys, &["z".to_owned()]).unwrap(), text);
    }
}
