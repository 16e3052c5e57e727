//! The public behaviour of the ledger. All of it runs with the features `sqlite` and
//! `conformance`.

#[cfg(all(test, feature = "sqlite", feature = "conformance"))]
mod conformance;
#[cfg(test)]
mod merkle;
