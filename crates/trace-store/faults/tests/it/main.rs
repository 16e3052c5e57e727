//! The ledger through crashes, failing calls and damage. The README says what each part does, and
//! how to run all of it.

#![cfg(test)]
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]

mod bits;
mod calls;
mod damage;
mod images;
mod kills;
mod parts;
mod recovery;
mod store;
mod support;
