use super::super::graph::{Edge, Graph, Kind, Package};
use super::{TIERS, check};

/// The workspace without edges; ids are names.
fn workspace() -> Graph {
    let mut graph = Graph::default();
    let ours = TIERS.crates.iter().map(|(name, folder, _)| (*name, Some(*folder)));
    let tools = TIERS.tools.iter().map(|name| (*name, Some(*name)));
    let others = ["tokio", "rusqlite", "middle"].map(|name| (name, None));
    for (name, folder) in ours.chain(tools).chain(others) {
        let package = Package { name: name.to_owned(), folder: folder.map(str::to_owned) };
        graph.packages.insert(name.to_owned(), package);
    }
    graph
}

fn findings(edges: &[(&str, &str, Kind)]) -> Vec<String> {
    let mut graph = workspace();
    for (from, to, kind) in edges {
        let (from, to) = ((*from).to_owned(), (*to).to_owned());
        graph.edges.insert(Edge { from, to, kind: *kind });
    }
    check(&graph, &TIERS)
}

fn one(edges: &[(&str, &str, Kind)]) -> String {
    let found = findings(edges);
    assert_eq!(found.len(), 1, "{found:?}");
    found.into_iter().next().unwrap_or_default()
}

#[test]
fn downward_edges_pass() {
    let edges = [
        ("weaver-gateway", "weaver-types", Kind::Normal),
        ("weaver-agent-kernel", "weaver-policy", Kind::Normal),
        ("weaver-agent-kernel", "weaver-trace-store", Kind::Dev),
        ("weaver-drivers", "tokio", Kind::Normal),
        ("weaver-trace-store", "rusqlite", Kind::Normal),
        ("weaver-benches", "rusqlite", Kind::Dev),
        ("xtask", "weaver-gateway", Kind::Normal),
    ];
    assert_eq!(findings(&edges), Vec::<String>::new());
}

#[test]
fn an_upward_edge_is_named_with_both_tiers() {
    for kind in [Kind::Normal, Kind::Build, Kind::Dev] {
        let message = one(&[("weaver-policy", "weaver-agent-kernel", kind)]);
        assert!(message.contains("weaver-policy (tier 1)"), "{message}");
        assert!(message.contains("weaver-agent-kernel (tier 2)"), "{message}");
        assert!(message.contains("upward") && message.contains(kind.name()), "{message}");
    }
}

#[test]
fn a_sideways_edge_is_named_with_both_tiers() {
    for kind in [Kind::Normal, Kind::Build, Kind::Dev] {
        let message = one(&[("weaver-types", "weaver-text", kind)]);
        assert!(message.contains("weaver-types (tier 0)"), "{message}");
        assert!(message.contains("weaver-text (tier 0)"), "{message}");
        assert!(message.contains("sideways"), "{message}");
    }
    assert!(one(&[("contextweaver", "weaver-firewall", Kind::Normal)]).contains("sideways"));
}

#[test]
fn a_crate_may_enable_its_own_features_for_its_tests() {
    assert_eq!(findings(&[("weaver-types", "weaver-types", Kind::Dev)]), Vec::<String>::new());
}

#[test]
fn a_tool_is_used_by_no_crate() {
    assert!(one(&[("weaver-gateway", "xtask", Kind::Dev)]).contains("xtask (a tool"));
}

#[test]
fn a_library_without_tier_is_an_error() {
    let mut graph = workspace();
    let package = Package { name: "weaver-new".to_owned(), folder: Some("new".to_owned()) };
    graph.packages.insert("weaver-new".to_owned(), package);
    let found = check(&graph, &TIERS);
    assert!(found.iter().any(|f| f.starts_with("weaver-new has no tier")), "{found:?}");
}

#[test]
fn a_crate_in_a_wrong_folder_or_missing_is_an_error() {
    let mut graph = workspace();
    graph.packages.remove("weaver-text");
    if let Some(package) = graph.packages.get_mut("weaver-policy") {
        package.folder = Some("weaver-policy".to_owned());
    }
    let found = check(&graph, &TIERS);
    assert!(found.iter().any(|f| f.contains("weaver-text (tier 0) is in the table")), "{found:?}");
    assert!(found.iter().any(|f| f.contains("the table says policy")), "{found:?}");
}

#[test]
fn a_light_tier_reaches_no_runtime_even_by_a_detour() {
    let detour =
        [("weaver-agent-kernel", "middle", Kind::Normal), ("middle", "tokio", Kind::Normal)];
    let message = one(&detour);
    assert!(message.contains("weaver-agent-kernel → middle → tokio"), "{message}");
    let for_tests = [("weaver-agent-kernel", "tokio", Kind::Dev)];
    assert_eq!(findings(&for_tests), Vec::<String>::new());
}

#[test]
fn only_the_store_knows_sqlite() {
    for from in ["weaver-gateway", "weaver-policy", "middle"] {
        let message = one(&[(from, "rusqlite", Kind::Normal)]);
        assert!(message.contains(from) && message.contains("only weaver-trace-store"), "{message}");
    }
}
