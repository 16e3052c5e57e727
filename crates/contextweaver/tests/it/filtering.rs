use contextweaver::catalog::{ItemKind, SelectableItem};
use contextweaver::filter::{Filter, FilterRule, History, Visibility};
use contextweaver::route::{Hit, Router};
use proptest::prelude::*;

use crate::items::{catalog, id, query, some_items};

fn answer(router: &Router, filter: &Filter, query: &str, k: usize) -> Vec<Hit> {
    let catalog = router.catalog();
    let admitted = |id: &_| catalog.get(id).is_some_and(|item| filter.admits(item).is_ok());
    let ranked = router.route_where(query, filter.ranking_depth(k), admitted);
    filter.arrange(ranked, |id| catalog.get(id), k)
}

fn ids(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.id.as_str()).collect()
}

fn office() -> Router {
    let mut items = [
        ("mail.send", "send", "Send a mail to somebody", "mail"),
        ("mail.draft", "draft", "Draft a mail", "mail"),
        ("mail.list", "list", "List mail in a folder", "mail"),
        ("chat.send", "send", "Send a chat mail", "chat.rooms"),
        ("crm.mail", "mail", "Mail a customer", "crm"),
    ]
    .map(|(name, short, text, namespace)| {
        let mut item = SelectableItem::new(id(name), short, text);
        item.namespace = namespace.to_owned();
        item
    });
    items[0].tags = vec!["write".to_owned(), "slow".to_owned()];
    items[1].tags = vec!["write".to_owned()];
    items[4].kind = ItemKind::Agent;
    items[0].requires.insert("text".to_owned());
    items[1].provides.insert("text".to_owned());
    items[2].depends_on.insert(id("crm.mail"));
    Router::new(catalog(items)).unwrap()
}

/// A filter, the ids it admits, what it leaves out by which rule.
type Case<'a> = (Filter, &'a [&'a str], &'a [(FilterRule, usize)]);

#[test]
fn each_rule_leaves_out_what_it_names_and_the_first_is_told() {
    let router = office();
    let all = Filter::default();
    assert!(all.admits_all() && all.keeps_order());
    let cases: [Case<'_>; 8] = [
        (
            // One of the tags is enough.
            Filter { tags: ["slow".to_owned(), "no such tag".to_owned()].into(), ..all.clone() },
            &["mail.send"],
            &[(FilterRule::Tag, 4)],
        ),
        (
            Filter { kinds: [ItemKind::Agent].into(), ..all.clone() },
            &["crm.mail"],
            &[(FilterRule::Kind, 4)],
        ),
        (
            Filter { namespaces: ["chat".to_owned(), "crm".to_owned()].into(), ..all.clone() },
            &["chat.send", "crm.mail"],
            &[(FilterRule::Namespace, 3)],
        ),
        (
            Filter { tags: ["write".to_owned()].into(), ..all.clone() },
            &["mail.draft", "mail.send"],
            &[(FilterRule::Tag, 3)],
        ),
        (
            Filter { exclude_ids: [id("mail.send")].into(), ..all.clone() },
            &["chat.send", "crm.mail", "mail.draft", "mail.list"],
            &[(FilterRule::ExcludedId, 1)],
        ),
        (
            Filter { exclude_tags: ["slow".to_owned()].into(), ..all.clone() },
            &["chat.send", "crm.mail", "mail.draft", "mail.list"],
            &[(FilterRule::ExcludedTag, 1)],
        ),
        (
            Filter {
                visibility: Visibility::new(|item| item.namespace == "mail"),
                tags: ["write".to_owned()].into(),
                ..all.clone()
            },
            &["mail.draft", "mail.send"],
            // Of the three that lack the tag, two are hidden and not counted.
            &[(FilterRule::Tag, 1)],
        ),
        (
            Filter { namespaces: ["ma".to_owned()].into(), ..all.clone() },
            &[],
            &[(FilterRule::Namespace, 5)],
        ),
    ];
    for (filter, expected, left_out) in cases {
        let admitted = filter.admitted(router.catalog().iter());
        let items = router.catalog().iter().zip(&admitted.items);
        let open: Vec<_> = items.filter(|(_, open)| **open).map(|(i, _)| i.id.as_str()).collect();
        assert_eq!(open, expected, "{filter:?}");
        assert_eq!(admitted.left_out, left_out.iter().copied().collect(), "{filter:?}");
        let mut found = answer(&router, &filter, "mail", 9);
        found.sort_by(|a, b| a.id.cmp(&b.id));
        assert_eq!(ids(&found), expected);
    }
}

#[test]
fn pins_come_first_where_they_may_be_seen_and_quotas_hold() {
    let router = office();
    let pinned = Filter {
        pins: vec![id("crm.mail"), id("mail.list"), id("crm.mail"), id("not.there")],
        ..Filter::default()
    };
    let found = answer(&router, &pinned, "send a mail", 3);
    assert_eq!(ids(&found)[..2], ["crm.mail", "mail.list"]);
    assert_eq!(found.len(), 3);
    let unrelated = answer(&router, &pinned, "zzz", 3);
    assert_eq!(ids(&unrelated), ["crm.mail", "mail.list"]);
    assert!(unrelated.iter().all(|hit| hit.score == 0));
    let hidden = Filter { visibility: Visibility::new(|item| item.namespace != "crm"), ..pinned };
    assert_eq!(ids(&answer(&router, &hidden, "zzz", 3)), ["mail.list"]);

    let one_each = Filter { quota: std::num::NonZeroUsize::new(1), ..Filter::default() };
    let found = answer(&router, &one_each, "send a mail", 9);
    let mut namespaces: Vec<_> =
        found.iter().map(|hit| &router.catalog().get(&hit.id).unwrap().namespace).collect();
    namespaces.sort();
    assert_eq!(namespaces, ["chat.rooms", "crm", "mail"]);
    // Pins count for the quota, and are never dropped for it.
    let pins = vec![id("mail.list"), id("mail.draft")];
    let found = answer(&router, &Filter { pins, ..one_each }, "send a mail", 9);
    let mut found = ids(&found);
    assert_eq!(found[..2], ["mail.list", "mail.draft"]);
    found.sort_unstable();
    assert_eq!(found, ["chat.send", "crm.mail", "mail.draft", "mail.list"]);
}

#[test]
fn history_weighs_and_removes_nothing() {
    let router = office();
    let plain = answer(&router, &Filter::default(), "mail", 9);
    let used = |used: &[&str]| Filter {
        history: History { used: used.iter().map(|text| id(text)).collect() },
        ..Filter::default()
    };
    let after = |filter: &Filter| answer(&router, filter, "mail", 9);
    let score =
        |hits: &[Hit], name: &str| hits.iter().find(|hit| hit.id.as_str() == name).unwrap().score;
    let drafted = after(&used(&["mail.draft"]));
    assert_eq!(drafted.len(), plain.len());
    // Used again: half. What it needs has been brought about: a fifth more. What it depends on has
    // not been used: a fifth less.
    assert_eq!(score(&drafted, "mail.draft"), score(&plain, "mail.draft") / 2);
    assert_eq!(score(&drafted, "mail.send"), score(&plain, "mail.send") * 1200 / 1000);
    assert_eq!(score(&drafted, "mail.list"), score(&plain, "mail.list") * 800 / 1000);
    assert_eq!(score(&drafted, "chat.send"), score(&plain, "chat.send"));
    let depended = after(&used(&["crm.mail"]));
    assert_eq!(score(&depended, "mail.list"), score(&plain, "mail.list"));
    assert!(drafted.windows(2).all(|two| two[0].is_near_duplicate <= two[1].is_near_duplicate));
}

proptest! {
    /// Everything that a filter can do, over a catalog with hidden items and over one in which they
    /// are not there at all.
    #[test]
    fn hidden_items_are_as_if_they_were_not_there(
        items in some_items(),
        hidden: u32,
        picks in prop::collection::vec(0..24_usize, 0..6),
        quota in 0..4_usize,
        query in query(),
    ) {
        let seen = |n: usize| hidden & (1 << n) == 0;
        let items: Vec<_> = items.into_iter().enumerate().map(|(n, mut item)| {
            item.namespace = format!("ns{}", n % 3);
            item.provides.insert(format!("p{}", n % 5));
            item.requires.insert(format!("p{}", (n + 1) % 5));
            item.depends_on.insert(id(&format!("t{:02}", (n + 2) % 24)));
            item.tags.push(format!("g{}", n % 4));
            item
        }).collect();
        let open: Vec<_> =
            items.iter().enumerate().filter(|(n, _)| seen(*n)).map(|(_, i)| i.clone()).collect();
        let visible: Vec<_> = open.iter().map(|item| item.id.clone()).collect();
        let pick = |from: usize| picks.iter().skip(from).map(|n| id(&format!("t{n:02}")));
        let filter = Filter {
            exclude_ids: pick(4).collect(),
            exclude_tags: picks.first().map(|n| format!("g{}", n % 9)).into_iter().collect(),
            pins: pick(2).collect(),
            history: History { used: pick(0).collect() },
            quota: std::num::NonZeroUsize::new(quota),
            ..Filter::default()
        };
        let masked = Filter {
            visibility: Visibility::new(move |item| visible.contains(&item.id)),
            ..filter.clone()
        };
        let all = Router::new(catalog(items)).unwrap();
        let without = Router::new(catalog(open)).unwrap();
        prop_assert_eq!(
            answer(&all, &masked, &query, 12),
            answer(&without, &filter, &query, 12)
        );
        prop_assert_eq!(
            masked.admitted(all.catalog().iter()).left_out,
            filter.admitted(without.catalog().iter()).left_out
        );
    }
}
