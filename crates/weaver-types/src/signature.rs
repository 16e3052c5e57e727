//! Detached Ed25519 signatures, bound to what they sign.
//!
//! A signed document stays a plain file. Its signature is an [`Envelope`] next to it, which names
//! the kind of document, its digest, the key and the time. The signature covers all of these under
//! one domain tag, so a policy signature never passes for a keys signature, nor a signature of one
//! text for that of another.
//!
//! ```
//! use weaver_types::KeyId;
//! use weaver_types::signature::{Envelope, DocumentKind, SigningKey};
//!
//! let key = SigningKey::from_seed([7; 32]);
//! let digest = DocumentKind::Policy.digest(b"[[rule]]\n");
//! let envelope = Envelope::sign(DocumentKind::Policy, digest, KeyId::parse("root")?, &key, 1_700_000_000_000_000)?;
//!
//! let read = Envelope::parse(envelope.to_json()?.as_bytes())?;
//! read.verify(DocumentKind::Policy, digest, &key.public())?;
//! assert!(read.verify(DocumentKind::Keys, digest, &key.public()).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod envelope;
mod error;
mod key;

pub use envelope::{ALGORITHM, DocumentKind, Envelope, VERSION};
pub use error::SignatureError;
pub use key::{PublicKey, SIGNATURE_BYTES, SigningKey};
