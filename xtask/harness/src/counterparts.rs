//! Programs that others wrote, in pinned versions, to try Weaver with: installing them, keeping
//! them on a leash, and the signed documents under which they are driven.

pub mod cache;
pub mod pins;
pub mod registries;
pub mod trust;
