use std::sync::Arc;

use contextweaver::catalog::{
    Catalog, CatalogChange, Finding, LiveCatalog, SelectableItem, Severity, lint,
};
use contextweaver::error::CatalogError;

use crate::items::{catalog, id};

fn told(items: &[SelectableItem]) -> Vec<(String, &'static str, Severity)> {
    let quiet = |finding: &Finding| finding.code != "catalog.undeclared_effects";
    let found = lint(items).into_iter().filter(quiet);
    found.map(|finding| (finding.item, finding.code, finding.severity)).collect()
}

fn item(name: &str, text: &str) -> SelectableItem {
    SelectableItem::new(id(name), name, text)
}

#[test]
fn each_fault_has_its_code_its_item_and_a_next_step() {
    use Severity::{Error, Warning};
    let mut needy = item("d.needy", "Needs others to be there first");
    needy.depends_on.insert(id("not.there"));
    needy.requires.insert("unheard".to_owned());
    let (mut round, mut about) = (item("r.one", "First of a circle"), item("r.two", "Second one"));
    round.depends_on.insert(id("r.two"));
    about.depends_on.insert(id("r.one"));
    let mut same = [item("s.a", "Alpha does this"), item("s.b", "Beta does that instead")];
    same.iter_mut().for_each(|item| item.name = "go".to_owned());
    let items = [
        item("a.list", "List the open tickets of one project, newest first"),
        item("a.list", "Another text that nobody sees here"),
        item("a.1ist", "Something wholly different in its words"),
        item("b.list", "List the open tickets of one project, newest first."),
        item("c.mute", " "),
        item("h.hidden", "Reads\u{200b} secretly"),
        needy,
        round,
        about,
        same[0].clone(),
        same[1].clone(),
    ];
    let expected = [
        ("a.list", "catalog.confusable", Error),
        ("a.list", "catalog.duplicate", Error),
        ("b.list", "catalog.near_duplicate", Warning),
        ("c.mute", "catalog.missing_description", Warning),
        ("d.needy", "catalog.dangling", Error),
        ("d.needy", "catalog.dangling_requirement", Warning),
        ("h.hidden", "catalog.hidden_text", Warning),
        ("r.one", "catalog.dependency_cycle", Error),
        ("r.two", "catalog.dependency_cycle", Error),
        ("s.b", "catalog.same_name", Warning),
    ];
    assert_eq!(told(&items), expected.map(|(item, code, s)| (item.to_owned(), code, s)));
    for finding in lint(&items) {
        assert!(!finding.message.is_empty() && !finding.next.is_empty(), "{finding:?}");
    }
}

#[test]
fn near_copies_are_found_whatever_their_order_and_others_are_not() {
    let text = "Export the entries of the audit log of one tenant between two given dates as comma \
                separated values, with who, when and what of each entry, oldest entries first";
    let mut items =
        vec![item("a.export", text), item("z.export", &text.replace("oldest", "newest"))];
    let other = "Import numbers of an audit into ledgers of several tenants from spreadsheets, one \
                 row a booking, refusing those that are out of balance or unknown to the chart";
    items.push(item("m.import", other));
    items.iter_mut().for_each(|item| item.name = "export".to_owned());
    let near = |items: &[SelectableItem]| {
        let found = lint(items).into_iter();
        let found = found.filter(|finding| finding.code == "catalog.near_duplicate");
        found.map(|finding| (finding.item, finding.message)).collect::<Vec<_>>()
    };
    let expected = [("z.export".to_owned(), "it says nearly the same as `a.export`".to_owned())];
    assert_eq!(near(&items), expected);
    items.reverse();
    assert_eq!(near(&items), expected);
}

/// The same words everywhere, and words that each shares with all before it.
#[test]
fn hostile_catalogs_are_linted_in_time() {
    let many = (0..4_000).map(|n| {
        let words: String = (0..60).map(|w| format!("w{} ", (n * 7 + w * w) % 90)).collect();
        SelectableItem::new(id(&format!("t{n}")), format!("name {n}"), words)
    });
    assert!(lint(&many.collect::<Vec<_>>()).len() >= 4_000);
}

#[test]
fn edits_are_all_made_or_none_and_snapshots_keep_what_they_had() {
    let live = LiveCatalog::new(catalog([item("a", "A"), item("b", "B")]));
    let before = live.snapshot();
    let renamed = item("b", "Better");
    let after = live
        .apply([
            CatalogChange::Add(item("c", "C")),
            CatalogChange::Change(renamed.clone()),
            CatalogChange::Remove(id("a")),
        ])
        .unwrap();
    let ids = |catalog: &Catalog| catalog.iter().map(|i| i.id.to_string()).collect::<Vec<_>>();
    assert_eq!(ids(&before), ["a", "b"]);
    assert_eq!(ids(&after), ["b", "c"]);
    assert_eq!(after.get(&id("b")), Some(&renamed));
    assert_eq!(before.get(&id("b")).unwrap().description, "B");
    assert!(Arc::ptr_eq(&after, &live.snapshot()));
    for (change, code) in [
        (CatalogChange::Add(item("b", "")), "catalog.duplicate"),
        (CatalogChange::Change(item("a", "")), "catalog.absent"),
        (CatalogChange::Remove(id("a")), "catalog.absent"),
        (CatalogChange::Change(item("b", &"x".repeat(70_000))), "catalog.too_large"),
    ] {
        let edits = [CatalogChange::Add(item("z", "Z")), change];
        let error: CatalogError = live.apply(edits).unwrap_err();
        assert_eq!(error.code(), code);
        assert_eq!(ids(&live.snapshot()), ["b", "c"], "none of them was made");
    }
}

#[test]
fn readers_go_on_while_writers_write() {
    let live = LiveCatalog::new(Catalog::new());
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let live = &live;
            scope.spawn(move || {
                for n in 0..100 {
                    // Two at a time: a reader never sees one of them alone.
                    let pair = ["a", "b"].map(|half| item(&format!("w{writer}.n{n}.{half}"), "x"));
                    live.apply(pair.map(CatalogChange::Add)).unwrap();
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                while live.snapshot().len() < 400 {
                    assert_eq!(live.snapshot().len() % 2, 0);
                }
            });
        }
    });
    assert_eq!(live.snapshot().len(), 400);
}
