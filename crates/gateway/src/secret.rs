//! Private keys in files encrypted with a passphrase, and access to the system's keychain for the
//! secrets of servers.
//!
//! A key file is JSON: the id and the public half of an Ed25519 key, and its 32-byte seed,
//! encrypted with XChaCha20-Poly1305 under a key that Argon2id derives from the passphrase. All
//! other fields are authenticated along with it.
//!
//! # Security
//!
//! A passphrase comes from the terminal or from a file descriptor that the operator passes: never
//! from an argument or an environment variable, which other processes can read, and never from a
//! file of ours, which the agent could read. Seeds, derived keys and passphrases are erased when
//! dropped.

mod error;
mod key_file;
mod keychain;
mod passphrase;
mod passphrase_generator;

pub use error::SecretError;
pub use key_file::{KdfCosts, KeyFile, VERSION};
pub use keychain::{KEYCHAIN_SERVICE, Keychain, KeychainError, SystemKeychain};
pub(crate) use keychain::{add_entry_hint, is_entry_name};
pub use passphrase::{MIN_PASSPHRASE_CHARS, Passphrase};
pub use passphrase_generator::generate_passphrase;
