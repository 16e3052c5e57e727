//! Where secrets found in clients' files are stored: in a file of variables or a keychain.

use std::collections::BTreeMap;

use super::selection::{SelectedServer, Selection};
use crate::clients::ServerTransport;
use crate::secret::{Keychain, KeychainError};

/// How many entry names are tried for one secret.
const MAX_NAMES: usize = 100;

/// Where secrets are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SecretLocation {
    /// A file of variables next to the keys, readable by this user only.
    #[default]
    EnvironmentFile,
    /// The system's keychain.
    Keychain,
}

impl SecretLocation {
    /// Its name on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EnvironmentFile => "env",
            Self::Keychain => "keychain",
        }
    }

    /// Parses its name.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::EnvironmentFile, Self::Keychain].into_iter().find(|place| place.as_str() == word)
    }
}

impl Selection {
    /// Whether secrets are stored in the file of variables.
    #[must_use]
    pub fn has_secrets_file(&self) -> bool {
        !self.secrets.is_empty() && self.secret_location == SecretLocation::EnvironmentFile
    }

    /// Stores the secrets in a keychain, and replaces references to their variables. An existing
    /// entry with another value is left alone, because it belongs to somebody else.
    ///
    /// # Errors
    /// [`KeychainError`]; then selection and keychain are unchanged.
    pub fn store_secrets_in(&mut self, keychain: &dyn Keychain) -> Result<(), KeychainError> {
        let mut entries = BTreeMap::new();
        let mut added = Vec::new();
        for secret in &self.secrets {
            match store_secret(keychain, &secret.variable, &secret.value) {
                Ok(entry) => {
                    if entry.is_new {
                        added.push(entry.name.clone());
                    }
                    entries.insert(secret.variable.clone(), entry.name);
                }
                Err(error) => {
                    // If the keychain cannot remove entries either, nothing more can be done.
                    added.iter().for_each(|name| drop(keychain.remove(name)));
                    return Err(error);
                }
            }
        }
        for secret in &mut self.secrets {
            let Some(entry) = entries.get(&secret.variable) else { continue };
            for server in self.servers.iter_mut().filter(|server| server.name == secret.server) {
                replace_reference(server, &secret.variable, entry);
            }
            secret.variable.clone_from(entry);
        }
        self.secret_location = SecretLocation::Keychain;
        Ok(())
    }
}

/// An entry of a keychain.
struct KeychainEntry {
    name: String,
    is_new: bool,
}

/// Stores a secret under its own name, or under the next name that is free or has the same value.
fn store_secret(
    keychain: &dyn Keychain,
    variable: &str,
    value: &str,
) -> Result<KeychainEntry, KeychainError> {
    let numbered = (2..MAX_NAMES).map(|number| format!("{variable}_{number}"));
    for name in std::iter::once(variable.to_owned()).chain(numbered) {
        match keychain.read(&name)? {
            Some(known) if known.as_str() == value => {
                return Ok(KeychainEntry { name, is_new: false });
            }
            Some(_) => {}
            None => {
                keychain.write(&name, value)?;
                return Ok(KeychainEntry { name, is_new: true });
            }
        }
    }
    Err(KeychainError::Unusable { reason: "all names like it are taken" })
}

/// Replaces the variable by the keychain entry everywhere in the server's entry.
fn replace_reference(server: &mut SelectedServer, variable: &str, entry: &str) {
    let (from, to) = (format!("${{{variable}}}"), format!("${{keychain:{entry}}}"));
    let replace = |text: &mut String| *text = text.replace(&from, &to);
    match &mut server.entry.transport {
        ServerTransport::Program { args, env, .. } => {
            args.iter_mut().chain(env.values_mut()).for_each(replace);
        }
        ServerTransport::Address { headers, .. } => headers.values_mut().for_each(replace),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use zeroize::Zeroizing;

    use super::super::secrets;
    use super::*;
    use crate::clients::ServerEntry;

    /// A keychain in memory that takes a number of entries.
    struct MemoryKeychain {
        entries: RefCell<BTreeMap<String, String>>,
        capacity: usize,
    }

    impl MemoryKeychain {
        fn new(entries: &[(&str, &str)], capacity: usize) -> Self {
            let entries = entries.iter().map(|(name, value)| (name.to_string(), value.to_string()));
            Self { entries: RefCell::new(entries.collect()), capacity }
        }

        fn names(&self) -> Vec<String> {
            self.entries.borrow().keys().cloned().collect()
        }
    }

    impl Keychain for MemoryKeychain {
        fn read(&self, name: &str) -> Result<Option<Zeroizing<String>>, KeychainError> {
            Ok(self.entries.borrow().get(name).cloned().map(Zeroizing::new))
        }

        fn write(&self, name: &str, value: &str) -> Result<(), KeychainError> {
            let mut entries = self.entries.borrow_mut();
            if entries.len() == self.capacity {
                return Err(KeychainError::NoAccess { reason: "it is locked".to_owned() });
            }
            entries.insert(name.to_owned(), value.to_owned());
            Ok(())
        }

        fn remove(&self, name: &str) -> Result<(), KeychainError> {
            self.entries.borrow_mut().remove(name);
            Ok(())
        }
    }

    /// Two servers, each with a token in its environment and another in its arguments.
    fn selection() -> Selection {
        let mut selection = Selection::default();
        let mut taken = BTreeMap::new();
        for name in ["a", "b"] {
            let mut entry = ServerEntry::from(ServerTransport::Program {
                command: "x".to_owned(),
                args: vec!["--token".to_owned(), format!("secret-{name}-arg")],
                env: BTreeMap::from([("TOKEN".to_owned(), format!("secret-{name}"))]),
                cwd: None,
            });
            selection.secrets.extend(secrets::extract(name, &mut entry, &mut taken));
            selection.servers.push(SelectedServer {
                name: name.to_owned(),
                entry,
                origins: Vec::new(),
                tool_filters: Vec::new(),
            });
        }
        selection
    }

    fn texts(selection: &Selection) -> Vec<String> {
        let of = |server: &SelectedServer| match &server.entry.transport {
            ServerTransport::Program { args, env, .. } => {
                args.iter().skip(1).chain(env.values()).cloned().collect::<Vec<_>>()
            }
            ServerTransport::Address { .. } => Vec::new(),
        };
        selection.servers.iter().flat_map(of).collect()
    }

    #[test]
    fn every_secret_is_named_in_the_keychain_and_none_of_others_is_replaced() {
        let keychain = MemoryKeychain::new(&[("TOKEN", "of another"), ("B_TOKEN", "secret-b")], 9);
        let mut selection = selection();
        assert!(selection.has_secrets_file());
        selection.store_secrets_in(&keychain).unwrap();
        let named = ["TOKEN_2", "A_TOKEN", "B_TOKEN", "B_TOKEN_2"];
        let entries = keychain.entries.borrow();
        assert_eq!(entries["TOKEN"], "of another");
        assert_eq!(entries["TOKEN_2"], "secret-a");
        assert_eq!(entries["B_TOKEN"], "secret-b");
        let mut shown = texts(&selection);
        shown.sort();
        let mut wanted = named.map(|name| format!("${{keychain:{name}}}")).to_vec();
        wanted.sort();
        assert_eq!(shown, wanted);
        assert!(!selection.has_secrets_file());
    }

    #[test]
    fn a_keychain_that_fails_half_way_is_left_as_it_was() {
        let keychain = MemoryKeychain::new(&[("TOKEN", "of another")], 3);
        let mut selection = selection();
        let before = texts(&selection);
        let error = selection.store_secrets_in(&keychain).unwrap_err();
        assert_eq!(error.code(), "keychain.no_access");
        assert_eq!(keychain.names(), ["TOKEN"]);
        assert_eq!(texts(&selection), before);
        assert!(selection.has_secrets_file());
    }
}
