use super::*;

fn new(name: &str, expires: Option<Timestamp>) -> NewClient {
    let principal = PrincipalId::parse("ana").unwrap();
    NewClient {
        name: name.to_owned(),
        principal,
        profile: None,
        access: ClientAccess::Sessions,
        expires,
    }
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
    clients.remove("other").unwrap();
    assert!(clients.find(&other, at(1)).unwrap().is_none());
    assert_eq!(clients.remove("other").unwrap_err().code(), "clients.unknown");
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
        let is_gone = clients.revoked_key_check(at(now));
        [brief.as_str(), &first, "oauth:1", "anonymous:"].iter().filter(|key| is_gone(key)).count()
    };
    assert_eq!((gone(99), gone(100)), (0, 1));
    clients.remove("desk").unwrap();
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
            scope.spawn(move || clients().remove(&name("old", number)).unwrap());
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
