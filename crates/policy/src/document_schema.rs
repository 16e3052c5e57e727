//! JSON Schemas of the documents, for editors.

use weaver_types::signature::DocumentKind;

/// The JSON Schema for a kind of document; `None` for other kinds.
///
/// With the schema in a file next to a document, a first line such as `#:schema policy.schema.json`
/// lets editors complete and check keys. The schema covers only the format; whether a document is
/// valid is decided when it is loaded.
///
/// ```
/// use weaver_policy::document_schema;
/// use weaver_types::signature::DocumentKind;
///
/// assert!(document_schema(DocumentKind::Policy).is_some_and(|text| text.contains("trusted_hosts")));
/// assert!(document_schema(DocumentKind::Resolution).is_none());
/// ```
#[must_use]
pub fn document_schema(kind: DocumentKind) -> Option<&'static str> {
    match kind {
        DocumentKind::Policy => Some(include_str!("../assets/policy.schema.json")),
        DocumentKind::Contracts => Some(include_str!("../assets/contracts.schema.json")),
        DocumentKind::Keys => Some(include_str!("../assets/keys.schema.json")),
        _ => None,
    }
}
