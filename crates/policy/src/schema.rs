//! JSON Schemas of the documents, for editors.

use weaver_types::signature::Kind;

/// The JSON Schema of the documents of a kind; `None` for what is no document.
///
/// With the schema in a file beside a document, a first line such as `#:schema
/// policy.schema.json` makes editors complete and check keys. It knows the form alone; only
/// loading knows whether a document is right.
///
/// ```
/// use weaver_policy::schema;
/// use weaver_types::signature::Kind;
///
/// assert!(schema(Kind::Policy).is_some_and(|text| text.contains("trusted_hosts")));
/// assert!(schema(Kind::Resolution).is_none());
/// ```
#[must_use]
pub fn schema(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Policy => Some(include_str!("../assets/policy.schema.json")),
        Kind::Contracts => Some(include_str!("../assets/contracts.schema.json")),
        Kind::Keys => Some(include_str!("../assets/keys.schema.json")),
        _ => None,
    }
}
