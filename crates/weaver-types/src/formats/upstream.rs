//! The digest of a tool definition as its server sends it.

use serde_json::Value;

use crate::canonical::{self, CanonicalError, Profile};
use crate::digest::{Digest, DomainTag};

/// The members of a listed tool that a model or a policy could see; all others are ignored.
const SEEN: [&str; 6] =
    ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];

/// The digest that a contract pins: over a tool's name, title, description, both schemas and
/// annotations in canonical form, and the server's instructions. The order of keys, white space,
/// and members that nobody is shown (icons, metadata) do not count.
///
/// # Errors
/// [`CanonicalError`] for a tool without a canonical form.
pub fn upstream_digest(tool: &Value, instructions: Option<&str>) -> Result<Digest, CanonicalError> {
    let seen = SEEN.iter().filter_map(|key| Some(((*key).to_owned(), tool.get(*key)?.clone())));
    let form = canonical::to_bytes(&Value::Object(seen.collect()), Profile::Foreign)?;
    let instructions = instructions.unwrap_or_default().as_bytes();
    Ok(Digest::of_parts(DomainTag::UPSTREAM, &[&form, instructions]))
}
