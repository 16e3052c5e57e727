//! External programs in pinned versions, to test Weaver with: how to install and confine them, and
//! the signed documents that they are run under.

pub mod cache;
pub mod gateway;
pub mod pins;
pub mod registries;
pub mod trust;
