//! Facts and episodes: contradiction, supersession, caps, and episodes that become facts.

use std::sync::Arc;
use std::time::Duration;

use contextweaver::memory::{
    BundleParts, Confidence, EpisodicStore, FactStore, Limits, MAX_CLAIMS, MAX_SUMMARY_BYTES,
    MemoryBundle, MemoryError, PutOptions, RecurrenceCriteria, consolidate,
};
use serde_json::{Value, json};
use weaver_types::{CallId, Confidentiality, Integrity, Label, RunId};

use crate::memory::{START, bundle, clock};

const MINUTE: Duration = Duration::from_secs(60);

fn trusted() -> Label {
    Label::new(Confidentiality::Internal, Integrity::Trusted)
}

#[test]
fn contradicting_claims_stand_side_by_side_until_one_is_resolved() {
    let clock = clock();
    let memory = bundle(&clock);
    let facts = FactStore::new(&memory.durable);
    let ours = PutOptions::new("profile").with_label(trusted());
    assert_eq!(facts.add_claim("tz", json!("UTC"), &ours).unwrap(), 1);
    assert_eq!(facts.get("tz").unwrap().unwrap().value(), Some(&json!("UTC")));
    // Another source that agrees contradicts nothing.
    assert_eq!(facts.add_claim("tz", json!("UTC"), &PutOptions::new("calendar")).unwrap(), 2);
    assert!(!facts.get("tz").unwrap().unwrap().is_contradicted());
    clock.advance(MINUTE);
    let mail = facts.add_claim("tz", json!("CET"), &PutOptions::new("mail")).unwrap();
    let fact = facts.get("tz").unwrap().unwrap();
    assert!(fact.is_contradicted() && fact.value().is_none());
    let said: Vec<(&Value, &str)> =
        fact.current_claims().map(|c| (&c.entry.value, c.entry.source.as_str())).collect();
    assert_eq!(
        said,
        [(&json!("UTC"), "profile"), (&json!("UTC"), "calendar"), (&json!("CET"), "mail")]
    );
    // The same source that changes its mind replaces what it said; what it said is kept.
    facts.add_claim("tz", json!("PST"), &ours).unwrap();
    let fact = facts.get("tz").unwrap().unwrap();
    assert_eq!((fact.current_claims().count(), fact.claims.len()), (3, 4));
    let (gone, why) =
        (fact.claims[0].superseded.as_ref().unwrap(), "its source says otherwise now");
    assert_eq!((gone.by, gone.why.as_str(), gone.at), (4, why, START.after(MINUTE)));

    facts.resolve("tz", mail, "the user said so").unwrap();
    let fact = facts.get("tz").unwrap().unwrap();
    assert_eq!(fact.value(), Some(&json!("CET")));
    assert_eq!((fact.current_claims().count(), fact.claims.len()), (1, 4), "the others are kept");
    let gone = fact.claims[1].superseded.as_ref().unwrap();
    assert_eq!(
        (gone.by, gone.why.as_str(), gone.at),
        (mail, "the user said so", START.after(MINUTE))
    );
    let none = MemoryError::NoClaim { key: "tz".into(), number: 1 };
    assert_eq!(facts.resolve("tz", 1, "").unwrap_err(), none);
    assert_eq!(facts.resolve("other", 1, "").unwrap_err().code(), "memory.no_claim");
    assert!(facts.forget("tz").unwrap() && !facts.forget("tz").unwrap());
}

#[test]
fn a_newer_value_of_one_source_replaces_its_older_one_and_two_sources_are_both_shown() {
    let facts = FactStore::new(&bundle(&clock()).durable);
    let profile = PutOptions::new("profile").with_label(trusted());
    facts.add_claim("city", json!("Rome"), &profile).unwrap();
    facts.add_claim("city", json!("Oslo"), &profile).unwrap();
    let fact = facts.get("city").unwrap().unwrap();
    assert_eq!(fact.value(), Some(&json!("Oslo")), "no dispute of a source with itself");
    facts.add_claim("city", json!("Bern"), &PutOptions::new("mail")).unwrap();
    let fact = facts.get("city").unwrap().unwrap();
    let said: Vec<&Value> = fact.current_claims().map(|claim| &claim.entry.value).collect();
    assert!(fact.is_contradicted());
    assert_eq!(said, [&json!("Oslo"), &json!("Bern")]);
    // Who says it under a trusted name without being trusted replaces nothing.
    let forged = PutOptions::new("profile").with_label(Label::undeclared_output());
    facts.add_claim("city", json!("Evil"), &forged).unwrap();
    let fact = facts.get("city").unwrap().unwrap();
    assert!(fact.current_claims().any(|claim| claim.entry.value == json!("Oslo")), "{fact:?}");
    // What an untrusted source said gives way to a trusted word of the same source.
    facts.add_claim("city", json!("Nice"), &profile).unwrap();
    let fact = facts.get("city").unwrap().unwrap();
    let said: Vec<&Value> = fact.current_claims().map(|claim| &claim.entry.value).collect();
    assert_eq!(said, [&json!("Bern"), &json!("Nice")]);
}

#[test]
fn what_is_said_again_is_renewed_under_the_stricter_label() {
    let clock = clock();
    let facts = FactStore::new(&bundle(&clock).durable);
    let short = |label: Label| PutOptions::new("tool").with_label(label).with_ttl(MINUTE);
    assert_eq!(facts.add_claim("k", json!(1), &short(Label::undeclared_output())).unwrap(), 1);
    clock.advance(MINUTE / 2);
    assert_eq!(facts.add_claim("k", json!(1), &short(trusted())).unwrap(), 1);
    clock.advance(MINUTE / 2);
    let fact = facts.get("k").unwrap().unwrap();
    assert_eq!(fact.current_claims().count(), 1);
    assert_eq!(fact.label().integrity, Integrity::Untrusted, "said once from untrusted output");
    clock.advance(MINUTE / 2);
    assert!(facts.get("k").unwrap().is_none(), "a claim expires like any entry");
}

#[test]
fn claims_facts_and_episodes_are_bounded() {
    let clock = clock();
    let parts = BundleParts::new(Arc::clone(&clock) as Arc<_>);
    let limits = Limits { facts: 2, episodes: 3, ..Limits::default() };
    let memory = MemoryBundle::create(BundleParts { limits, ..parts });
    let facts = FactStore::new(&memory.durable);
    for n in 0..MAX_CLAIMS {
        facts.add_claim("k", json!(n), &PutOptions::new(format!("source {n}"))).unwrap();
    }
    let full = facts.add_claim("k", json!("more"), &PutOptions::new("s")).unwrap_err();
    assert_eq!(full, MemoryError::Claims { key: "k".into(), max: MAX_CLAIMS });
    facts.resolve("k", 3, "").unwrap();
    let number = facts.add_claim("k", json!("more"), &PutOptions::new("s")).unwrap();
    let fact = facts.get("k").unwrap().unwrap();
    assert_eq!((fact.claims.len(), number), (MAX_CLAIMS, 17), "a number is used once");
    facts.add_claim("two", json!(1), &PutOptions::default()).unwrap();
    assert_eq!(
        facts.add_claim("three", json!(1), &PutOptions::default()).unwrap_err().code(),
        "memory.full"
    );

    let episodes = EpisodicStore::new(&memory.durable);
    let long = "x".repeat(MAX_SUMMARY_BYTES + 1);
    assert_eq!(episodes.add(&long, &PutOptions::default()).unwrap_err().code(), "memory.too_large");
    let ids: Vec<String> = (0..5)
        .map(|n| episodes.add(&format!("met {n}"), &PutOptions::default()).unwrap())
        .collect();
    assert!(ids.is_sorted(), "at one instant too");
    let latest = episodes.latest(10).unwrap();
    let said: Vec<&str> = latest.iter().map(|entry| entry.value.as_str().unwrap()).collect();
    assert_eq!(said, ["met 4", "met 3", "met 2"], "the newest, newest first");
    assert_eq!(episodes.latest(1).unwrap().len(), 1);
    assert!(episodes.get(&ids[0]).unwrap().is_none());
    assert_eq!(episodes.get(&ids[4]).unwrap().unwrap().entry_id(), format!("mem_dur_{}", ids[4]));
    assert!(episodes.forget(&ids[4]).unwrap() && !episodes.forget(&ids[4]).unwrap());
    assert_eq!(memory.durable.list_keys(None, 10).unwrap().items.len(), 0, "no values among them");
}

#[test]
fn no_episodes_at_all_is_an_error_and_no_endless_search_for_room() {
    let parts = BundleParts::new(clock() as Arc<_>);
    let limits = Limits { episodes: 0, ..Limits::default() };
    let memory = MemoryBundle::create(BundleParts { limits, ..parts });
    let full = EpisodicStore::new(&memory.durable).add("x", &PutOptions::default()).unwrap_err();
    assert_eq!(full, MemoryError::Full { max: 0, what: "episodes" });
}

#[test]
fn episodes_that_recur_become_one_fact() {
    let clock = clock();
    let memory = bundle(&clock);
    let episodes = EpisodicStore::new(&memory.durable);
    let add = |text: &str, session: &str, label: Label| {
        clock.advance(MINUTE);
        episodes
            .add(text, &PutOptions::new("chat").with_session(session).with_label(label))
            .unwrap()
    };
    let rule = RecurrenceCriteria::default();
    let first = add("The user asked for the weekly revenue report", "s1", trusted());
    add("The user asked for the weekly revenue report again", "s1", trusted());
    add("The user never asked for the weekly revenue report", "s2", trusted());
    add("The user asked for a lunch place", "s3", trusted());
    assert_eq!(consolidate(&memory.durable, &rule).unwrap(), [], "two alike, in one session");
    add("User asked for the weekly report on revenue", "s1", trusted());
    assert_eq!(consolidate(&memory.durable, &rule).unwrap(), [], "three alike, in one session");
    let taint = CallId::parse("call_9").unwrap();
    add(
        "The user asked for the revenue report weekly",
        "s2",
        Label::undeclared_output().tainted_by(&taint),
    );
    let made = consolidate(&memory.durable, &rule).unwrap();
    assert_eq!(made.len(), 1);
    assert_eq!((made[0].key.clone(), made[0].sessions), (format!("recurring.{first}"), 2));
    assert_eq!((made[0].episodes.len(), made[0].episodes[0].as_str()), (4, first.as_str()));
    let facts = FactStore::new(&memory.durable);
    let fact = facts.get(&made[0].key).unwrap().unwrap();
    assert_eq!(fact.value(), Some(&json!("The user asked for the weekly revenue report")));
    assert_eq!(fact.label().integrity, Integrity::Untrusted, "one of them was untrusted");
    assert!(fact.label().taints.contains(&taint));
    assert_eq!(fact.claims[0].entry.confidence, Confidence::from_millionths(800_000));

    // Again, with one more and without the first: the same fact, renewed.
    add("The user asked for the weekly revenue report once more", "s4", trusted());
    assert!(episodes.forget(&first).unwrap());
    let again = consolidate(&memory.durable, &rule).unwrap();
    assert_eq!((again.len(), &again[0].key), (1, &made[0].key));
    assert_eq!(facts.list(None, 10).unwrap().items.len(), 1);
    assert_eq!(facts.get(&made[0].key).unwrap().unwrap().claims.len(), 1);

    // What somebody has superseded is not made again.
    let other =
        facts.add_claim(&made[0].key, json!("no longer"), &PutOptions::new("user")).unwrap();
    facts.resolve(&made[0].key, other, "the user said so").unwrap();
    assert_eq!(consolidate(&memory.durable, &rule).unwrap(), []);
    assert_eq!(facts.get(&made[0].key).unwrap().unwrap().value(), Some(&json!("no longer")));
}

/// What a call remembers names its run and no session.
#[test]
fn a_run_counts_as_a_session_where_none_is_named() {
    let memory = MemoryBundle::create(BundleParts::new(clock() as Arc<_>));
    let episodes = EpisodicStore::new(&memory.durable);
    let add = |run: &str| {
        let put = PutOptions::new("model:").with_run(RunId::parse(run).unwrap());
        episodes.add("The user asked for the weekly revenue report", &put).unwrap();
    };
    let rule = RecurrenceCriteria::default();
    ["run_1", "run_1", "run_1"].into_iter().for_each(add);
    assert_eq!(consolidate(&memory.durable, &rule).unwrap(), [], "three alike, in one run");
    add("run_2");
    assert_eq!(consolidate(&memory.durable, &rule).unwrap()[0].sessions, 2);
}

/// Saying again what was superseded does not undo that: it stands beside what took its place.
#[test]
fn what_was_superseded_and_is_said_again_is_a_claim_of_its_own() {
    let facts = FactStore::new(&bundle(&clock()).durable);
    facts.add_claim("zone", json!("UTC"), &PutOptions::new("profile")).unwrap();
    let other = facts.add_claim("zone", json!("CET"), &PutOptions::new("mail")).unwrap();
    facts.resolve("zone", other, "the user said so").unwrap();
    assert_eq!(facts.add_claim("zone", json!("UTC"), &PutOptions::new("profile")).unwrap(), 3);
    let fact = facts.get("zone").unwrap().unwrap();
    assert!(fact.is_contradicted());
    let superseded: Vec<bool> = fact.claims.iter().map(|c| c.superseded.is_some()).collect();
    assert_eq!(superseded, [true, false, false]);
}
