//! Private keys in files that are useless without their passphrase, and the system's keychain, where
//! the secrets of servers can lie.
//!
//! A key file is JSON: what the key is called, its public half, and the 32-byte seed of an Ed25519
//! key, encrypted with XChaCha20-Poly1305 under a key that Argon2id derives from a passphrase.
//! Everything else in the file is authenticated with it.
//!
//! # Security
//!
//! A passphrase comes from the terminal or from a file descriptor that the operator hands over:
//! never from an argument or a variable, which other processes can read, and never from a file of
//! ours, which the agent could. Seeds, derived keys and passphrases are erased when dropped.

mod error;
mod key_file;
mod keychain;
mod passphrase;
mod passphrase_generator;

pub use error::SecretError;
pub use key_file::{KDF_ITERATIONS, KDF_LANES, KDF_MEMORY_KIB, KeyFile, VERSION};
pub use keychain::{KEYCHAIN_SERVICE, Keychain, KeychainError, SystemKeychain};
pub(crate) use keychain::{adding_entry, is_entry_name};
pub use passphrase::{MIN_PASSPHRASE, Passphrase};
pub use passphrase_generator::generated_passphrase;
