//! What the log says of the tokens of clients.

use std::fs;
use std::time::Duration;

use weaver_types::PrincipalId;

use super::*;
use crate::client_registry::{NewClient, TokenRotation};

type Events = Vec<(EventKind, Map<String, Value>)>;

struct Fixture {
    folder: tempfile::TempDir,
    record: JournalRecord,
}

impl Fixture {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), record: JournalRecord::default() }
    }

    fn clients(&self) -> ClientRegistry {
        ClientRegistry::of_store(&self.folder.path().join("ledger.db"))
    }

    fn add(&self, name: &str) -> String {
        let new = NewClient {
            name: name.to_owned(),
            principal: PrincipalId::parse("ana").unwrap(),
            profile: Some("small".to_owned()),
            access: ClientAccess::Sessions,
            expires: Some(at(1_000)),
            by: Some("bob, uid 7".to_owned()),
        };
        self.clients().add(new, at(1)).unwrap()
    }

    fn remove(&self, name: &str) {
        self.clients().remove(name, Some("eve, uid 8".to_owned()), at(5)).unwrap();
    }

    /// The events that bring the log up to date, and the clients that are removed again.
    fn update(&mut self) -> (Events, Vec<String>) {
        let changes = self.record.update(&self.clients().list().unwrap(), at(20));
        let record = Record { version: 1, value: self.record.to_put(&key()).unwrap().value };
        assert_eq!(JournalRecord::parse(&record).unwrap(), self.record);
        (changes.events, changes.restored.into_iter().collect())
    }

    fn kinds(&mut self) -> Vec<EventKind> {
        self.update().0.into_iter().map(|(kind, _)| kind).collect()
    }
}

fn key() -> RecordKey {
    RecordKey::new(Tenant::default(), Namespace::Clients, ID)
}

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

#[test]
fn who_had_a_token_and_who_took_it_back_is_told_once_and_without_the_token() {
    let mut fixture = Fixture::new();
    let token = fixture.add("desk");
    let (events, _) = fixture.update();
    let [(EventKind::ClientAdded, fields)] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((&fields["name"], &fields["principal"]), (&json!("desk"), &json!("ana")));
    assert_eq!((&fields["profile"], &fields["by"]), (&json!("small"), &json!("bob, uid 7")));
    assert_eq!(fields["expires"], at(1_000).rfc3339());
    assert_eq!(fields["id"].as_str().unwrap().len(), 16);
    assert!(!json!(fields).to_string().contains(&token));
    assert_eq!(fixture.kinds(), []);
    fixture.remove("desk");
    let (events, _) = fixture.update();
    let [(EventKind::ClientRemoved, fields)] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((&fields["name"], &fields["by"]), (&json!("desk"), &json!("eve, uid 8")));
    assert_eq!(fields["removed"], at(5).rfc3339());
    assert_eq!(fixture.kinds(), []);
}

#[test]
fn what_happened_while_no_gateway_ran_is_told_by_the_next() {
    let mut fixture = Fixture::new();
    fixture.add("desk");
    fixture.remove("desk");
    fixture.add("desk");
    let overlap = Duration::from_micros(100);
    let rotation = TokenRotation { overlap, expires: None, by: Some("cleo".to_owned()) };
    fixture.clients().rotate("desk", rotation, at(7)).unwrap();
    let (events, _) = fixture.update();
    let kinds: Vec<_> = events.iter().map(|(kind, _)| *kind).collect();
    let [added, removed, rotated] =
        [EventKind::ClientAdded, EventKind::ClientRemoved, EventKind::ClientRotated];
    assert_eq!(kinds, [added, removed, added, rotated]);
    let [.., (_, second), (_, third)] = events.as_slice() else { panic!() };
    assert_eq!((&third["former"], &third["by"]), (&second["id"], &json!("cleo")));
    assert_eq!(third["former_expires"], at(107).rfc3339());
    assert_eq!(fixture.kinds(), []);
}

#[test]
fn a_token_whose_removal_is_in_the_log_does_not_come_back_with_an_older_file() {
    let mut fixture = Fixture::new();
    fixture.add("leaked");
    fixture.add("desk");
    fixture.kinds();
    let file = fixture.folder.path().join("ledger.db.clients.json");
    let backup = fs::read(&file).unwrap();
    fixture.remove("leaked");
    fixture.kinds();
    fs::write(&file, &backup).unwrap();
    let (events, restored) = fixture.update();
    assert_eq!(restored, ["leaked"]);
    let [(EventKind::ClientRemoved, fields)] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((&fields["name"], &fields["by"]), (&json!("leaked"), &json!(GATEWAY)));
    // The journal removes it from the file; that is no news.
    fixture.remove("leaked");
    assert_eq!(fixture.kinds(), []);
    assert_eq!(fixture.clients().all().unwrap().len(), 1, "the other one is not touched");
}

#[test]
fn a_client_that_a_file_does_not_name_may_be_named_again() {
    let mut fixture = Fixture::new();
    fixture.add("desk");
    fixture.kinds();
    let file = fixture.folder.path().join("ledger.db.clients.json");
    let text = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    assert_eq!(fixture.kinds(), [EventKind::ClientRemoved]);
    fs::write(&file, text).unwrap();
    let (events, restored) = fixture.update();
    assert!(restored.is_empty(), "nobody took it back");
    assert_eq!(events[0].0, EventKind::ClientAdded);
}

#[test]
fn newer_and_broken_records_are_refused() {
    let code = |text: &str| {
        let record = Record { version: 1, value: text.as_bytes().to_vec() };
        JournalRecord::parse(&record).unwrap_err().code()
    };
    assert_eq!(code(r#"{"v":2,"more":1}"#), "ledger.newer");
    assert_eq!(code(r#"{"v":1}"#), "ledger.damaged");
    assert_eq!(code("x"), "ledger.damaged");
}
