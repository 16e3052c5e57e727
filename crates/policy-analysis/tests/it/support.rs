//! Documents for the tests.

use weaver_policy::{Contracts, DocumentSource, DocumentSources, LoadError, Policy, PolicySet};
use weaver_types::Timestamp;

pub(crate) const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

/// A head for a document of that kind.
fn head(kind: &str) -> String {
    format!("kind = \"{kind}\"\nformat = 1\nid = \"t\"\nversion = 1\n")
}

/// Loads documents with these bodies, unsigned.
pub(crate) fn load(policy: &str, contracts: &str, keys: &str) -> Result<PolicySet, LoadError> {
    let texts = [head("policy") + policy, head("contracts") + contracts, head("keys") + keys];
    PolicySet::load_unsigned_development(
        &DocumentSources {
            policy: DocumentSource::unsigned("policy.toml", &texts[0]),
            contracts: DocumentSource::unsigned("contracts.toml", &texts[1]),
            keys: DocumentSource::unsigned("keys.toml", &texts[2]),
        },
        NOW,
    )
}

/// A loaded set, from a policy and contracts.
pub(crate) fn set(policy: &str, contracts: &str) -> PolicySet {
    load(policy, contracts, "").unwrap_or_else(|error| panic!("{error}"))
}

/// The built-in baseline with nothing else.
pub(crate) fn baseline() -> PolicySet {
    PolicySet::from_code(Policy::baseline().unwrap(), Contracts::new("none")).unwrap()
}
