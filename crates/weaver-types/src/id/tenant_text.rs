//! The text of a tenant.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// The default tenant, which is the only one of most hosts.
const LOCAL: &str = "local";

/// The text of a tenant. Every stored key carries one, so the default tenant has a variant without
/// allocation or reference count.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum TenantText {
    /// The default; no other variant holds its text.
    Local,
    Named(Arc<str>),
}

impl From<&str> for TenantText {
    fn from(text: &str) -> Self {
        if text == LOCAL { Self::Local } else { Self::Named(text.into()) }
    }
}

impl From<TenantText> for Arc<str> {
    fn from(text: TenantText) -> Self {
        match text {
            TenantText::Local => Self::from(LOCAL),
            TenantText::Named(text) => text,
        }
    }
}

impl Deref for TenantText {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Local => LOCAL,
            Self::Named(text) => text,
        }
    }
}

impl Ord for TenantText {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Local, Self::Local) => Ordering::Equal,
            _ => str::cmp(self, other),
        }
    }
}

impl PartialOrd for TenantText {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for TenantText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        str::hash(self, state);
    }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;

    use super::*;

    #[test]
    fn it_is_compared_and_hashed_as_its_text_is() {
        let hashes = std::hash::RandomState::new();
        let texts = ["", "a", "loca", "local", "locals", "z"];
        for (a, b) in texts.iter().flat_map(|a| texts.iter().map(move |b| (*a, *b))) {
            let (tenant, other) = (TenantText::from(a), TenantText::from(b));
            assert_eq!(&*tenant, a);
            assert_eq!(tenant == other, a == b);
            assert_eq!(tenant.cmp(&other), a.cmp(b));
            assert_eq!(hashes.hash_one(&tenant), hashes.hash_one(a));
            assert_eq!(&*Arc::<str>::from(tenant), a);
        }
    }
}
