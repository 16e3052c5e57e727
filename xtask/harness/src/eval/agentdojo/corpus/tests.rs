//! Folders as others might give them.

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::eval::agentdojo::scenario;

const FILES: [&str; 4] = ["tools.json", "user_tasks.jsonl", "injection_tasks.jsonl", "pairs.jsonl"];

/// A folder with one suite in order.
fn good() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let tool = json!({ "suite": "bank", "name": "send_money", "description": "Send money" });
    let call = json!({ "tool": "send_money", "args": {}, "output": "ok" });
    let task = json!({ "suite": "bank", "id": "user_task_0", "prompt": "Pay", "steps": [call],
        "tainting_steps": [0] });
    let attack = json!({ "suite": "bank", "id": "injection_task_0", "goal": "g", "steps": [call] });
    let pair = json!({ "suite": "bank", "user_task": "user_task_0",
        "injection_task": "injection_task_0" });
    for (name, value) in FILES.into_iter().zip([json!({ "tools": [tool] }), task, attack, pair]) {
        write(&folder, name, format!("{value}\n"));
    }
    folder
}

fn write(folder: &TempDir, name: &str, text: impl AsRef<[u8]>) {
    fs::write(folder.path().join(name), text).unwrap();
}

fn said(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap()
}

fn read(folder: &TempDir) -> Result<Corpus> {
    Corpus::read(folder.path(), None)
}

/// All that is said of a folder that cannot be used.
fn refused(folder: &TempDir) -> String {
    format!("{:#}", read(folder).err().unwrap())
}

#[test]
fn a_folder_in_order_is_read_whatever_lies_beside() {
    let folder = good();
    write(&folder, "README.md", "nothing");
    write(&folder, "more.jsonl", "no JSON at all");
    fs::create_dir(folder.path().join("notes")).unwrap();
    let corpus = read(&folder).unwrap();
    let [bank] = corpus.suites.as_slice() else { panic!("one suite") };
    assert_eq!((bank.name.as_str(), bank.tasks.len(), bank.pairs.len()), ("bank", 1, 1));
    // The marks and ends of lines of other systems.
    for name in FILES {
        let text = said(&folder, name).replace('\n', "\r\n\r\n");
        write(&folder, name, format!("\u{feff}{text}"));
    }
    assert_eq!(read(&folder).unwrap().suites[0].pairs.len(), 1);
}

#[test]
fn what_is_missing_or_empty_is_named() {
    for name in FILES {
        let folder = good();
        fs::remove_file(folder.path().join(name)).unwrap();
        let text = refused(&folder);
        assert!(text.contains(name) && text.contains("cannot be read"), "{text}");
        fs::create_dir(folder.path().join(name)).unwrap();
        assert!(refused(&folder).contains(name));
    }
    let folder = good();
    write(&folder, "tools.json", "");
    assert!(refused(&folder).contains("tools.json is not JSON"), "{}", refused(&folder));
    write(&folder, "tools.json", "{}");
    assert!(refused(&folder).contains("no list of tools"));
    let folder = good();
    write(&folder, "user_tasks.jsonl", "");
    write(&folder, "pairs.jsonl", "");
    assert!(read(&folder).unwrap().suites.is_empty());
}

#[test]
fn a_broken_line_is_named_by_file_and_number() {
    for name in ["user_tasks.jsonl", "injection_tasks.jsonl", "pairs.jsonl"] {
        for (line, problem) in [
            ("{\"suite\": \"bank\",", "is not JSON"),
            ("[1]", "no text"),
            ("{\"suite\": \"bank\", \"id\": 7, \"user_task\": 7}", "no text"),
        ] {
            let folder = good();
            write(&folder, name, format!("{}\n{line}\n", said(&folder, name)));
            let text = refused(&folder);
            assert!(text.contains(&format!("{name} line 3")), "{text}");
            assert!(text.contains(problem), "{text}");
        }
        let folder = good();
        write(&folder, name, b"\xff\xfe{}\n");
        assert!(refused(&folder).contains(name));
    }
}

#[test]
fn names_that_lead_nowhere_or_stand_twice_are_told() {
    let folder = good();
    let pair = said(&folder, "pairs.jsonl");
    for (from, to, told) in [
        ("user_task_0", "user_task_9", "there is no task user_task_9"),
        ("injection_task_0", "injection_task_9", "there is no injection_task_9"),
        ("\"bank\"", "\"other\"", "there is no task"),
    ] {
        write(&folder, "pairs.jsonl", pair.replace(from, to));
        let text = refused(&folder);
        assert!(text.contains(told) && text.contains("pairs.jsonl line 1"), "{text}");
    }
    for name in ["user_tasks.jsonl", "injection_tasks.jsonl"] {
        let folder = good();
        write(&folder, name, said(&folder, name).repeat(2));
        let text = refused(&folder);
        assert!(text.contains("is there already") && text.contains("line 2"), "{text}");
    }
    let folder = good();
    let unknown = Corpus::read(folder.path(), Some("nope")).err().unwrap().to_string();
    assert_eq!(unknown, "there is no suite `nope`; there are: bank");
    assert_eq!(Corpus::read(folder.path(), Some("bank")).unwrap().suites.len(), 1);
}

#[test]
fn a_step_that_is_not_there_shifts_no_call_of_the_attacker() {
    let folder = good();
    for (steps, own) in [("[0]", 1), ("[7]", 1), ("[]", 1)] {
        let task = said(&folder, "user_tasks.jsonl");
        let odd = task.replace("\"tainting_steps\":[0]", &format!("\"tainting_steps\":{steps}"));
        write(&folder, "user_tasks.jsonl", odd);
        let corpus = read(&folder).unwrap();
        assert_eq!(scenario::before_attack(&corpus.suites[0].tasks[0]), own, "{steps}");
        write(&folder, "user_tasks.jsonl", task);
    }
}

#[test]
fn any_name_of_a_suite_makes_a_namespace() {
    for (name, surface) in [
        ("workspace", "workspace"),
        ("Office Suite 2", "Office-Suite-2"),
        ("v1.2/bank", "v1-2-bank"),
        ("2nd", "s2nd"),
        ("", "s"),
    ] {
        let suite = Suite { name: name.to_owned(), ..Suite::default() };
        assert_eq!(suite.surface(), surface);
    }
}
