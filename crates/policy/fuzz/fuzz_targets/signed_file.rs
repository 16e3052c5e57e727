//! Signed files: what can be read is written and read again as the same. Envelopes too.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weaver_policy::approval::SignedFile;
use weaver_types::signature::Envelope;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(envelope) = Envelope::parse(bytes) {
        let json = envelope.to_json().expect("an envelope that was read can be written");
        assert_eq!(Envelope::parse(json.as_bytes()).ok(), Some(envelope));
    }
    match SignedFile::parse(bytes) {
        Ok(file) => {
            let json = match &file {
                SignedFile::Resolution(signed) => signed.to_json(),
                SignedFile::Standing(signed) => signed.to_json(),
                SignedFile::OperatorStatement(signed) => signed.to_json(),
                _ => return,
            };
            let json = json.expect("a file that was read can be written");
            assert_eq!(SignedFile::parse(&json).ok(), Some(file));
        }
        Err(rejection) => assert!(!rejection.code().is_empty()),
    }
});
