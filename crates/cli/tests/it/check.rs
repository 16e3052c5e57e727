//! `weaver check`: configuration and documents, all findings at once.

use std::fs;

use weaver_types::signature::SigningKey;

use crate::support::{Folder, HEAD, weaver};

#[test]
fn what_is_right_is_accepted() {
    let folder = Folder::new();
    let run = folder.check(&["--json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let report = run.json();
    assert_eq!(report["ok"], true);
    assert_eq!(report["servers"][0], "files");
    assert_eq!(report["documents"].as_array().unwrap().len(), 3);
    assert!(report["notes"][0].as_str().unwrap().contains("no rules"), "{report}");
    let run = folder.check(&[]);
    assert!(run.code == 0 && run.out.contains("policy") && run.err.is_empty(), "{run:?}");
}

#[test]
fn a_changed_document_is_refused() {
    let folder = Folder::new();
    folder.append("policy/policy.toml", "expires = 2099-01-01T00:00:00Z\n");
    let run = folder.check(&["--json"]);
    assert_eq!((run.code, run.out.as_str()), (3, ""));
    assert_eq!(run.finding_codes(), ["policy.signature_digest"]);
}

#[test]
fn a_signature_of_another_key_or_another_document_is_refused() {
    let folder = Folder::new();
    folder.sign_with("policy", &SigningKey::from_seed([8; 32]));
    fs::copy(folder.path("policy/contracts.toml.sig"), folder.path("policy/keys.toml.sig"))
        .unwrap();
    let run = folder.check(&["--json"]);
    assert_eq!(run.finding_codes(), ["policy.signature_kind", "policy.signature_key"]);
}

#[test]
fn a_garbled_signature_is_refused() {
    let folder = Folder::new();
    let path = folder.path("policy/policy.toml.sig");
    let text = fs::read_to_string(&path).unwrap();
    let at = text.find("\"signature\":\"").unwrap() + 13;
    let mut bytes = text.into_bytes();
    bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
    fs::write(&path, bytes).unwrap();
    assert_eq!(folder.check(&["--json"]).finding_codes(), ["policy.signature_invalid"]);
    fs::write(&path, "{").unwrap();
    assert_eq!(folder.check(&["--json"]).finding_codes(), ["policy.signature_malformed"]);
}

#[test]
fn findings_of_configuration_and_documents_come_together() {
    let folder = Folder::new();
    folder.append("weaver.toml", "[gateway]\nmode = \"x\"\n");
    fs::remove_file(folder.path("policy/keys.toml")).unwrap();
    fs::remove_file(folder.path("policy/contracts.toml.sig")).unwrap();
    folder.write("policy/policy.toml", &format!("kind = \"policy\"\n{HEAD}rulez = 1\n"));
    let mut codes = folder.check(&["--json"]).finding_codes();
    codes.sort();
    assert_eq!(
        codes,
        [
            "config.unreadable",
            "config.word",
            "policy.signature_digest",
            "policy.signature_missing",
            "policy.unknown_key",
        ]
    );
    let run = folder.check(&[]);
    assert!(run.err.contains("keys.toml") && run.err.contains("→"), "{}", run.err);
}

#[test]
fn an_expired_document_is_refused() {
    let folder = Folder::new();
    folder.append("policy/policy.toml", "expires = \"2020-01-01T00:00:00Z\"\n");
    folder.sign("policy");
    assert_eq!(folder.check(&["--json"]).finding_codes(), ["policy.expired"]);
}

#[test]
fn a_missing_configuration_has_a_remedy() {
    let run = weaver(&["check", "--config", "/nonexistent/weaver.toml"]);
    assert!(run.code == 3 && run.err.contains("--config"), "{run:?}");
}

#[test]
fn a_principal_that_the_policy_does_not_name_is_found() {
    let folder = Folder::new();
    folder.write("policy/policy.toml", &format!("kind = \"policy\"\n{HEAD}"));
    folder.sign("policy");
    let run = folder.check(&["--json"]);
    assert_eq!((run.code, run.finding_codes()), (3, vec!["config.unknown_principal".to_owned()]));
}

#[test]
fn what_is_missing_or_lies_open_to_servers_is_noted() {
    let folder = Folder::new();
    folder.append(
        "weaver.toml",
        "cwd = \"/nowhere\"\nconfine = { read = [\"/also-nowhere\"], network = \"none\" }\n",
    );
    folder.write("backup/ledger.db", "");
    folder.write("other/notes.db", "");
    let report = folder.check(&["--json"]).json();
    let notes = report["notes"].to_string();
    for named in ["/nowhere", "/also-nowhere", "/backup looks like a copy"] {
        assert!(notes.contains(named), "{named}: {report}");
    }
    assert!(!notes.contains("other") && !notes.contains(".weaver"), "{report}");
}

#[test]
fn what_would_keep_a_gateway_from_starting_is_a_finding() {
    let folder = Folder::new();
    folder.append("weaver.toml", "[log]\nkey = \"none.key\"\n");
    let run = folder.check(&["--json"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.err.contains("none.key"), "{run:?}");
}

/// The separation of duties hangs on that name.
#[test]
fn an_approver_whose_principals_name_nobody_is_noted() {
    let folder = Folder::new();
    let key = SigningKey::from_seed([9; 32]).public();
    let approver = |principals: &str| {
        format!(
            "[approvers.bob]\nkey = \"{key}\"\ntrust = 900\nclearance = \"internal\"\n\
             principals = [{principals}]\n"
        )
    };
    let notes = |principals: &str| {
        folder
            .write("policy/keys.toml", &format!("kind = \"keys\"\n{HEAD}{}", approver(principals)));
        folder.sign("keys");
        folder.check(&["--json"]).json()["notes"].to_string()
    };
    let noted = notes("\"onwer\"");
    assert!(noted.contains("approver `bob`") && noted.contains("`onwer`"), "{noted}");
    assert!(!notes("\"owner\"").contains("bob"));
}
