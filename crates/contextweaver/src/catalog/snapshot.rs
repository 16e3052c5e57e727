//! A catalog as canonical bytes with a digest.

use serde_json::{Value, json};
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::{Digest, DomainTag};

use crate::catalog::{Catalog, item_json};
use crate::error::CatalogError;

/// The version of the format.
const VERSION: u64 = 1;
/// The value of `format` in a snapshot.
const FORMAT_NAME: &str = "weaver.catalog";

/// The complete content of a catalog in order of id. Equal catalogs have equal bytes and equal
/// digests; a change of any field, schemas and effects included, changes the digest.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    items: Vec<Value>,
    digest: Digest,
}

impl Snapshot {
    /// The snapshot of a catalog.
    ///
    /// # Errors
    /// [`CatalogError::Canonical`] if `metadata` or `constraints` hold a value that canonical JSON
    /// cannot express.
    pub fn from_catalog(catalog: &Catalog) -> Result<Self, CatalogError> {
        let items: Vec<Value> = catalog.iter().map(item_json::to_json).collect();
        let content = json!({ "format": FORMAT_NAME, "items": items, "v": VERSION });
        let bytes = canonical::to_bytes(&content, Profile::Foreign)?;
        Ok(Self { items, digest: Digest::of(DomainTag::CATALOG, &bytes) })
    }

    /// `sha256:…` over the canonical bytes without the digest itself.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The canonical JSON: `{"digest", "format": "weaver.catalog", "items": […], "v": 1}`, which can
    /// be loaded as a catalog.
    ///
    /// # Errors
    /// [`CatalogError::Canonical`], as [`Snapshot::from_catalog`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, CatalogError> {
        let document = json!({
            "digest": self.digest.to_string(),
            "format": FORMAT_NAME,
            "items": self.items,
            "v": VERSION,
        });
        Ok(canonical::to_bytes(&document, Profile::Foreign)?)
    }
}

/// Checks version and digest if the value is a snapshot; any other value passes.
pub(super) fn verify_snapshot(value: &Value) -> Result<(), CatalogError> {
    if value.get("format").and_then(Value::as_str) != Some(FORMAT_NAME) {
        return Ok(());
    }
    let version = value.get("v").and_then(Value::as_u64).unwrap_or(0);
    if version != VERSION {
        return Err(CatalogError::SnapshotVersion { found: version, known: VERSION });
    }
    let items = value.get("items").cloned().unwrap_or_default();
    let content = json!({ "format": FORMAT_NAME, "items": items, "v": VERSION });
    let digest = Digest::of(DomainTag::CATALOG, &canonical::to_bytes(&content, Profile::Foreign)?);
    let stated_digest = value.get("digest").and_then(Value::as_str).unwrap_or_default();
    if stated_digest == digest.to_string() { Ok(()) } else { Err(CatalogError::SnapshotDigest) }
}
