//! The page on the architecture lists every namespace of the ledger with its owner, and no other.

use weaver_stack::types::ledger::Namespace;

const PAGE: &str = include_str!("../../docs/internals/architecture.md");

#[test]
fn the_namespaces_stand_on_the_page_with_their_owners() {
    let (_, rest) = PAGE.split_once("| namespace | owner |").unwrap();
    let (table, _) = rest.split_once("\n\n").unwrap();
    let listed: Vec<(&str, &str)> = table
        .lines()
        .skip(2)
        .map(|line| {
            let mut cells = line.split('|').skip(1).map(|cell| cell.trim().trim_matches('`'));
            (cells.next().unwrap(), cells.next().unwrap())
        })
        .collect();
    let all: Vec<(&str, &str)> = Namespace::ALL.iter().map(|n| (n.as_str(), n.owner())).collect();
    assert_eq!(listed, all);
}
