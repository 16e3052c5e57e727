//! The fuzzer begins with documents that load; from others it would learn little.

use weaver_policy::approval::SignedFile;
use weaver_policy::{DocumentSource, DocumentSources, PolicySet};
use weaver_types::Timestamp;
use weaver_types::signature::Envelope;

#[test]
fn what_the_fuzzer_begins_with_can_be_read() {
    let now = Timestamp::from_micros(1_800_000_000_000_000);
    let sources = DocumentSources {
        policy: DocumentSource::unsigned(
            "policy",
            include_str!("../../fuzz/seeds/policy/whole.toml"),
        ),
        contracts: DocumentSource::unsigned(
            "contracts",
            include_str!("../../fuzz/seeds/contracts_keys/contracts.toml"),
        ),
        keys: DocumentSource::unsigned(
            "keys",
            include_str!("../../fuzz/seeds/contracts_keys/keys.toml"),
        ),
    };
    if let Err(error) = PolicySet::load_unsigned_development(&sources, now) {
        panic!("{:#?}", error.findings());
    }
    let files = [
        include_str!("../../fuzz/seeds/signed_file/resolution.json"),
        include_str!("../../fuzz/seeds/signed_file/standing.json"),
        include_str!("../../fuzz/seeds/signed_file/clock.json"),
        include_str!("../../fuzz/seeds/signed_file/end_run.json"),
        include_str!("../../fuzz/seeds/signed_file/revoke_request.json"),
        include_str!("../../fuzz/seeds/signed_file/revoke_standing.json"),
    ];
    for file in files {
        SignedFile::parse(file.as_bytes()).unwrap();
    }
    let envelope = include_bytes!("../../fuzz/seeds/signed_file/envelope.json");
    Envelope::parse(envelope).unwrap();
}
