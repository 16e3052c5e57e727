use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::json;
use weaver_agent_kernel::{PreconditionChecker, PreconditionError};
use weaver_types::{JsonPointer, PathSource, Precondition};

use super::LocalPreconditions;

fn checker(folder: &Path) -> LocalPreconditions {
    LocalPreconditions::new([7; 32]).in_folder(folder)
}

fn argument() -> PathSource {
    PathSource::Argument(JsonPointer::parse("/path").unwrap())
}

fn see(checker: &LocalPreconditions, what: Precondition) -> Result<String, PreconditionError> {
    checker.observe(&what, &json!({ "path": "a.txt" }))
}

fn file_digest() -> Precondition {
    Precondition::FileDigest { file: argument() }
}

#[test]
fn a_file_is_told_by_its_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let checker = checker(folder.path());
    let path = folder.path().join("a.txt");
    assert_eq!(see(&checker, file_digest()).unwrap(), "absent");
    fs::write(&path, "one").unwrap();
    let one = see(&checker, file_digest()).unwrap();
    assert_eq!(one, "sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed");
    fs::write(&path, "two").unwrap();
    assert_ne!(see(&checker, file_digest()).unwrap(), one);
    fs::write(&path, "one").unwrap();
    assert_eq!(see(&checker, file_digest()).unwrap(), one);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(see(&checker, file_digest()).unwrap(), "folder");
}

#[test]
fn what_is_too_large_or_never_ends_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let checker = checker(folder.path()).with_largest_file(3);
    fs::write(folder.path().join("a.txt"), "one").unwrap();
    assert!(see(&checker, file_digest()).is_ok());
    fs::write(folder.path().join("a.txt"), "four").unwrap();
    let error = see(&checker, file_digest()).unwrap_err();
    assert_eq!(error.code(), "precondition.too_large");
    let endless = Precondition::FileDigest { file: PathSource::Path("/dev/zero".to_owned()) };
    assert_eq!(see(&checker, endless).unwrap_err().code(), "precondition.unreadable");
}

#[cfg(unix)]
#[test]
fn a_file_is_read_through_links_and_below_a_file_there_is_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let checker = checker(folder.path());
    fs::write(folder.path().join("b.txt"), "one").unwrap();
    std::os::unix::fs::symlink("b.txt", folder.path().join("a.txt")).unwrap();
    let one = see(&checker, file_digest()).unwrap();
    fs::write(folder.path().join("b.txt"), "two").unwrap();
    assert_ne!(see(&checker, file_digest()).unwrap(), one);
    let below = Precondition::FileDigest { file: PathSource::Path("b.txt/c".to_owned()) };
    assert_eq!(see(&checker, below).unwrap_err().code(), "precondition.unreadable");
}

#[test]
fn a_file_is_told_by_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let checker = checker(folder.path());
    let mtime = || Precondition::FileMtime { file: argument() };
    assert_eq!(see(&checker, mtime()).unwrap(), "absent");
    let file = fs::File::create(folder.path().join("a.txt")).unwrap();
    let at = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_700_000_000_123_456_789);
    file.set_modified(at).unwrap();
    assert_eq!(see(&checker, mtime()).unwrap(), "1700000000123456789 ns");
    file.set_modified(at + Duration::from_secs(1)).unwrap();
    assert_eq!(see(&checker, mtime()).unwrap(), "1700000001123456789 ns");
}

#[test]
fn arguments_that_name_no_path_are_an_error() {
    let checker = checker(Path::new("/"));
    for arguments in [json!({}), json!({ "path": 7 }), json!({ "path": "" })] {
        assert!(checker.observe(&file_digest(), &arguments).is_err(), "{arguments}");
    }
    assert!(checker.observe(&file_digest(), &json!({ "path": "a\0b" })).is_err());
}

#[test]
fn an_environment_value_never_stands_in_clear() {
    let mut checker = checker(Path::new("/"));
    let seen = |checker: &LocalPreconditions, name: &str| {
        see(checker, Precondition::Environment { name: name.to_owned() }).unwrap()
    };
    checker.environment = |name| (name == "MODE").then(|| b"hunter2".to_vec());
    let one = seen(&checker, "MODE");
    assert!(one.starts_with("sha256:") && !one.contains("hunter2"));
    assert_eq!(seen(&checker, "MODE"), one);
    assert_eq!(seen(&checker, "OTHER"), "absent");
    checker.environment = |_| Some(b"hunter3".to_vec());
    assert_ne!(seen(&checker, "MODE"), one);
    checker.environment = |_| Some(b"hunter2".to_vec());
    let other = LocalPreconditions { salt: [1; 32], ..checker };
    assert_ne!(seen(&other, "MODE"), one, "a digest without salt is guessed");
    assert_eq!(super::variable("A=B"), None);
    assert!(super::variable("PATH").is_some());
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let done = Command::new("git")
        .current_dir(folder)
        .args(["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

fn head(folder: &Path) -> Result<String, PreconditionError> {
    let repository = PathSource::Path(folder.to_str().unwrap().to_owned());
    see(&checker(Path::new("/")), Precondition::GitHead { repository })
}

fn parse_commit(folder: &Path, text: &str) -> String {
    git(folder, &["commit", "--quiet", "--allow-empty", "-m", text]);
    git(folder, &["rev-parse", "HEAD"])
}

#[test]
fn the_head_of_a_repository_is_the_one_that_git_tells() {
    let folder = tempfile::tempdir().unwrap();
    let repository = folder.path().join("work");
    fs::create_dir(&repository).unwrap();
    assert!(head(&repository).is_err(), "no repository");
    git(&repository, &["init", "--quiet", "--initial-branch", "main"]);
    assert_eq!(head(&repository).unwrap(), "refs/heads/main unborn");
    let first = parse_commit(&repository, "first");
    assert_eq!(head(&repository).unwrap(), format!("refs/heads/main {first}"));
    let second = parse_commit(&repository, "second");
    assert_eq!(head(&repository).unwrap(), format!("refs/heads/main {second}"));

    git(&repository, &["pack-refs", "--all"]);
    assert!(!repository.join(".git/refs/heads/main").exists());
    assert_eq!(head(&repository).unwrap(), format!("refs/heads/main {second}"), "packed");
    let third = parse_commit(&repository, "third");
    assert_eq!(head(&repository).unwrap(), format!("refs/heads/main {third}"), "loose goes first");

    git(&repository, &["switch", "--quiet", "--create", "side"]);
    assert_eq!(head(&repository).unwrap(), format!("refs/heads/side {third}"), "another branch");
    git(&repository, &["switch", "--quiet", "--detach", &first]);
    assert_eq!(head(&repository).unwrap(), first);
}

#[test]
fn linked_working_trees_and_bare_repositories_are_read_too() {
    let folder = tempfile::tempdir().unwrap();
    let (work, linked) = (folder.path().join("work"), folder.path().join("linked"));
    fs::create_dir(&work).unwrap();
    git(&work, &["init", "--quiet", "--initial-branch", "main"]);
    let first = parse_commit(&work, "first");
    git(&work, &["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()]);
    assert_eq!(head(&linked).unwrap(), format!("refs/heads/side {first}"));
    let second = parse_commit(&linked, "second");
    assert_eq!(head(&linked).unwrap(), format!("refs/heads/side {second}"));
    assert_eq!(head(&work).unwrap(), format!("refs/heads/main {first}"));
    git(&work, &["pack-refs", "--all"]);
    assert_eq!(head(&linked).unwrap(), format!("refs/heads/side {second}"));

    git(folder.path(), &["clone", "--quiet", "--bare", "work", "bare"]);
    assert_eq!(head(&folder.path().join("bare")).unwrap(), format!("refs/heads/main {first}"));
}

#[test]
fn a_head_that_leads_nowhere_or_outside_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let repository = folder.path();
    git(repository, &["init", "--quiet", "--initial-branch", "main"]);
    let file = repository.join(".git/HEAD");
    for text in ["ref: ../../outside", "ref: refs/../../outside", "ref: /etc/passwd", "abc", ""] {
        fs::write(&file, text).unwrap();
        assert!(head(repository).is_err(), "{text}");
    }
    fs::write(&file, "ref: refs/heads/a").unwrap();
    fs::write(repository.join(".git/refs/heads/a"), "ref: refs/heads/b").unwrap();
    fs::write(repository.join(".git/refs/heads/b"), "ref: refs/heads/a").unwrap();
    assert!(head(repository).is_err(), "a circle");
    fs::create_dir(repository.join(".git/reftable")).unwrap();
    assert!(head(repository).unwrap_err().to_string().contains("reftable"));
}
