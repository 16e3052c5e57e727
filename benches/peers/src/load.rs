//! Reading a policy of 10,000 rules, from the signed text on and from code.

use weaver_benches::Failure;
use weaver_benches::rules::{CONTRACTS, KEYS, NOW, document, load};
use weaver_benches::scenario::Scenario;
use weaver_policy::{
    DocumentSource, DocumentSources, PolicySet, document_digest, sign_document, signing_key_id,
};
use weaver_types::signature::{DocumentKind, SigningKey};

use crate::engine::Effort;
use crate::measure::{median, millis, timed};

const RUNS: usize = 7;

/// Measures both and prints them beside what they may take.
pub fn run(effort: &Effort) -> Result<bool, Failure> {
    let count = effort.counts.last().copied().unwrap_or(10);
    let document = document(&Scenario::new(count))?;
    let parsed = load(&document)?;
    let mut compiling = Vec::new();
    for _ in 0..RUNS {
        let (policy, contracts) = (parsed.policy().clone(), parsed.contracts().clone());
        let (set, time) = timed(|| PolicySet::from_code(policy, contracts));
        set?;
        compiling.push(time);
    }
    let root = SigningKey::from_seed([7; 32]);
    let texts = [
        (DocumentKind::Policy, document.as_str()),
        (DocumentKind::Contracts, CONTRACTS),
        (DocumentKind::Keys, KEYS),
    ];
    let mut envelopes = Vec::new();
    for (kind, text) in texts {
        let source = DocumentSource::unsigned("bench.toml", text);
        let envelope = sign_document(&source, kind, signing_key_id(&root.public())?, &root, NOW)?;
        envelopes.push(envelope.to_json()?);
    }
    let [policy, contracts, keys] = envelopes.as_slice() else {
        return Err("no signatures".into());
    };
    let sources = DocumentSources {
        policy: DocumentSource::signed("policy.toml", &document, policy.as_bytes()),
        contracts: DocumentSource::signed("contracts.toml", CONTRACTS, contracts.as_bytes()),
        keys: DocumentSource::signed("keys.toml", KEYS, keys.as_bytes()),
    };
    let mut loading = Vec::new();
    for _ in 0..RUNS {
        let (set, time) = timed(|| PolicySet::load(&sources, &root.public(), NOW));
        set?;
        loading.push(time);
    }
    let mut digesting = Vec::new();
    for _ in 0..RUNS {
        let (digest, time) = timed(|| document_digest(DocumentKind::Policy, &document));
        digest?;
        digesting.push(time);
    }
    let (loading, digesting) = (median(loading), median(digesting));
    println!("\n{count} rules, {} bytes, processor time", document.len());
    for (what, time, wanted) in [
        ("load, signatures verified", loading, "   (wanted: below 300)"),
        ("of this, the syntax and the digest", digesting, ""),
        (
            "and reading, checking, compiling",
            loading.saturating_sub(digesting),
            "   (wanted: below 50)",
        ),
        ("a policy from code, digest included", median(compiling), ""),
    ] {
        println!("{what:<36}{:>8.1} ms{wanted}", millis(time));
    }
    Ok(true)
}
