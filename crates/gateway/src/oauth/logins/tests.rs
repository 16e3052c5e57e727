use serde_json::json;
use tempfile::TempDir;

use super::*;

const SECRET: &str = "access-token-hunter2";

fn login(token: &str) -> Login {
    let login = json!({
        "resource": "https://a.example/mcp",
        "issuer": "https://login.example",
        "token_endpoint": "https://login.example/token",
        "client": {"client_id": "weaver", "authentication": "none"},
        "access_token": token,
        "refresh_token": "refresh-token-hunter2",
        "scopes": ["a"],
        "obtained": 1_800_000_000_000_000_i64,
    });
    serde_json::from_value(login).unwrap()
}

fn sealed_login(root: &TempDir, server: &str, principal: &str) -> SealedLogin {
    let logins = LoginFolder::for_store(&root.path().join("ledger.db"));
    logins.login(&UpstreamName::parse(server).unwrap(), &PrincipalId::parse(principal).unwrap())
}

fn block<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work)
}

fn saved(root: &TempDir) -> SealedLogin {
    let sealed_login = sealed_login(root, "tracker", "ana");
    assert!(sealed_login.load().unwrap().is_none());
    block(async { sealed_login.lock().await.unwrap().save(&login(SECRET)).unwrap() });
    sealed_login
}

#[test]
fn a_login_comes_back_and_no_file_shows_it() {
    let root = TempDir::new().unwrap();
    let sealed_login = saved(&root);
    let back = serde_json::to_value(sealed_login.load().unwrap().unwrap()).unwrap();
    assert_eq!(back["access_token"], SECRET);
    for file in fs::read_dir(&sealed_login.folder).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(!text.contains("hunter2"), "{text}");
    }
    assert!(!format!("{:?}", sealed_login.load().unwrap()).contains("hunter2"));
}

#[cfg(unix)]
#[test]
fn every_file_is_this_users_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let root = TempDir::new().unwrap();
    let sealed_login = saved(&root);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&sealed_login.folder), 0o700);
    for file in fs::read_dir(&sealed_login.folder).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
}

#[test]
fn a_seal_opens_for_its_server_and_principal_and_key_alone() {
    let root = TempDir::new().unwrap();
    let sealed_login = saved(&root);
    for (server, principal) in [("other", "ana"), ("tracker", "eve")] {
        let other = self::sealed_login(&root, server, principal);
        fs::copy(sealed_login.path(), other.path()).unwrap();
        assert_eq!(other.load().unwrap_err().code(), "oauth.store", "{server} {principal}");
    }
    let text = fs::read_to_string(sealed_login.path()).unwrap();
    let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
    file["v"] = json!(2);
    fs::write(sealed_login.path(), file.to_string()).unwrap();
    assert!(sealed_login.load().unwrap_err().to_string().contains("newer build"));
    fs::write(sealed_login.path(), &text).unwrap();
    fs::write(sealed_login.folder.join(KEY_FILE_NAME), STANDARD.encode([9; KEY_BYTES])).unwrap();
    let error = self::sealed_login(&root, "tracker", "ana").load().unwrap_err().to_string();
    assert!(error.contains("weaver login") && !error.contains("hunter2"), "{error}");
}

/// One writer in all processes: a lock belongs to the file that is open, as another process's does.
#[test]
fn there_is_one_writer() {
    let root = TempDir::new().unwrap();
    let (one, two) = (saved(&root), sealed_login(&root, "tracker", "ana"));
    block(async {
        let first = one.lock().await.unwrap();
        let mut second = two.lock();
        let early = tokio::time::timeout(Duration::from_millis(50), &mut second).await;
        assert!(early.is_err(), "the first one still writes");
        drop(first);
        second.await.unwrap().save(&login("another")).unwrap();
    });
    let back = serde_json::to_value(one.load().unwrap().unwrap()).unwrap();
    assert_eq!(back["access_token"], "another");
}

#[test]
fn what_is_forgotten_is_gone() {
    let root = TempDir::new().unwrap();
    assert!(!block(sealed_login(&root, "tracker", "ana").forget()).unwrap(), "nothing was there");
    let sealed_login = saved(&root);
    assert!(block(sealed_login.forget()).unwrap());
    assert!(sealed_login.load().unwrap().is_none() && !block(sealed_login.forget()).unwrap());
}

#[test]
fn whoever_is_logged_in_at_a_server_is_listed() {
    let root = TempDir::new().unwrap();
    let logins = LoginFolder::for_store(&root.path().join("ledger.db"));
    let tracker = UpstreamName::parse("tracker").unwrap();
    assert!(logins.logins_at(&tracker).unwrap().is_empty(), "there is no folder yet");
    for (server, principal) in [("tracker", "eve"), ("tracker", "ana"), ("other", "bob")] {
        let sealed_login = sealed_login(&root, server, principal);
        block(async { sealed_login.lock().await.unwrap().save(&login(SECRET)).unwrap() });
    }
    // The seal of a copy holds, but it is nobody's login.
    let (from, to) =
        (sealed_login(&root, "tracker", "ana").path(), logins.folder.join("copy.json"));
    fs::copy(from, to).unwrap();
    let found = logins.logins_at(&tracker).unwrap();
    let names: Vec<String> = found.iter().map(|one| one.principal.to_string()).collect();
    assert_eq!(names, ["ana", "eve"]);
    assert!(found.iter().all(|one| matches!(one.login, Ok(Some(_)))));
    fs::write(logins.folder.join(KEY_FILE_NAME), STANDARD.encode([9; KEY_BYTES])).unwrap();
    assert!(logins.logins_at(&tracker).unwrap().iter().all(|one| one.login.is_err()));
}
