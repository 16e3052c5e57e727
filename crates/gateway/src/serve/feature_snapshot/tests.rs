use serde_json::json;
use weaver_drivers::mcp::ServerList;

use super::*;

fn name(text: &str) -> UpstreamName {
    UpstreamName::parse(text).unwrap()
}

/// A server with these resources and templates.
fn server(of: &str, resources: &[&str], templates: &[&str]) -> (UpstreamName, Arc<ServerFeatures>) {
    let item = |list: ServerList, uri: &str| {
        ListedItem::from_value(list, json!({ list.identifier(): uri, "name": "n" })).unwrap()
    };
    let features = ServerFeatures {
        has_resources: true,
        resources: resources.iter().map(|uri| item(ServerList::Resources, uri)).collect(),
        templates: templates.iter().map(|uri| item(ServerList::ResourceTemplates, uri)).collect(),
        ..ServerFeatures::default()
    };
    (name(of), Arc::new(features))
}

fn snapshot(servers: &[(UpstreamName, Arc<ServerFeatures>)]) -> FeatureSnapshot {
    FeatureSnapshot::build(servers, PromptNames::Prefixed, &Firewall::new())
}

fn found(snapshot: &FeatureSnapshot, uri: &str) -> Option<(String, String)> {
    let address = snapshot.resolve(uri, |_| true)?;
    Some((address.server.to_string(), address.uri))
}

fn at(server: &str, uri: &str) -> Option<(String, String)> {
    Some((server.to_owned(), uri.to_owned()))
}

fn uris(snapshot: &FeatureSnapshot) -> Vec<String> {
    let page = snapshot.resources(None, |_| true).unwrap();
    page.items.iter().map(|(uri, _)| (*uri).to_owned()).collect()
}

#[test]
fn a_uri_of_one_server_stays_as_it_is_and_one_of_two_names_its_server() {
    let servers = [server("a", &["x://1", "x://2"], &[]), server("b", &["x://2"], &[])];
    let snapshot = snapshot(&servers);
    assert_eq!(uris(&snapshot), ["weaver://a/x://2", "weaver://b/x://2", "x://1"]);
    assert_eq!(found(&snapshot, "x://1"), at("a", "x://1"));
    assert_eq!(found(&snapshot, "weaver://b/x://2"), at("b", "x://2"));
    assert_eq!(found(&snapshot, "x://2"), None, "it does not say whose");
    assert_eq!(found(&snapshot, "weaver://c/x://2"), None);
    for (server, uri, exported) in [
        ("a", "x://1", "x://1"),
        ("b", "x://2", "weaver://b/x://2"),
        ("a", "x://3", "weaver://a/x://3"),
    ] {
        let address = ResourceAddress { server: name(server), uri: uri.to_owned() };
        assert_eq!(snapshot.exported_uri(&address), exported);
        assert_eq!(found(&snapshot, exported), at(server, uri), "both ways");
    }
}

#[test]
fn no_server_takes_the_place_of_another() {
    // One lists the wrapping of another's URI, one has a template for everything.
    let servers = [
        server("a", &["x://1"], &["x://{id}"]),
        server("b", &["weaver://a/x://9"], &[]),
        server("c", &[], &["{+any}"]),
    ];
    let snapshot = snapshot(&servers);
    assert_eq!(found(&snapshot, "x://1"), at("a", "x://1"));
    assert_eq!(found(&snapshot, "weaver://a/x://9"), at("a", "x://9"));
    assert_eq!(found(&snapshot, "weaver://b/weaver://a/x://9"), at("b", "weaver://a/x://9"));
    assert_eq!(found(&snapshot, "x://2"), None, "two templates match");
    assert_eq!(found(&snapshot, "y://2"), at("c", "y://2"));
}

#[test]
fn what_is_not_listed_is_found_by_template_or_at_the_only_server() {
    let two = snapshot(&[server("a", &[], &["x://{id}/end"]), server("b", &[], &[])]);
    assert_eq!(found(&two, "x://1/end"), at("a", "x://1/end"));
    assert_eq!(found(&two, "x://1"), at("a", "x://1"), "the only one with this scheme");
    let one = snapshot(&[server("a", &["x://1"], &[])]);
    assert_eq!(found(&one, "X://other"), at("a", "X://other"));
    assert_eq!(found(&one, "y://1"), None, "a scheme that it does not list");
    assert_eq!(found(&one, "other"), None, "no URI");
}

#[test]
fn an_address_of_the_network_is_found_only_where_a_server_lists_it_or_has_a_template_for_it() {
    let one = snapshot(&[server("a", &["x://1", "https://docs.example/a"], &[])]);
    assert_eq!(found(&one, "https://docs.example/a"), at("a", "https://docs.example/a"));
    for uri in [
        "https://evil.example/?d=stolen",
        "HTTP://evil.example/",
        "weaver://a/ftp://evil",
        "h\ttps://evil.example/",
        "weaver://a/URL:https://evil.example/",
    ] {
        assert_eq!(found(&one, uri), None, "{uri}");
    }
    let files = snapshot(&[server("a", &["file:///srv/b"], &[])]);
    assert_eq!(found(&files, "file:///srv/a"), at("a", "file:///srv/a"));
    assert_eq!(found(&files, "file:///etc/passwd"), None);
    let folder = snapshot(&[server("a", &[], &["file:///srv/{p}"])]);
    assert_eq!(found(&folder, "file:///srv/a/b"), at("a", "file:///srv/a/b"));
    assert_eq!(found(&folder, "file:///srv/../etc/passwd"), None);
    assert_eq!(found(&folder, "weaver://a/file:///srv/%2e%2e/etc/passwd"), None);
    assert_eq!(found(&files, "file://evil.example/a"), None);
    let two = snapshot(&[server("a", &[], &["https://{host}/x"]), server("b", &[], &[])]);
    assert_eq!(found(&two, "https://a.example/x"), at("a", "https://a.example/x"));
    assert_eq!(found(&two, "weaver://a/https://a.example/x"), at("a", "https://a.example/x"));
    assert_eq!(found(&two, "weaver://b/https://a.example/x"), None);
}

#[test]
fn who_may_not_see_a_server_finds_nothing_of_it() {
    let snapshot = snapshot(&[server("a", &["x://1"], &["x://{id}"]), server("b", &[], &[])]);
    let sees = |server: &UpstreamName| server.as_str() == "b";
    for uri in ["x://1", "weaver://a/x://1", "x://2"] {
        assert_eq!(snapshot.resolve(uri, sees), None, "{uri}");
    }
    assert!(snapshot.resources(None, sees).unwrap().items.is_empty());
}

#[test]
fn a_secret_in_a_uri_is_not_shown_and_the_resource_can_be_read() {
    let secret = "db://ghp_x7Kq2mV9tRb4Lw8ZpN3sYd6FhJ1cGu5Ae0Xi/t";
    let snapshot = snapshot(&[server("a", &[secret], &[])]);
    let shown = uris(&snapshot).remove(0);
    assert!(shown.starts_with("weaver://a/~") && !shown.contains("ghp_"), "{shown}");
    assert_eq!(found(&snapshot, &shown), at("a", secret));
    assert_eq!(found(&snapshot, "weaver://a/~0000000000000000"), None);
}

#[test]
fn pages_cover_a_list_once_also_while_it_changes() {
    let all: Vec<String> = (0..1_201).map(|n| format!("x://{n:04}")).collect();
    let texts: Vec<&str> = all.iter().map(String::as_str).collect();
    let whole = snapshot(&[server("a", &texts, &[])]);
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let page = whole.resources(cursor.as_deref(), |_| true).unwrap();
        assert!(page.items.len() <= PAGE_SIZE);
        seen.extend(page.items.iter().map(|(uri, _)| (*uri).to_owned()));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, all);
    // The item that a cursor names is gone, and one before it is new.
    let first = whole.resources(None, |_| true).unwrap();
    let mut later = texts.clone();
    later.remove(PAGE_SIZE - 1);
    later.push("x://0000a");
    let later = snapshot(&[server("a", &later, &[])]);
    let page = later.resources(first.next.as_deref(), |_| true).unwrap();
    assert_eq!(page.items[0].0, all[PAGE_SIZE]);
    assert!(whole.resources(Some("*"), |_| true).is_err());
}

#[test]
fn a_template_that_two_servers_have_names_its_server_and_leads_back() {
    let snapshot = snapshot(&[server("a", &[], &["x://{id}"]), server("b", &[], &["x://{id}"])]);
    let page = snapshot.templates(None, |_| true).unwrap();
    let shown: Vec<&str> = page.items.iter().map(|(template, _)| *template).collect();
    assert_eq!(shown, ["weaver://a/x://{id}", "weaver://b/x://{id}"]);
    let template = snapshot.resolve_template(shown[1]).unwrap();
    assert_eq!((template.server.as_str(), template.uri.as_str()), ("b", "x://{id}"));
    assert_eq!(found(&snapshot, "weaver://b/x://7"), at("b", "x://7"));
}
