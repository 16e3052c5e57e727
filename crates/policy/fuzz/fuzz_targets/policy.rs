//! Policy documents: reading one ends in a set or in findings, and a set decides.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weaver_policy::{
    DocumentSource, DocumentSources, PolicyQuery, PolicySet, document_digest, document_kind,
};
use weaver_types::signature::DocumentKind;
use weaver_types::{
    CapabilityRequest, Effects, Principal, PrincipalId, Timestamp, ToolSpec, Verdict,
};

const CONTRACTS: &str = "kind = \"contracts\"\nformat = 1\nid = \"fuzz\"\nversion = 1\n";
const KEYS: &str = "kind = \"keys\"\nformat = 1\nid = \"fuzz\"\nversion = 1\n";

fuzz_target!(|text: &str| {
    let now = Timestamp::from_micros(1_800_000_000_000_000);
    let _ = document_kind(text);
    let sources = DocumentSources {
        policy: DocumentSource::unsigned("policy.toml", text),
        contracts: DocumentSource::unsigned("contracts.toml", CONTRACTS),
        keys: DocumentSource::unsigned("keys.toml", KEYS),
    };
    let set = match PolicySet::load_unsigned_development(&sources, now) {
        Ok(set) => set,
        Err(error) => {
            assert!(!error.findings().is_empty(), "refused without a finding");
            return;
        }
    };
    let digest = document_digest(DocumentKind::Policy, text).expect("what loads has a digest");
    assert_eq!(set.basis().policy, digest);
    // What was read, said again in code, means the same.
    let again = PolicySet::from_code(set.policy().clone(), set.contracts().clone())
        .expect("what was read is valid");
    for effects in [Effects::READ_LOCAL, Effects::WRITE_LOCAL, Effects::UNDECLARED] {
        let tool = ToolSpec::new("files.read", "Reads").with_effects(effects).build();
        let who = PrincipalId::parse("owner").map(Principal::new);
        let (Ok(tool), Ok(who)) = (tool, who) else { return };
        let who = set.principal(&who.id).unwrap_or(who);
        let what = CapabilityRequest::new(tool.id().clone(), "a goal");
        let query = PolicyQuery { now, ..PolicyQuery::new(&tool, &who, &what) };
        let (one, two) = (set.decide(&query), again.decide(&query));
        assert_eq!(one.verdict(), two.verdict());
        if set.policy().rules.is_empty() {
            assert_eq!(one.verdict(), Verdict::Deny, "nothing allowed it");
        }
    }
});
