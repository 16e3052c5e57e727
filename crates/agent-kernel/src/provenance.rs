//! Where the values of a run come from: what its user and its trusted sources named.
//!
//! The index holds keyed hashes of typed tokens under a key of the run's own, never the values. It
//! is bounded for a run: what finds no room is nowhere. Each call that adds something writes one
//! record of its own, in the batch that records the call, so that no call costs more than another
//! and the same run read again after a restart gives the same verdicts.
//!
//! A trusted source may only repeat what it was told: a call that the model writes after untrusted
//! input could place a value there and fetch it back as a trusted one, also in parts or encoded.
//! So the result of such a call vouches for nothing unless all that the call was told is vouched
//! for itself; once anything else was written to a server, no later result of it vouches for
//! anything; and what was written anywhere is vouched for by no other server either.

mod arguments;
mod collect;
mod index;
mod record;
mod records;

pub(crate) use arguments::are_vouched_for;
pub(crate) use collect::{answered, carried, echoes, said, written};
pub(crate) use index::{Index, IndexEntries, Voucher};
pub(crate) use record::{put_digest, puts, read};
pub(crate) use records::{Record, Reply, records, vouched_ids};
