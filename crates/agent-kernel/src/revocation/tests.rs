use super::*;

const DAY: Duration = Duration::from_secs(24 * 3_600);

fn table(limit: usize) -> Revocations {
    let lives = RevocableLifetimes { max_lifetime: DAY, last_expiry: Timestamp::from_micros(0) };
    Revocations { table: RwLock::default(), lifetimes: lives, limit }
}

fn covers(revoked: &Revocations, n: u32, at: Timestamp) -> bool {
    let run = RunId::parse("run_1").unwrap();
    let token = TokenId::parse(format!("tok_{n}")).unwrap();
    let principal = PrincipalId::parse(format!("p{n}")).unwrap();
    revoked.is_revoked(&GrantScope { principal: &principal, run: &run, token: Some(&token), at })
}

fn token(n: u32) -> RevocationSubject {
    RevocationSubject::Token(TokenId::parse(format!("tok_{n}")).unwrap())
}

fn revoke(revoked: &Revocations, subject: &RevocationSubject, at: Timestamp) -> RecordWrite {
    revoked.revoke(&Tenant::default(), subject, at)
}

#[test]
fn what_has_ended_is_forgotten_and_what_was_renewed_is_not() {
    let (revoked, start) = (table(8), Timestamp::from_micros(1_000));
    let principal = RevocationSubject::Principal(PrincipalId::parse("p2").unwrap());
    revoke(&revoked, &token(1), start);
    revoke(&revoked, &principal, start);
    let later = start.after(DAY * 20);
    revoke(&revoked, &principal, later);
    let end = start.after(DAY * 32);
    revoke(&revoked, &token(3), end);
    assert!(!covers(&revoked, 1, start), "its token ended long ago");
    assert!(covers(&revoked, 2, later), "revoked again after that");
    assert_eq!(revoked.table.read().unwrap().by_expiry.len(), 2);
    revoke(&revoked, &token(4), end.after(DAY * 32));
    let held = revoked.table.read().unwrap();
    assert_eq!((held.tokens.len(), held.principals.len(), held.by_expiry.len()), (1, 0, 1));
}

#[test]
fn a_full_table_voids_everything_granted_so_far() {
    let (revoked, start) = (table(8), Timestamp::from_micros(1_000));
    let puts: Vec<RecordWrite> = (0..9).map(|n| revoke(&revoked, &token(n), start)).collect();
    assert_eq!(&*puts[7].key.id, "token:tok_7");
    assert_eq!(&*puts[8].key.id, REVOKE_ALL_RECORD);
    for n in 0..20 {
        assert!(covers(&revoked, n, start), "{n}");
    }
    assert!(!covers(&revoked, 20, Timestamp::from_micros(1_001)));
    assert!(revoked.table.read().unwrap().by_expiry.is_empty());
}

#[test]
fn a_revocation_outlives_whatever_it_voids() {
    let mut revoked = table(8);
    let now = Timestamp::from_micros(1_000);
    revoked.lifetimes.max_lifetime = DAY * 90;
    assert_eq!(revoke(&revoked, &token(1), now).expires_at, Some(now.after(DAY * 120)));
    revoked.lifetimes.last_expiry = now.after(DAY * 400);
    assert_eq!(revoke(&revoked, &token(1), now).expires_at, Some(now.after(DAY * 400)));
}

fn load(records: &[(&str, &str)]) -> Result<Revocations, KernelError> {
    use weaver_types::ledger::{Batch, Durability};
    let random = std::sync::Arc::new(weaver_types::SeededRandom::new(1));
    let ledger = weaver_trace_store::MemoryLedger::with_random_id(random).unwrap();
    let mut batch = Batch::new(Durability::Os);
    for (id, value) in records {
        let key = RecordKey::new(Tenant::default(), Namespace::Revocation, *id);
        batch.put.push(RecordWrite { key, value: value.as_bytes().to_vec(), expires_at: None });
    }
    ledger.commit(batch).wait().unwrap();
    let lives = RevocableLifetimes { max_lifetime: DAY, last_expiry: Timestamp::from_micros(0) };
    Revocations::load(&Tenant::default(), &ledger, lives)
}

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

#[test]
fn what_was_revoked_is_revoked_after_a_restart() {
    let revoked = load(&[("token:tok_1", "7"), ("principal:p2", "8"), ("run:run_9", "9")]);
    let revoked = revoked.unwrap();
    assert!(covers(&revoked, 1, at(99)), "a token for good");
    assert!(covers(&revoked, 2, at(8)) && !covers(&revoked, 2, at(9)));
    assert!(!covers(&revoked, 3, at(1)));
    let run = load(&[("run:run_1", "9")]).unwrap();
    assert!(covers(&run, 3, at(9)) && !covers(&run, 3, at(10)));
    let all = load(&[("all", "5"), ("token:tok_1", "7")]).unwrap();
    assert!(covers(&all, 3, at(5)) && !covers(&all, 3, at(6)));
    assert!(covers(&all, 1, at(6)));
}

#[test]
fn a_record_that_is_no_revocation_is_an_error() {
    for (id, value) in [
        ("everything", "7"),
        ("tool:x", "7"),
        ("token:tok_1", "soon"),
        ("all", "soon"),
        ("token:", "7"),
    ] {
        let error = load(&[("token:tok_9", "1"), (id, value)]).err().unwrap().to_string();
        assert!(error.contains(&format!("`{id}` is not a revocation, or has no time")), "{error}");
    }
}

#[test]
fn a_revocation_covers_what_it_names_and_nothing_beside() {
    let revoked = table(8);
    let start = at(1_000);
    revoke(&revoked, &RevocationSubject::Principal(PrincipalId::parse("p1").unwrap()), start);
    assert!(covers(&revoked, 1, start) && !covers(&revoked, 1, at(1_001)));
    assert!(!covers(&revoked, 2, start));
    let put = revoke(&revoked, &RevocationSubject::Run(RunId::parse("run_1").unwrap()), start);
    assert_eq!((&*put.key.id, put.value.as_slice()), ("run:run_1", b"1000".as_slice()));
    assert!(covers(&revoked, 2, start) && !covers(&revoked, 2, at(1_001)));
}

#[test]
fn what_ends_now_is_still_kept() {
    let (revoked, start) = (table(8), at(1_000));
    revoke(&revoked, &token(1), start);
    let end = start.after(DAY * 31);
    revoke(&revoked, &token(2), end);
    assert!(covers(&revoked, 1, start));
    revoke(&revoked, &token(3), end.after(Duration::from_micros(1)));
    assert!(!covers(&revoked, 1, start));
}

fn logged(at: i64, subject: Option<RevocationSubject>) -> LoggedRevocation {
    LoggedRevocation { at: Timestamp::from_micros(at), tenant: None, subject }
}

#[test]
fn what_only_the_log_tells_is_revoked_too() {
    let revoked = load(&[("token:tok_1", "7"), ("token:tok_3", "9")]).unwrap();
    let principal = RevocationSubject::Principal(PrincipalId::parse("p2").unwrap());
    revoked.add_logged(
        &Tenant::default(),
        vec![logged(8, Some(principal)), logged(7, Some(token(1)))],
    );
    assert!(covers(&revoked, 1, at(99)) && covers(&revoked, 3, at(99)));
    assert!(covers(&revoked, 2, at(8)) && !covers(&revoked, 2, at(9)));
    let table = revoked.table.read().unwrap();
    let times: Vec<i64> = table.by_expiry.iter().map(|(_, at, _)| at.micros()).collect();
    assert_eq!(times, [7, 8, 9], "each once, in the order of their ends");
}

#[test]
fn as_many_as_the_table_holds_stay_apart() {
    let revoked = table(2);
    revoked
        .add_logged(&Tenant::default(), vec![logged(1, Some(token(1))), logged(2, Some(token(2)))]);
    assert!(!covers(&revoked, 3, at(1)));
    revoked.add_logged(&Tenant::default(), vec![logged(3, Some(token(3)))]);
    assert!(covers(&revoked, 4, at(3)) && !covers(&revoked, 4, at(4)));
}

#[test]
fn what_another_tenant_revoked_is_not_revoked_here() {
    let revoked = table(8);
    let of = |name: &str, n: u32| LoggedRevocation {
        tenant: Some(Tenant::parse(name).unwrap()),
        ..logged(7, Some(token(n)))
    };
    revoked.add_logged(&Tenant::default(), vec![of("other", 1), of("local", 2)]);
    assert!(!covers(&revoked, 1, at(1)) && covers(&revoked, 2, at(1)));
}

#[test]
fn what_the_log_does_not_say_any_more_may_have_been_anything() {
    let revoked = load(&[]).unwrap();
    revoked.add_logged(&Tenant::default(), vec![logged(5, None), logged(3, None)]);
    assert!(covers(&revoked, 1, at(5)) && !covers(&revoked, 1, at(6)));
}

#[test]
fn an_event_tells_what_was_revoked() {
    let read = |payload: Option<&str>| {
        let event = StoredEvent {
            seq: 1,
            header: Vec::new(),
            salt: None,
            payload: payload.map(|payload| payload.as_bytes().to_vec()),
            durability: weaver_types::ledger::Durability::Disk,
        };
        LoggedRevocation::read(&event, at(4))
    };
    let whole = read(Some(r#"{"principal":"root","subject":"token:tok_1"}"#));
    assert_eq!(whole, logged(4, Some(token(1))));
    for unreadable in [None, Some("{}"), Some(r#"{"subject":"tool:x"}"#), Some("no json")] {
        assert_eq!(read(unreadable), logged(4, None));
    }
}
