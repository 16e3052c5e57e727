use weaver_types::PrincipalId;

use super::*;

fn new(name: &str, expires: Option<Timestamp>) -> NewClient {
    let principal = PrincipalId::parse("ana").unwrap();
    NewClient {
        name: name.to_owned(),
        principal,
        profile: None,
        access: ClientAccess::Sessions,
        expires,
        by: Some("bob, uid 7".to_owned()),
    }
}

fn remove(clients: &ClientRegistry, name: &str) -> Result<(), ClientsError> {
    clients.remove(name, None, at(50))
}

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

#[test]
fn a_token_is_found_until_it_expires_or_is_removed_and_the_file_never_has_it() {
    let root = tempfile::tempdir().unwrap();
    let clients = ClientRegistry::of_store(&root.path().join("ledger.db"));
    assert!(clients.find("weaver_x", at(1)).unwrap().is_none(), "without a file nobody may");
    let token = clients.add(new("desk", Some(at(100))), at(1)).unwrap();
    assert!(token.starts_with(TOKEN_PREFIX));
    let text = fs::read_to_string(&clients.path).unwrap();
    assert!(!text.contains(&token) && text.contains("desk"));
    assert_eq!(clients.find(&token, at(99)).unwrap().unwrap().name, "desk");
    assert!(clients.find(&token, at(100)).unwrap().is_none(), "it has expired");
    assert!(clients.find(&token.replacen('w', "", 1), at(1)).unwrap().is_none());
    let other = clients.add(new("other", None), at(1)).unwrap();
    assert!(clients.find(&other, at(1)).unwrap().is_some(), "the file is read again");
    remove(&clients, "other").unwrap();
    assert!(clients.find(&other, at(1)).unwrap().is_none());
    assert_eq!(remove(&clients, "other").unwrap_err().code(), "clients.unknown");
    assert_eq!(clients.add(new("desk", None), at(1)).unwrap_err().code(), "clients.taken");
    assert_eq!(clients.add(new("a b", None), at(1)).unwrap_err().code(), "clients.name");
}

#[test]
fn the_sessions_of_a_client_are_over_when_it_is_gone_or_somebody_else() {
    let root = tempfile::tempdir().unwrap();
    let clients = ClientRegistry::of_store(&root.path().join("ledger.db"));
    let key = |token: &str| clients.find(token, at(1)).unwrap().unwrap().session_key();
    let brief = key(&clients.add(new("brief", Some(at(100))), at(1)).unwrap());
    let first = key(&clients.add(new("desk", None), at(1)).unwrap());
    let gone = |now: i64| {
        let check = clients.revocation_check(at(now));
        let keys = [brief.as_str(), &first, "oauth:1", "anonymous:"];
        keys.iter().filter(|key| check.is_revoked(key, None)).count()
    };
    assert_eq!((gone(99), gone(100)), (0, 1));
    remove(&clients, "desk").unwrap();
    assert_eq!(gone(99), 1);
    let guest = NewClient { principal: PrincipalId::parse("guest").unwrap(), ..new("desk", None) };
    let second = key(&clients.add(guest, at(1)).unwrap());
    assert!(first != second && gone(99) == 1);
    fs::write(&clients.path, "{").unwrap();
    assert_eq!(gone(100), 0, "the file may be back in a moment");
}

#[test]
fn a_client_can_be_let_in_before_the_gateway_has_ever_run() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("state/.weaver");
    let clients = ClientRegistry::of_store(&folder.join("ledger.db"));
    let token = clients.add(new("desk", None), at(1)).unwrap();
    assert!(clients.find(&token, at(1)).unwrap().is_some());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(&folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "the folder of the store is private");
    }
}

#[test]
fn clients_that_come_and_go_at_once_are_all_accounted_for() {
    let root = tempfile::tempdir().unwrap();
    let clients = || ClientRegistry::of_store(&root.path().join("ledger.db"));
    let name = |kind: &str, number: usize| format!("{kind}-{number}");
    (0..20).for_each(|number| drop(clients().add(new(&name("old", number), None), at(1)).unwrap()));
    std::thread::scope(|scope| {
        for number in 0..20 {
            scope.spawn(move || remove(&clients(), &name("old", number)).unwrap());
            scope.spawn(move || clients().add(new(&name("new", number), None), at(1)).unwrap());
        }
    });
    let left: BTreeSet<_> = clients().all().unwrap().into_iter().map(|one| one.name).collect();
    assert_eq!(left, (0..20).map(|number| name("new", number)).collect());
}

#[test]
fn a_file_that_cannot_be_read_lets_nobody_in() {
    let root = tempfile::tempdir().unwrap();
    let clients = ClientRegistry::of_store(&root.path().join("ledger.db"));
    for text in ["{", r#"{"v":9,"clients":[]}"#, r#"{"v":1,"clients":[],"all":true}"#] {
        fs::write(&clients.path, text).unwrap();
        assert_eq!(clients.find("weaver_x", at(1)).unwrap_err().code(), "clients.file");
    }
}

#[test]
fn a_token_that_is_replaced_stays_good_for_the_overlap_and_shares_the_sessions() {
    let root = tempfile::tempdir().unwrap();
    let clients = ClientRegistry::of_store(&root.path().join("ledger.db"));
    let rotate = |overlap: u64, now: i64| {
        let overlap = Duration::from_micros(overlap);
        clients.rotate("desk", TokenRotation { overlap, expires: None, by: None }, at(now)).unwrap()
    };
    let found = |token: &str, now: i64| clients.find(token, at(now)).unwrap();
    let first = clients.add(new("desk", Some(at(1_000))), at(1)).unwrap();
    let key = found(&first, 1).unwrap().session_key();
    let second = rotate(100, 10);
    for token in [&first, &second] {
        assert_eq!(found(token, 109).unwrap().session_key(), key);
    }
    assert!(found(&first, 110).is_none(), "the overlap is over");
    assert_eq!(
        clients.look_up(&first, at(110)).unwrap(),
        TokenLookup::Expired(Box::new(
            clients.list().unwrap().clients[0].by_token().next().unwrap(),
        ))
    );
    assert!(found(&second, 2_000).is_some(), "the new one has an end of its own");
    // A session that was never used with the new token ends with the old one.
    let digest = |token: &str| token_digest(token);
    let check = |now: i64, token: &str| {
        clients.revocation_check(at(now)).is_revoked(&key, Some(&digest(token)))
    };
    assert_eq!([check(109, &first), check(110, &first), check(110, &second)], [false, true, false]);
    // Without an overlap nobody who had a token comes in, and all sessions end.
    let third = rotate(0, 50);
    assert!(found(&first, 50).is_none() && found(&second, 50).is_none());
    assert_ne!(found(&third, 50).unwrap().session_key(), key);
    assert!(clients.revocation_check(at(50)).is_revoked(&key, None));
    let text = fs::read_to_string(&clients.path).unwrap();
    assert!(!text.contains(&first) && !text.contains(&second) && !text.contains(&third));
}

#[test]
fn an_old_token_stays_good_no_longer_than_it_was() {
    let root = tempfile::tempdir().unwrap();
    let clients = ClientRegistry::of_store(&root.path().join("ledger.db"));
    let first = clients.add(new("desk", Some(at(60))), at(1)).unwrap();
    let rotation =
        TokenRotation { overlap: Duration::from_micros(100), expires: Some(at(900)), by: None };
    clients.rotate("desk", rotation.clone(), at(10)).unwrap();
    assert!(clients.find(&first, at(59)).unwrap().is_some());
    assert!(clients.find(&first, at(60)).unwrap().is_none());
    for _ in 0..20 {
        clients.rotate("desk", rotation.clone(), at(10)).unwrap();
    }
    assert_eq!(clients.all().unwrap()[0].former.len(), MAX_FORMER, "the file stays small");
    assert_eq!(clients.rotate("nobody", rotation, at(1)).unwrap_err().code(), "clients.unknown");
}

#[test]
fn a_removed_token_is_told_from_one_that_nobody_ever_had() {
    let root = tempfile::tempdir().unwrap();
    let clients = ClientRegistry::of_store(&root.path().join("ledger.db"));
    let token = clients.add(new("desk", None), at(1)).unwrap();
    clients.remove("desk", Some("bob, uid 7".to_owned()), at(9)).unwrap();
    let name = "desk".to_owned();
    assert_eq!(clients.look_up(&token, at(9)).unwrap(), TokenLookup::Removed(name));
    assert_eq!(clients.look_up("weaver_x", at(9)).unwrap(), TokenLookup::Unknown);
    let removed = clients.list().unwrap().removed;
    assert_eq!((removed[0].at, removed[0].by.as_deref()), (at(9), Some("bob, uid 7")));
    let again = clients.add(new("desk", None), at(10)).unwrap();
    assert!(clients.find(&again, at(10)).unwrap().is_some());
    assert!(clients.find(&token, at(10)).unwrap().is_none());
}
