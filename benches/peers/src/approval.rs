//! Verifying an approval, beside the one signature check that cannot be avoided.

use std::hint::black_box;

use ed25519_dalek::{Signature, Signer as _, SigningKey as RawKey};
use serde_json::json;
use weaver_benches::Failure;
use weaver_benches::rules::{CONTRACTS, NOW};
use weaver_policy::approval::{
    APPROVAL_VERSION, ApprovalRequest, ApprovalState, Nonce, ReceiptTime, Resolution,
    ResolutionVerdict, SignedFile, verify_resolution,
};
use weaver_policy::{DocumentSource, DocumentSources, Keys, PolicySet};
use weaver_types::signature::SigningKey;
use weaver_types::{
    ApprovalAuthority, ApprovalRequestId, CapabilityId, Digest, Label, LogId, PrincipalId, RunId,
    Tenant, Timestamp,
};

use crate::engine::Effort;
use crate::measure::{micros, typical};

const SEED: [u8; 32] = [9; 32];
const HEX: &str = "00112233445566778899aabbccddeeff";

/// Measures each step from the file to the release and prints it.
pub fn run(effort: &Effort) -> Result<bool, Failure> {
    let samples = effort.samples.min(2_000);
    let key = SigningKey::from_seed(SEED);
    let set = keys(&key)?;
    let keys = set.keys().ok_or("a set without keys")?;
    let request = request()?;
    let mut state = ApprovalState::new(&request);
    let said = Resolution::new(&request, ResolutionVerdict::Granted, "alice", NOW)?;
    let file = said.sign(&key)?.to_json()?;
    let vote = |state: &ApprovalState| verify(keys, &request, state, &file);
    vote(&state)?;

    let raw = RawKey::from_bytes(&SEED);
    let message = [b'x'; 320];
    let (public, signature): (_, Signature) = (raw.verifying_key(), raw.sign(&message));
    let strict = typical(samples, || {
        black_box(public.verify_strict(black_box(&message), &signature).is_ok());
    });
    let parse = typical(samples, || {
        black_box(SignedFile::parse(black_box(&file)).is_ok());
    });
    let whole = typical(samples, || {
        black_box(vote(black_box(&state)).is_ok());
    });
    let counted = vote(&state)?;
    state.record(&request, counted)?;
    state.release(&request, keys, NOW)?;
    let release = typical(samples, || {
        black_box(state.release(black_box(&request), keys, NOW).is_ok());
    });
    println!("\nan approval of {} bytes, median µs", file.len());
    for (what, time) in [
        ("verify_strict alone, 320 bytes", strict),
        ("reading the signed file", parse),
        ("reading and verifying it", whole),
        ("release: the vote verified again", release),
    ] {
        let times = micros(time) / micros(strict).max(0.001);
        println!("{what:<34}{:>9.1}   {times:>5.2} × verify_strict", micros(time));
    }
    Ok(true)
}

fn verify(
    keys: &Keys,
    request: &ApprovalRequest,
    state: &ApprovalState,
    file: &[u8],
) -> Result<weaver_policy::approval::Vote, Failure> {
    match SignedFile::parse(file)? {
        SignedFile::Resolution(signed) => {
            Ok(verify_resolution(keys, request, state, &signed, ReceiptTime::at(NOW))?)
        }
        _ => Err("not a resolution".into()),
    }
}

fn keys(key: &SigningKey) -> Result<PolicySet, Failure> {
    let policy = CONTRACTS.replace("contracts", "policy");
    let keys = format!(
        "{}[approvers.alice]\nkey = \"{}\"\ntrust = 900\nclearance = \"confidential\"\n",
        CONTRACTS.replace("contracts", "keys"),
        key.public()
    );
    let sources = DocumentSources {
        policy: DocumentSource::unsigned("policy.toml", &policy),
        contracts: DocumentSource::unsigned("contracts.toml", CONTRACTS),
        keys: DocumentSource::unsigned("keys.toml", &keys),
    };
    Ok(PolicySet::load_unsigned_development(&sources, NOW)?)
}

fn request() -> Result<ApprovalRequest, Failure> {
    let digest: Digest = format!("sha256:{HEX}{HEX}").parse()?;
    Ok(ApprovalRequest {
        v: APPROVAL_VERSION,
        id: ApprovalRequestId::parse(format!("apr_{HEX}"))?,
        nonce: Nonce::parse(HEX)?,
        tenant: Tenant::default(),
        log: LogId::parse(format!("log_{HEX}"))?,
        capability: CapabilityId::parse("mail.send")?,
        fingerprint: digest,
        arguments: json!({ "to": "team@example.com", "subject": "Hello", "body": "x".repeat(400) }),
        folder: None,
        policy: digest,
        contracts: digest,
        principal: PrincipalId::parse("owner")?,
        agent: None,
        run: RunId::parse(format!("run_{}", HEX.get(..16).unwrap_or_default()))?,
        label: Label::clean(),
        holds: Vec::new(),
        authority: ApprovalAuthority { min_trust: Some(800), ..ApprovalAuthority::default() },
        detail: "the capability is on rung L4".to_owned(),
        intent: "tell the team".to_owned(),
        justification: None,
        preconditions: Vec::new(),
        opened_at: NOW,
        deadline: Timestamp::from_micros(NOW.micros() + 900_000_000),
        supersedes: None,
        unreviewed_writes: 0,
    })
}
