use weaver_types::{AllowedAgents, CapabilityDraft};

use super::*;

/// A capability; with a digest of what its server said of it, where it has a server.
fn capability(id: &str, upstream: Option<u8>) -> Capability {
    let draft = CapabilityDraft {
        description: "a capability".to_owned(),
        upstream_digest: upstream.map(|byte| Digest::from_bytes([byte; 32])),
        ..CapabilityDraft::new(
            CapabilityId::parse(id).unwrap(),
            id,
            Effects::READ_LOCAL,
            AllowedAgents::Any,
        )
    };
    draft.build().unwrap()
}

fn approval<'a>(by: &'a str, surface: Option<&'a str>, tenant: &'a Tenant) -> BaselineApproval<'a> {
    BaselineApproval { tenant, tool_surface: surface, by, at: Timestamp::from_micros(7) }
}

/// What a ledger gives back of these batches.
fn read(batches: &[Batch]) -> Baselines {
    let mut records: BTreeMap<String, Record> = BTreeMap::new();
    for batch in batches {
        for put in batch.puts() {
            records.insert(put.key.id.to_string(), Record { version: 4, value: put.value.clone() });
        }
    }
    let mut pages = vec![Vec::new(), records.into_iter().collect()];
    Baselines::read(|_| Ok(pages.pop().unwrap()))
}

fn approved(tools: &[&Capability], surface: Option<&str>) -> Baselines {
    let tenant = Tenant::default();
    read(&Baselines::default().approval_batches(tools, approval("ana", surface, &tenant)).unwrap())
}

fn state(known: &Baselines, live: &Capability) -> &'static str {
    match known.compare(live) {
        BaselineState::None => "none",
        BaselineState::Match(_) => "match",
        BaselineState::Changed(_) => "changed",
        BaselineState::New => "new",
        BaselineState::Unreadable(_) => "unreadable",
    }
}

/// So many tools, none of which can be read.
fn holding(count: usize) -> Baselines {
    let unreadable = || (1, Err(BaselineReadError::Form));
    let tools = (0..count).map(|n| (format!("a.{n}"), unreadable())).collect();
    Baselines { tools, ..Baselines::default() }
}

#[test]
fn every_error_has_its_code() {
    let id = CapabilityId::parse("a.b").unwrap();
    for (error, code) in [
        (BaselineError::Name, "baseline.name"),
        (BaselineError::Full { limit: 1 }, "baseline.full"),
        (BaselineError::Form { id }, "baseline.form"),
    ] {
        assert_eq!(error.code(), code);
    }
}

#[test]
fn who_approves_is_1_to_128_characters_of_plain_text() {
    let tenant = Tenant::default();
    let (tool, none) = (capability("a.b", None), Baselines::default());
    let longest = "\u{e9}".repeat(128);
    let padded = format!("  {longest}\n");
    let too_long = "x".repeat(129);
    for (by, taken) in [
        ("a", true),
        (longest.as_str(), true),
        (padded.as_str(), true),
        (too_long.as_str(), false),
        ("", false),
        (" \t ", false),
        ("ana\u{7}b", false),
        ("ana\nben", false),
    ] {
        let done = none.approval_batches(&[&tool], approval(by, None, &tenant));
        assert_eq!(done.is_ok(), taken, "{by:?}");
        if let Ok(batches) = done {
            let known = read(&batches);
            assert_eq!(known.get(tool.id()).unwrap().approved_by, by.trim());
        }
    }
}

#[test]
fn a_tool_is_compared_with_what_was_approved_of_it() {
    let hosts = capability("a.host", None);
    let servers = capability("s.tool", Some(1));
    let known = approved(&[&hosts, &servers], None);
    let mut other = capability("a.host", None).spec().clone();
    other.description = "another".to_owned();
    for (live, expected) in [
        (hosts, "match"),
        (other.build().unwrap(), "changed"),
        (capability("a.host", Some(1)), "changed"),
        (servers, "match"),
        (capability("s.tool", Some(2)), "changed"),
        (capability("s.tool", None), "changed"),
        (capability("s.more", Some(1)), "none"),
    ] {
        assert_eq!(state(&known, &live), expected, "{:?}", live.spec());
    }
}

#[test]
fn what_is_not_among_an_approved_surface_is_new() {
    let tool = capability("s.tool", Some(1));
    for (surface, live, expected) in [
        (None, capability("s.more", Some(1)), "none"),
        (Some("s"), capability("s.more", Some(1)), "new"),
        (Some("s"), capability("t.more", Some(1)), "none"),
        (Some("s"), capability("s.more", None), "none"),
        (Some("s"), capability("s.tool", Some(1)), "match"),
        (Some("kernel"), capability("s.more", Some(1)), "new"),
        (Some("kernel"), capability("s.more", None), "new"),
        (Some("kernel"), capability("alone", None), "new"),
    ] {
        let known = approved(&[&tool], surface);
        assert_eq!(state(&known, &live), expected, "{surface:?} {}", live.id());
    }
}

#[test]
fn a_surface_is_approved_whole_and_forgets_what_is_gone_from_it_alone() {
    let tools = ["s.a", "s.b", "t.c"].map(|id| capability(id, Some(1)));
    let known = approved(&tools.each_ref(), None);
    assert_eq!(known.approved_ids("s"), ["s.a", "s.b"].into());
    assert_eq!(known.approved_ids("t"), ["t.c"].into());
    assert_eq!(known.approved_ids("kernel"), ["s.a", "s.b", "t.c"].into());
    let tenant = Tenant::default();
    let gone = |surface: Option<&str>| {
        let batches =
            known.approval_batches(&[&tools[0]], approval("ana", surface, &tenant)).unwrap();
        let deleted = batches.iter().flat_map(|batch| &batch.delete);
        deleted.map(|key| key.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(gone(None), Vec::<String>::new());
    assert_eq!(gone(Some("s")), ["tool:s.b"]);
    assert_eq!(gone(Some("t")), ["tool:t.c"]);
    assert_eq!(gone(Some("kernel")), ["tool:s.b", "tool:t.c"]);
}

#[test]
fn each_write_is_guarded_by_the_version_that_was_read() {
    let tenant = Tenant::default();
    let tools = ["s.a", "s.b"].map(|id| capability(id, Some(1)));
    let known = approved(&[&tools[0]], Some("s"));
    let batches =
        known.approval_batches(&tools.each_ref(), approval("ana", Some("s"), &tenant)).unwrap();
    let guards: Vec<(String, Option<u64>)> =
        batches.iter().flat_map(Batch::guards).map(|(key, v)| (key.id.to_string(), v)).collect();
    let expected = [("tool:s.a", Some(4)), ("tool:s.b", None), ("surface:s", Some(4))];
    assert_eq!(guards, expected.map(|(id, version)| (id.to_owned(), version)));
}

#[test]
fn many_tools_are_approved_in_batches_of_200_and_one_event_names_the_first_500() {
    let tenant = Tenant::default();
    let tools: Vec<Capability> = (0..501).map(|n| capability(&format!("s.t{n}"), None)).collect();
    let tools: Vec<&Capability> = tools.iter().collect();
    let batches =
        Baselines::default().approval_batches(&tools, approval("ana", Some("s"), &tenant)).unwrap();
    let puts: Vec<usize> = batches.iter().map(|batch| batch.put.len()).collect();
    assert_eq!(puts, [200, 200, 102], "the last one marks the surface");
    let events: Vec<usize> = batches.iter().map(|batch| batch.events.len()).collect();
    assert_eq!(events, [0, 0, 1]);
    let event = &batches[2].events[0];
    let said: Value = serde_json::from_slice(&event.payload).unwrap();
    assert_eq!((said["tools"].as_array().unwrap().len(), &said["tools_total"]), (500, &json!(501)));
    assert_eq!((&said["approved_by"], &said["surface"]), (&json!("ana"), &json!("s")));
    let none = Baselines::default().approval_batches(&[], approval("ana", None, &tenant)).unwrap();
    assert_eq!((none.len(), none[0].events.len(), none[0].put.len()), (1, 1, 0));
}

#[test]
fn a_ledger_holds_100_000_approved_versions() {
    let tenant = Tenant::default();
    let tools = ["s.a", "s.b"].map(|id| capability(id, None));
    let known = holding(99_999);
    assert!(known.approval_batches(&[&tools[0]], approval("ana", None, &tenant)).is_ok());
    let full =
        known.approval_batches(&tools.each_ref(), approval("ana", None, &tenant)).unwrap_err();
    assert_eq!(full, BaselineError::Full { limit: 100_000 });
    let many = holding(60_000).approval_batches(&tools.each_ref(), approval("ana", None, &tenant));
    assert!(many.is_ok());
    let read = |count: usize| {
        let record = || Record { version: 1, value: Vec::new() };
        let all = (0..count).map(|n| (format!("tool:a.{n}"), record())).collect();
        let mut pages = vec![Vec::new(), all];
        Baselines::read(|_| Ok(pages.pop().unwrap())).problem
    };
    assert_eq!(read(100_000), None);
    assert_eq!(read(100_001), Some(BaselineReadError::TooMany));
}

#[test]
fn only_what_holds_nothing_and_was_read_is_empty() {
    assert!(Baselines::default().is_empty());
    assert!(!holding(1).is_empty());
    let tool_surfaces = [("s".to_owned(), 1)].into();
    assert!(!Baselines { tool_surfaces, ..Baselines::default() }.is_empty());
    let problem = Some(BaselineReadError::TooMany);
    assert!(!Baselines { problem, ..Baselines::default() }.is_empty());
}

#[test]
fn what_cannot_be_read_is_approved_for_nobody() {
    let live = capability("s.tool", Some(1));
    let broken = Baselines::read(|_| Err(LedgerError::Closed));
    assert_eq!(state(&broken, &live), "unreadable");
    let record = Record { version: 1, value: b"{}".to_vec() };
    for (id, others) in [("tool:s.tool", "none"), ("strange", "unreadable"), ("x:y", "unreadable")]
    {
        let mut pages = vec![Vec::new(), vec![(id.to_owned(), record.clone())]];
        let known = Baselines::read(|_| Ok(pages.pop().unwrap()));
        assert_eq!(state(&known, &live), "unreadable", "{id}");
        assert_eq!(state(&known, &capability("a.b", None)), others, "{id}");
        assert_eq!(known.get(live.id()), None);
    }
}

#[test]
fn pages_are_asked_for_one_behind_the_other() {
    let record = || Record { version: 1, value: Vec::new() };
    let mut asked = Vec::new();
    let known = Baselines::read(|after| {
        asked.push(after.map(str::to_owned));
        Ok(match after {
            None => vec![("tool:a.1".to_owned(), record()), ("tool:a.2".to_owned(), record())],
            Some("tool:a.2") => vec![("tool:a.3".to_owned(), record())],
            _ => Vec::new(),
        })
    });
    assert_eq!(asked, [None, Some("tool:a.2".to_owned()), Some("tool:a.3".to_owned())]);
    assert_eq!(known.tools.len(), 3);
}

#[test]
fn the_version_itself_may_stay_in_the_ledger() {
    let tool = capability("s.a", None);
    let known = approved(&[&tool], None);
    let kept = known.get(tool.id()).unwrap().contract.as_ref().unwrap();
    assert_eq!(kept.fingerprint(), tool.fingerprint());
    let light = known.without_contracts();
    assert_eq!(light.get(tool.id()).unwrap().contract, None);
    assert_eq!(state(&light, &tool), "match");
}

#[test]
fn what_is_replaced_takes_no_more_room_and_what_is_gone_goes_in_batches() {
    let tenant = Tenant::default();
    let (again, new) = (capability("a.0", Some(1)), capability("a.new", Some(1)));
    let full = holding(MAX_BASELINES);
    assert!(full.approval_batches(&[&again], approval("ana", None, &tenant)).is_ok());
    let more = full.approval_batches(&[&new], approval("ana", None, &tenant));
    assert!(matches!(more, Err(BaselineError::Full { .. })));
    let batches =
        holding(450).approval_batches(&[&again], approval("ana", Some("a"), &tenant)).unwrap();
    let deleted: Vec<usize> = batches.iter().map(|batch| batch.delete.len()).collect();
    assert_eq!(deleted, [200, 200, 49, 0], "the last one marks the surface");
}
