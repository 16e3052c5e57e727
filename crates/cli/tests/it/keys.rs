//! Keys and signing, through the command.

use std::fs;
use std::process::Command;

use crate::support::{Folder, Run, mode, weaver, weaver_with};

const PASSPHRASE: &str = "correct horse\n";

fn new_key(folder: &Folder, name: &str, passphrase: &str) -> Run {
    let file = folder.arg(name);
    let args = ["keys", "new", "--out", &file, "--id", "root", "--passphrase-fd", "0", "--json"];
    weaver_with(&args, passphrase)
}

fn sign(folder: &Folder, documents: &[&str], passphrase: &str) -> Run {
    let mut args = vec!["sign".to_owned()];
    args.extend(documents.iter().map(|name| folder.arg(name)));
    let rest = ["--key", &folder.arg("root.key"), "--passphrase-fd", "0", "--json"];
    args.extend(rest.map(str::to_owned));
    weaver_with(&args, passphrase)
}

#[test]
fn from_a_new_key_over_signing_to_a_clean_check() {
    let folder = Folder::new();
    let made = new_key(&folder, "root.key", PASSPHRASE);
    assert_eq!(made.code, 0, "{made:?}");
    assert_eq!(mode(&folder.path("root.key")), 0o600);
    let public = made.json()["public"].as_str().unwrap().to_owned();
    let shown = weaver(&["keys", "show", &folder.arg("root.key")]);
    assert!(shown.code == 0 && shown.out.contains(&public), "{shown:?}");

    let config = fs::read_to_string(folder.path("weaver.toml")).unwrap();
    let lines: Vec<String> = config
        .lines()
        .map(|line| match line.starts_with("root = ") {
            true => format!("root = \"{public}\""),
            false => line.to_owned(),
        })
        .collect();
    folder.write("weaver.toml", &lines.join("\n"));
    assert_eq!(folder.check(&["--json"]).finding_codes(), ["policy.signature_key"; 3]);

    let documents = ["policy/policy.toml", "policy/contracts.toml", "policy/keys.toml"];
    let signed = sign(&folder, &documents, PASSPHRASE);
    assert_eq!((signed.code, signed.out.lines().count()), (0, 3), "{signed:?}");
    let checked = folder.check(&[]);
    assert_eq!(checked.code, 0, "{checked:?}");
    let left: Vec<_> = fs::read_dir(folder.path("policy")).unwrap().collect();
    assert_eq!(left.len(), 6, "no temporary file is left: {left:?}");
}

/// The key that is taken when none is named is one that the configuration trusts.
#[test]
fn the_default_key_of_another_root_signs_nothing() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path(".weaver/keys")).unwrap();
    assert_eq!(new_key(&folder, ".weaver/keys/root.key", PASSPHRASE).code, 0);
    let before = fs::read(folder.path("policy/policy.toml.sig")).unwrap();
    let policy = folder.arg("policy/policy.toml");
    let refused = weaver_with(&["sign", &policy, "--passphrase-fd", "0"], PASSPHRASE);
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(refused.err.contains("trusts another root key"), "{refused:?}");
    assert_eq!(fs::read(folder.path("policy/policy.toml.sig")).unwrap(), before);
}

#[test]
fn a_signature_behind_a_link_is_replaced_there_and_a_new_one_can_be_read() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = Folder::new();
    assert_eq!(new_key(&folder, "root.key", PASSPHRASE).code, 0);
    let (link, real) = (folder.path("policy/policy.toml.sig"), folder.path("policy.sig"));
    fs::rename(&link, &real).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&real, &link).unwrap();
    let before = fs::read(&real).unwrap();
    fs::remove_file(folder.path("policy/keys.toml.sig")).unwrap();
    let run = sign(&folder, &["policy/policy.toml", "policy/keys.toml"], PASSPHRASE);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_ne!(fs::read(&real).unwrap(), before);
    assert_eq!(mode(&real), 0o640);
    // A new signature has the permissions of any new file.
    fs::write(folder.path("other"), "").unwrap();
    assert_eq!(mode(&folder.path("policy/keys.toml.sig")), mode(&folder.path("other")));
}

#[test]
fn a_wrong_passphrase_has_its_own_error_and_changes_nothing() {
    let folder = Folder::new();
    assert_eq!(new_key(&folder, "root.key", PASSPHRASE).code, 0);
    let before = fs::read(folder.path("policy/policy.toml.sig")).unwrap();
    let run = sign(&folder, &["policy/policy.toml"], "wrong horse\n");
    assert_eq!(run.code, 6, "{run:?}");
    assert!(run.err.contains("secret.wrong_passphrase"), "{run:?}");
    assert_eq!(fs::read(folder.path("policy/policy.toml.sig")).unwrap(), before);
}

#[test]
fn a_passphrase_comes_from_any_descriptor_and_is_bounded() {
    let folder = Folder::new();
    let out = Command::new("sh")
        .arg("-c")
        .arg("printf 'correct horse\\n' | { \"$0\" \"$@\" 3<&0 </dev/null; }")
        .arg(env!("CARGO_BIN_EXE_weaver"))
        .args(["keys", "new", "--id", "root", "--passphrase-fd", "3", "--out"])
        .arg(folder.path("root.key"))
        .output()
        .unwrap();
    assert!(out.status.success(), "{out:?}");
    assert_eq!(sign(&folder, &["policy/policy.toml"], PASSPHRASE).code, 0);

    for short in ["", "\n", "seven77\n", &"x".repeat(5000)] {
        let run = new_key(&folder, "other.key", short);
        assert_eq!(run.code, 6, "{run:?}");
        assert!(!folder.path("other.key").exists());
    }
}

/// Changes the passphrase of `root.key`; the two passphrases come from descriptors 3 and 4.
fn change(folder: &Folder, from: &str, to: &str) -> Run {
    let script = format!(
        "printf '%s\\n' '{from}' > from; printf '%s\\n' '{to}' > to; \"$0\" keys passphrase root.key \
         --passphrase-fd 3 3< from --new-passphrase-fd 4 4< to --json"
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_weaver")]);
    Run::new(command.current_dir(folder.path(".")).output().unwrap())
}

#[test]
fn a_changed_passphrase_opens_the_same_key_and_the_old_one_opens_nothing() {
    let folder = Folder::new();
    let made = new_key(&folder, "root.key", PASSPHRASE).json();
    let changed = change(&folder, "correct horse", "battery staple");
    assert_eq!(changed.json()["public"], made["public"], "{changed:?}");
    assert_eq!(mode(&folder.path("root.key")), 0o600);
    assert_eq!(sign(&folder, &["policy/policy.toml"], "battery staple\n").code, 0);
    assert_eq!(sign(&folder, &["policy/policy.toml"], PASSPHRASE).code, 6);
}

#[test]
fn a_passphrase_that_cannot_be_changed_leaves_the_file_as_it_was() {
    let folder = Folder::new();
    assert_eq!(new_key(&folder, "root.key", PASSPHRASE).code, 0);
    let before = fs::read(folder.path("root.key")).unwrap();
    for (from, to) in [("wrong horse", "battery staple"), ("correct horse", "short")] {
        let run = change(&folder, from, to);
        assert_eq!(run.code, 6, "{run:?}");
        assert_eq!(fs::read(folder.path("root.key")).unwrap(), before);
    }
}

#[test]
fn a_key_file_is_never_overwritten() {
    let folder = Folder::new();
    folder.write("root.key", "mine");
    let run = new_key(&folder, "root.key", PASSPHRASE);
    assert!(run.code == 3 && run.err.contains("secret.exists"), "{run:?}");
    assert_eq!(fs::read_to_string(folder.path("root.key")).unwrap(), "mine");
}

#[test]
fn an_unreadable_key_is_named() {
    let folder = Folder::new();
    let run = sign(&folder, &["policy/policy.toml"], PASSPHRASE);
    assert!(run.code == 3 && run.err.contains("secret.unreadable"), "{run:?}");
    folder.write("root.key", "{\"v\": 1}");
    let run = sign(&folder, &["policy/policy.toml"], PASSPHRASE);
    assert!(run.code == 3 && run.err.contains("secret.malformed"), "{run:?}");
    folder.write("root.key", "{\"kind\":\"weaver-key\",\"v\":2}");
    let run = sign(&folder, &["policy/policy.toml"], PASSPHRASE);
    assert!(run.code == 3 && run.err.contains("secret.newer"), "{run:?}");
}

#[test]
fn nothing_is_signed_when_one_document_is_wrong() {
    let folder = Folder::new();
    assert_eq!(new_key(&folder, "root.key", PASSPHRASE).code, 0);
    let before = fs::read(folder.path("policy/keys.toml.sig")).unwrap();
    folder.append("policy/policy.toml", "rulez = 1\n");
    folder.write("policy/other.toml", "kind = \"nothing\"\n");
    let run = sign(&folder, &["policy/keys.toml", "policy/other.toml"], PASSPHRASE);
    assert!(run.code == 3 && run.err.contains("other.toml"), "{run:?}");
    let run = sign(&folder, &["policy/keys.toml", "policy/policy.toml"], PASSPHRASE);
    assert_eq!((run.code, run.finding_codes()), (3, vec!["policy.unknown_key".to_owned()]));
    assert_eq!(fs::read(folder.path("policy/keys.toml.sig")).unwrap(), before);
}
