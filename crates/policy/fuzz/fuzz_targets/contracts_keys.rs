//! Contracts and keys: each text is read as both.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weaver_policy::{DocumentSource, DocumentSources, PolicySet, document_digest, document_kind};
use weaver_types::signature::DocumentKind;
use weaver_types::{Effects, Principal, PrincipalId, Timestamp, ToolSpec};

const POLICY: &str = "kind = \"policy\"\nformat = 1\nid = \"fuzz\"\nversion = 1\n";
const CONTRACTS: &str = "kind = \"contracts\"\nformat = 1\nid = \"fuzz\"\nversion = 1\n";
const KEYS: &str = "kind = \"keys\"\nformat = 1\nid = \"fuzz\"\nversion = 1\n";

fn load(contracts: &str, keys: &str) -> Option<PolicySet> {
    let now = Timestamp::from_micros(1_800_000_000_000_000);
    let sources = DocumentSources {
        policy: DocumentSource::unsigned("policy.toml", POLICY),
        contracts: DocumentSource::unsigned("contracts.toml", contracts),
        keys: DocumentSource::unsigned("keys.toml", keys),
    };
    match PolicySet::load_unsigned_development(&sources, now) {
        Ok(set) => Some(set),
        Err(error) => {
            assert!(!error.findings().is_empty(), "refused without a finding");
            None
        }
    }
}

fuzz_target!(|text: &str| {
    let _ = document_kind(text);
    if let Some(set) = load(text, KEYS) {
        assert_eq!(
            Ok(set.basis().contracts),
            document_digest(DocumentKind::Contracts, text).map_err(|_| ())
        );
        for name in ["fs.read", "fs.write_file", "mail.send"] {
            let tool = ToolSpec::new(name, "A tool").with_effects(Effects::READ_LOCAL).build();
            let who = PrincipalId::parse("owner").map(Principal::new);
            let (Ok(tool), Ok(who)) = (tool, who) else { return };
            let _ = set.contract_status(&tool);
            let _ = set.is_visible(&who, &tool);
            if let Ok(effective) = set.apply_contract(&tool) {
                let again = set.apply_contract(&effective).expect("it was effective before");
                assert_eq!(effective.fingerprint(), again.fingerprint());
            }
        }
    }
    if load(CONTRACTS, text).is_some() {
        assert!(document_digest(DocumentKind::Keys, text).is_ok());
    }
});
