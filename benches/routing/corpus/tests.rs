//! Folders as others might give them.

use tempfile::TempDir;

use super::*;

const TOOLS: &str = "{\"id\":\"mail.send\",\"name\":\"send\",\"description\":\"Send a mail\"}\n";
const QUERIES: &str = "{\"query\":\"send a mail\",\"gold\":[\"mail.send\"]}\n";

/// A folder with these files.
fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

fn names_of(folder: &TempDir, wanted: &[&str]) -> Result<Vec<String>, String> {
    let wanted: Vec<String> = wanted.iter().map(|&name| name.to_owned()).collect();
    let found = folders(folder.path(), &wanted).map_err(|error| error.to_string())?;
    Ok(found.into_iter().map(|(name, _)| name).collect())
}

fn read(tools: &[u8], queries: &[u8]) -> Set {
    let folder = folder(&[("tools.jsonl", tools), ("queries.jsonl", queries)]);
    Set::read("mine".to_owned(), folder.path())
}

#[test]
fn sets_are_found_below_the_folder_and_what_is_none_is_passed_over() {
    let (tools, queries) = (TOOLS.as_bytes(), QUERIES.as_bytes());
    let folder = folder(&[
        ("a/tools.jsonl", tools),
        ("a/queries.jsonl", queries),
        ("deep/er/b/tools.jsonl", tools),
        ("deep/er/b/queries.jsonl", queries),
        ("half/tools.jsonl", tools),
        ("1/2/3/4/c/tools.jsonl", tools),
        ("1/2/3/4/c/queries.jsonl", queries),
        ("README.md", b"nothing"),
        ("empty/x", b""),
    ]);
    assert_eq!(names_of(&folder, &[]).unwrap(), ["a", "deep/er/b"]);
    assert_eq!(names_of(&folder, &["a"]).unwrap(), ["a"]);
    let unknown = names_of(&folder, &["nope"]).unwrap_err();
    assert!(unknown.contains("no folder of nope with tools.jsonl"), "{unknown}");
}

#[test]
fn a_folder_without_a_set_says_what_one_is() {
    let empty = folder(&[]);
    assert!(names_of(&empty, &[]).unwrap_err().contains("queries.jsonl"));
    let gone = empty.path().join("gone");
    assert!(folders(&gone, &[]).unwrap_err().to_string().contains("gone"));
    // The folder of one set is that set, under its own name.
    let one = folder(&[("set/tools.jsonl", b""), ("set/queries.jsonl", b"")]);
    let found = folders(&one.path().join("set"), &[]).unwrap();
    assert_eq!(found.first().map(|(name, _)| name.as_str()), Some("set"));
}

#[test]
fn an_odd_line_hides_no_other_and_is_told_by_its_number() {
    let tools = format!("\u{feff}{TOOLS}\n{{\"id\": \r\n[1]\n{TOOLS}{{\"name\":\"no id\"}}\n");
    let queries =
        format!("{QUERIES}no JSON\n{{\"query\":\"without gold\"}}\n{{\"gold\":[\"x\"]}}\n");
    let set = read(tools.as_bytes(), queries.as_bytes());
    assert_eq!((set.items.len(), set.queries.len()), (1, 1));
    let notes = set.notes.join("\n");
    assert!(notes.contains("left out: 4 line(s), the first: tools.jsonl line 3"), "{notes}");
    assert!(notes.contains("left out: 3 line(s), the first: queries.jsonl line 2"), "{notes}");
}

#[test]
fn searches_stand_for_requests_and_requests_without_one_are_left_out() {
    let queries = format!(
        "{QUERIES}{{\"query\":\"hit play\",\"search\":\"start playback\",\"gold\":[\"x\"]}}\n"
    );
    let set = read(TOOLS.as_bytes(), queries.as_bytes()).of_searches();
    let texts: Vec<&str> = set.queries.iter().map(|query| query.text.as_str()).collect();
    assert_eq!(texts, ["start playback"]);
}

#[test]
fn bytes_that_are_no_text_and_empty_files_are_no_end() {
    let set = read(b"", b"");
    assert!(set.items.is_empty() && set.queries.is_empty());
    let broken = [TOOLS.as_bytes(), b"{\"id\":\"a.b\",\"name\":\"\xff\xfe\"}\n"].concat();
    let set = read(&broken, QUERIES.as_bytes());
    assert_eq!(set.items.len(), 2);
    assert_eq!(set.queries.len(), 1);
}

#[test]
fn gold_may_be_one_name_and_names_that_stand_twice_count_once() {
    let queries = b"{\"query\":\"q\",\"gold\":\"a\"}\n{\"query\":\"r\",\"gold\":[\"b\",\"b\",1]}\n";
    let set = read(TOOLS.as_bytes(), queries);
    let gold: Vec<&[String]> = set.queries.iter().map(|query| query.gold.as_slice()).collect();
    assert_eq!(gold, [["a".to_owned()], ["b".to_owned()]]);
}
