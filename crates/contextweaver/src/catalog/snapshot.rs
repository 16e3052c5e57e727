//! A catalog as exact bytes with a digest.

use serde_json::{Value, json};
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::{Digest, Tag};

use crate::catalog::{Catalog, form};
use crate::error::CatalogError;

/// The version of the form.
const VERSION: u64 = 1;
/// What the form calls itself.
const NAME: &str = "weaver.catalog";

/// Everything that a catalog says, in the order of the ids: equal catalogs have equal bytes and
/// equal digests, and a change of any field, schemas and effects included, is another digest.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    items: Vec<Value>,
    digest: Digest,
}

impl Snapshot {
    /// The snapshot of a catalog.
    ///
    /// # Errors
    /// [`CatalogError::Canonical`], when `metadata` or `constraints` hold what canonical JSON has
    /// no form for.
    pub fn of(catalog: &Catalog) -> Result<Self, CatalogError> {
        let items: Vec<Value> = catalog.iter().map(form::written).collect();
        let content = json!({ "format": NAME, "items": items, "v": VERSION });
        let bytes = canonical::to_bytes(&content, Profile::Foreign)?;
        Ok(Self { items, digest: Digest::of(Tag::CATALOG, &bytes) })
    }

    /// `sha256:…` over the canonical bytes without the digest itself.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// How many items it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The canonical JSON: `{"digest", "format": "weaver.catalog", "items": […], "v": 1}`. It reads
    /// back as a catalog.
    ///
    /// # Errors
    /// [`CatalogError::Canonical`], as [`Snapshot::of`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, CatalogError> {
        let whole = json!({
            "digest": self.digest.to_string(),
            "format": NAME,
            "items": self.items,
            "v": VERSION,
        });
        Ok(canonical::to_bytes(&whole, Profile::Foreign)?)
    }
}

/// A snapshot that is read back is held to its digest and its version.
pub(super) fn verify(value: &Value) -> Result<(), CatalogError> {
    if value.get("format").and_then(Value::as_str) != Some(NAME) {
        return Ok(());
    }
    let version = value.get("v").and_then(Value::as_u64).unwrap_or(0);
    if version != VERSION {
        return Err(CatalogError::SnapshotVersion { found: version, known: VERSION });
    }
    let items = value.get("items").cloned().unwrap_or_default();
    let content = json!({ "format": NAME, "items": items, "v": VERSION });
    let digest = Digest::of(Tag::CATALOG, &canonical::to_bytes(&content, Profile::Foreign)?);
    let said = value.get("digest").and_then(Value::as_str).unwrap_or_default();
    if said == digest.to_string() { Ok(()) } else { Err(CatalogError::SnapshotDigest) }
}
