//! Handles: the record of a stored result, and the result itself.
//!
//! Knowing a handle's id gives no access. [`authorized_record`] answers only the principal and
//! tenant that the handle was made for; everybody else gets the answer for a handle that does not
//! exist. The constraints and allowed fields in the record were fixed when the result was stored,
//! so a caller cannot substitute a looser copy.
//!
//! A [`HandleStore`] keeps results within a [`HandleBudget`], encrypted if it has a
//! [`HandleEncryptionKey`].

mod budget;
mod encryption;
mod handle_store;
mod index;
mod open_result;
mod record;
mod stored_handle;

pub use budget::{DEFAULT_MAX_ENTRIES, DEFAULT_TTL, HandleBudget};
pub use encryption::HandleEncryptionKey;
pub use handle_store::HandleStore;
pub use open_result::OpenResult;
pub use record::{BytesLocation, ContentKind, HandleRecord, RECORD_VERSION};
pub use stored_handle::{
    HandleAccess, HandleGrant, MAX_INLINE_BYTES, MAX_STORED_DEPTH, StoredHandle, authorized_record,
    read_content, record_key,
};
