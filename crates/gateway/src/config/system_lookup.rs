//! Where a configuration's references to variables and keychain entries are looked up.

use std::cell::RefCell;

use super::interpolate::Reference;
use crate::secret::{Keychain as _, KeychainError, SystemKeychain};

/// The process environment and the system's keychain. After one failure the keychain is not used
/// again for this configuration, because each attempt may wait for a person.
#[derive(Default)]
pub(super) struct SystemLookup {
    keychain_error: RefCell<Option<KeychainError>>,
}

impl SystemLookup {
    pub(super) fn lookup(&self) -> impl Fn(Reference<'_>) -> Result<Option<String>, KeychainError> {
        |reference| match reference {
            Reference::Variable(name) => Ok(std::env::var(name).ok()),
            Reference::Keychain(name) => self.keychain_entry(name),
        }
    }

    fn keychain_entry(&self, name: &str) -> Result<Option<String>, KeychainError> {
        if let Some(error) = self.keychain_error.borrow().as_ref() {
            return Err(error.clone());
        }
        let read = SystemKeychain.read(name);
        if let Err(error) = &read {
            self.keychain_error.replace(Some(error.clone()));
        }
        Ok(read?.map(|value| value.to_string()))
    }
}
