//! Provenance: which values of a run its user and its trusted sources have named (taint tracking).
//!
//! The index holds keyed hashes of typed tokens under a key of the run, never the values. It is
//! bounded; a value that finds no place counts as not vouched for. Each call that adds something
//! writes one record, in the batch that records the call, so that the cost of a call does not grow
//! with the index, and a run that is loaded again after a restart gets the same verdicts.
//!
//! What the user only quoted or denied vouches like a trusted result: at sinks that accept those, and
//! at no stricter one.
//!
//! A trusted source may merely repeat what it was told: a call that the model writes after
//! untrusted input could place a value there and fetch it back as trusted, also in parts or
//! encoded. Therefore the result of such a call vouches for nothing unless all arguments of the
//! call are vouched for. Once anything else was written to a server, no later result of that server
//! vouches for anything; and no other server vouches for a value that was written anywhere.

mod argument_check;
mod collect;
mod index;
mod index_record;
mod payments;
mod reply_records;

pub(crate) use argument_check::{are_vouched_for, declared_names};
pub(crate) use collect::{
    argument_tokens, carried_values, frame_tokens, user_tokens, value_readings, without_echoes,
};
pub(crate) use index::{IndexEntries, ProvenanceIndex, Voucher};
pub(crate) use index_record::{put_digest, read_index, record_puts};
pub(crate) use payments::{Payment, PaymentReservation};
pub(crate) use reply_records::{Reply, ReplyRecord, reply_records, vouched_ids};
