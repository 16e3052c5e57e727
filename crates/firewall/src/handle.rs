//! Handles: the record behind a stored result, and the result itself.
//!
//! Knowing the id of a handle gives no access. [`load`] answers only the principal and tenant for
//! which the handle was made; everybody else gets the answer for a handle that does not exist.
//! What the record says (constraints, allowed fields) was fixed when the result was stored; a
//! caller cannot bring a looser copy.
//!
//! A [`HandleStore`] keeps them within a [`HandleBudget`], encrypted where it has a [`HandleKey`].

mod budget;
mod handle_store;
mod index;
mod open_result;
mod record;
mod seal;
mod stored_handle;

pub use budget::{HandleBudget, MAX_ENTRIES, TTL};
pub use handle_store::HandleStore;
pub use open_result::OpenResult;
pub use record::{ContentKind, HandleRecord, RECORD_VERSION, StoredBytes};
pub use seal::HandleKey;
pub use stored_handle::{
    Access, HandleGrant, MAX_INLINE, MAX_STORED_DEPTH, StoredHandle, content, key, load,
};
