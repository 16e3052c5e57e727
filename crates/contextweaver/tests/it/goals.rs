//! Goals as people put them, over the tools of public MCP servers.

use std::collections::BTreeMap;

use contextweaver::catalog::Catalog;
use contextweaver::route::Router;
use serde_json::Value;

const SERVERS: &str = include_str!("../data/goals/servers/tools.jsonl");
const MACHINES: &str = include_str!("../data/goals/machines/tools.jsonl");
const OFFICE: &str = include_str!("../data/goals/office/tools.jsonl");
const APPS: &str = include_str!("../data/goals/apps/tools.jsonl");
const HOME: &str = include_str!("../data/goals/home/tools.jsonl");
const WORK: &str = include_str!("../data/goals/work/tools.jsonl");
const DESK: &str = include_str!("../data/goals/desk/tools.jsonl");
const SITE: &str = include_str!("../data/goals/site/tools.jsonl");
const MIXED: &str = include_str!("../data/goals/mixed/tools.jsonl");
const FRESH: &str = include_str!("../data/goals/fresh/tools.jsonl");
/// The tools of each catalog, as their servers list them.
pub(crate) const TOOLS: [&str; 10] =
    [SERVERS, MACHINES, OFFICE, APPS, HOME, WORK, DESK, SITE, MIXED, FRESH];
/// The goals over each of them.
const GOALS: [&str; 10] = [
    include_str!("../data/goals/servers/queries.jsonl"),
    include_str!("../data/goals/machines/queries.jsonl"),
    include_str!("../data/goals/office/queries.jsonl"),
    include_str!("../data/goals/apps/queries.jsonl"),
    include_str!("../data/goals/home/queries.jsonl"),
    include_str!("../data/goals/work/queries.jsonl"),
    include_str!("../data/goals/desk/queries.jsonl"),
    include_str!("../data/goals/site/queries.jsonl"),
    include_str!("../data/goals/mixed/queries.jsonl"),
    include_str!("../data/goals/fresh/queries.jsonl"),
];

fn router(tools: &str) -> Router {
    Router::new(Catalog::from_jsonl(tools).unwrap()).unwrap()
}

/// By part: of how many goals any right tool is among the first five, and how many there are.
fn found(router: &Router, goals: &str, counts: &mut BTreeMap<String, (usize, usize)>) {
    for goal in goals.lines() {
        let goal: Value = serde_json::from_str(goal).unwrap();
        let right = goal["gold"].as_array().unwrap();
        let hits = router.route(goal["query"].as_str().unwrap(), 5);
        let any = hits.iter().any(|hit| right.iter().any(|id| id == hit.id.as_str()));
        let (hit, all) = counts.entry(goal["part"].as_str().unwrap().to_owned()).or_default();
        *hit += usize::from(any);
        *all += 1;
    }
}

#[test]
fn everyday_words_find_a_right_tool_among_five() {
    let mut counts = BTreeMap::new();
    for (tools, goals) in TOOLS.iter().zip(GOALS) {
        found(&router(tools), goals, &mut counts);
    }
    assert!(counts.values().map(|(_, all)| all).sum::<usize>() >= 300, "{counts:?}");
    // Of these parts a third was looked at only once, after the lexicon was finished.
    let fresh = |part: &str| part.starts_with("apps") || part.starts_with("second");
    for (part, (hit, all)) in &counts {
        // Over servers that neither rules nor lexicon were written for.
        let unseen = part.starts_with("unseen");
        let least = match (unseen, fresh(part)) {
            // Written last, and looked at once.
            (true, _) if part.ends_with("mixed") => 33,
            (true, _) if part.ends_with("fresh") => 27,
            (true, _) => 45,
            (false, true) => 75,
            (false, false) => 80,
        };
        assert!(hit * 100 >= all * least, "{part}: {hit} of {all}");
    }
    for half in ["tuned", "kept"] {
        let parts = counts.iter().filter(|(part, _)| part.ends_with(half) && !fresh(part));
        let (hit, all) = parts.fold((0, 0), |sum, (_, (hit, all))| (sum.0 + hit, sum.1 + all));
        assert!(hit * 100 >= all * 90, "{half}: {hit} of {all}");
    }
}

/// No list of words was written for these servers: it is the meaning of whole requests that finds
/// their tools.
#[cfg(feature = "token-table")]
#[test]
fn the_table_finds_tools_of_servers_that_no_words_were_written_for() {
    let table = contextweaver::route::TokenTable::built_in().unwrap();
    let mut counts = BTreeMap::new();
    for (tools, goals) in TOOLS.iter().zip(GOALS) {
        found(&router(tools).with_table(table.clone()), goals, &mut counts);
    }
    let found = |unseen: &dyn Fn(&str) -> bool| {
        let parts = counts.iter().filter(|(part, _)| part.starts_with("unseen") && unseen(part));
        parts.fold((0, 0), |sum, (_, (hit, all))| (sum.0 + hit, sum.1 + all))
    };
    let is_late = |part: &str| part.ends_with("mixed") || part.ends_with("fresh");
    let (hit, all) = found(&|part| !is_late(part));
    assert!(all >= 300 && hit * 100 >= all * 85, "{hit} of {all}: {counts:?}");
    for (late, least) in [("mixed", 58), ("fresh", 53)] {
        let (hit, all) = found(&|part| part.ends_with(late));
        assert!(all >= 150 && hit * 100 >= all * least, "{hit} of {all}: {counts:?}");
    }
}

#[test]
fn what_people_say_of_files_and_of_what_they_know_is_understood() {
    let router = Router::new(Catalog::from_jsonl(SERVERS).unwrap()).unwrap();
    for (goal, right) in [
        ("show me what is in main.rs", ["filesystem.read_file", "filesystem.read_text_file"]),
        (
            "remember that Anna works at Siemens",
            ["memory.create_entities", "memory.add_observations"],
        ),
        ("make a folder", ["filesystem.create_directory", "filesystem.create_directory"]),
    ] {
        let hits = router.route(goal, 3);
        assert!(hits.iter().any(|hit| right.contains(&hit.id.as_str())), "{goal}: {hits:?}");
    }
}

#[test]
fn a_word_that_no_tool_has_finds_tools_by_the_words_that_it_is_near_to() {
    let tools = [
        ("a", "kiosk", "Shut the kiosk"),
        ("b", "ships", "All ships"),
        ("c", "ledger", "Sum of the ledger"),
    ];
    let lines = tools.map(|(id, name, text)| {
        serde_json::json!({ "id": id, "name": name, "description": text }).to_string()
    });
    let router = Router::new(Catalog::from_jsonl(&lines.join("\n")).unwrap()).unwrap();
    let hits = router.route("the vessel", 1);
    assert_eq!(hits.first().map(|hit| hit.id.as_str()), Some("b"), "{hits:?}");
}

#[test]
fn a_common_word_that_one_tool_has_by_chance_does_not_outweigh_what_is_asked_for() {
    let mut tools = vec![
        ("clock".to_owned(), "Convert zones, one to another".to_owned()),
        ("post".to_owned(), "Post one friendly greeting".to_owned()),
        ("open".to_owned(), "Open one greeting card".to_owned()),
        ("print".to_owned(), "Print one greeting sheet".to_owned()),
    ];
    tools.extend((0..8).map(|n| (format!("wall{n}"), format!("Paint wall {n} of house {n}"))));
    let lines = tools.iter().map(|(id, text)| {
        serde_json::json!({ "id": id, "name": id, "description": text }).to_string()
    });
    let lines: Vec<String> = lines.collect();
    let router = Router::new(Catalog::from_jsonl(&lines.join("\n")).unwrap()).unwrap();
    let hits = router.route("another greeting", 8);
    assert_ne!(hits[0].id.as_str(), "clock", "{hits:?}");
}
