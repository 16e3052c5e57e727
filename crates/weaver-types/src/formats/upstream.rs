//! The digest of a tool's definition as its server gives it.

use serde_json::Value;

use crate::canonical::{self, CanonicalError, Profile};
use crate::digest::{Digest, Tag};

/// What of a listed tool a model or a policy could see; everything else is thrown away.
const SEEN: [&str; 6] =
    ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];

/// The digest of what a server says of its tool: name, title, description, both schemas and
/// annotations in canonical form, and the server's instructions. The order of keys, white space
/// and what nobody is shown (icons, metadata) are no part of it. It is what a contract pins.
///
/// # Errors
/// [`CanonicalError`] for a tool without a canonical form.
pub fn upstream_digest(tool: &Value, instructions: Option<&str>) -> Result<Digest, CanonicalError> {
    let seen = SEEN.iter().filter_map(|key| Some(((*key).to_owned(), tool.get(*key)?.clone())));
    let form = canonical::to_bytes(&Value::Object(seen.collect()), Profile::Foreign)?;
    let instructions = instructions.unwrap_or_default().as_bytes();
    Ok(Digest::of_parts(Tag::UPSTREAM, &[&form, instructions]))
}
