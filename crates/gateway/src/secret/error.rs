//! The errors of key files and passphrases.

use std::io;

use weaver_types::{RandomError, canonical::CanonicalError};

/// Why a key file or a passphrase is refused. No message holds a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// The file cannot be read.
    #[error("{file}: {reason}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        reason: String,
    },
    /// A file of this name exists already.
    #[error("{file} is there already, and a key file is never overwritten; choose another name")]
    Exists {
        /// The file.
        file: String,
    },
    /// The file cannot be written.
    #[error("{file} cannot be written: {source}")]
    Unwritable {
        /// The file.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// The text is not a key file.
    #[error("this is not a key file: {reason}; make one with `weaver keys new`")]
    Malformed {
        /// What is wrong with it.
        reason: String,
    },
    /// The file was made by a newer version of this software.
    #[error("the key file has version {found}, this build knows up to {known}; use a newer build")]
    Newer {
        /// The version of the file.
        found: u64,
        /// The newest version this build reads.
        known: u64,
    },
    /// The passphrase does not open the file.
    #[error("the passphrase does not open this key file, or the file was changed")]
    WrongPassphrase,
    /// The decrypted seed does not belong to the public key in the file.
    #[error("the key file holds another key than the one it names; restore it from a copy")]
    OtherKey,
    /// The passphrase is empty, too long or too short.
    #[error("the passphrase {0}")]
    Passphrase(&'static str),
    /// The two passphrases that were typed differ.
    #[error("the two passphrases differ; nothing was written, try again")]
    Mismatch,
    /// There is no terminal on which to ask.
    #[error(
        "no passphrase can be asked: there is no terminal ({0}); hand one over with \
         `--passphrase-fd N`, for example `--passphrase-fd 3 3< <(pass show weaver)`"
    )]
    NoTerminal(io::Error),
    /// No passphrase could be read from the file descriptor.
    #[error("no passphrase comes from file descriptor {fd}: {reason}")]
    Descriptor {
        /// The file descriptor.
        fd: u32,
        /// Why.
        reason: String,
    },
    /// No passphrase could be read from the source that the configuration names.
    #[error("no passphrase comes from where the configuration says: {reason}")]
    Source {
        /// Why.
        reason: String,
    },
    /// Deriving the key failed.
    #[error("the key cannot be derived from the passphrase: {0}")]
    Derivation(String),
    /// The file has no canonical form.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    /// The source of randomness failed.
    #[error(transparent)]
    Random(#[from] RandomError),
}

impl SecretError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "secret.unreadable",
            Self::Exists { .. } => "secret.exists",
            Self::Unwritable { .. } => "secret.unwritable",
            Self::Malformed { .. } => "secret.malformed",
            Self::Newer { .. } => "secret.newer",
            Self::WrongPassphrase => "secret.wrong_passphrase",
            Self::OtherKey => "secret.other_key",
            Self::Passphrase(_) => "secret.passphrase",
            Self::Mismatch => "secret.mismatch",
            Self::NoTerminal(_) => "secret.no_terminal",
            Self::Descriptor { .. } => "secret.descriptor",
            Self::Source { .. } => "secret.source",
            Self::Derivation(_) => "secret.derivation",
            Self::Canonical(_) => "secret.canonical",
            Self::Random(_) => "secret.random",
        }
    }

    /// True if the passphrase is at fault and not the file.
    #[must_use]
    pub fn is_passphrase(&self) -> bool {
        matches!(
            self,
            Self::WrongPassphrase
                | Self::Passphrase(_)
                | Self::Mismatch
                | Self::NoTerminal(_)
                | Self::Descriptor { .. }
                | Self::Source { .. }
        )
    }
}
