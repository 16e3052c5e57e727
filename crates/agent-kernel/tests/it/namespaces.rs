//! Namespaces that are loaded when somebody first asks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, OnceLock};

use weaver_agent_kernel::{Driver, FnDriver, Registry};
use weaver_types::{Capability, CapabilityId, Effects, RawResult};

use crate::support::draft;

fn driver() -> Arc<dyn Driver> {
    Arc::new(FnDriver::inline(|_| Ok(RawResult::text("done"))))
}

fn tools(ids: &[&str]) -> Vec<(Capability, Arc<dyn Driver>)> {
    let made = |id: &&str| (draft(id, Effects::READ_LOCAL).build().unwrap(), driver());
    ids.iter().map(made).collect()
}

fn id(text: &str) -> CapabilityId {
    CapabilityId::parse(text).unwrap()
}

/// A registry with a lazy namespace `billing`, and how often its loader ran.
fn lazy(ids: &'static [&'static str]) -> (Arc<Registry>, Arc<AtomicUsize>) {
    let (registry, runs) = (Arc::new(Registry::new()), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&runs);
    let loader = move || {
        counted.fetch_add(1, Ordering::SeqCst);
        Ok(tools(ids))
    };
    registry.register_namespace("billing", loader).unwrap();
    (registry, runs)
}

#[test]
fn a_namespace_is_loaded_when_it_is_asked_for_and_once() {
    let (registry, runs) = lazy(&["billing.list", "billing.eu.list"]);
    registry.register(tools(&["docs.search"]).remove(0).0, driver()).unwrap();
    let info = registry.namespaces();
    assert_eq!(info.iter().map(|n| n.name.as_str()).collect::<Vec<_>>(), ["billing", "docs"]);
    assert_eq!((info[0].pending, info[0].capabilities, info[1].capabilities), (true, 0, 1));
    assert!(registry.get(&id("docs.search")).is_some());
    assert!(registry.get(&id("docs.other")).is_none());
    assert!(registry.get(&id("billingx.list")).is_none());
    assert_eq!(runs.load(Ordering::SeqCst), 0, "nobody asked for it yet");
    assert!(registry.get(&id("billing.eu.list")).is_some());
    assert!(registry.get(&id("billing.none")).is_none());
    assert_eq!((registry.len(), runs.load(Ordering::SeqCst)), (3, 1));
    let info = registry.namespaces();
    assert_eq!((info[0].pending, info[0].capabilities), (false, 2));
}

#[test]
fn whoever_looks_at_everything_loads_everything() {
    for look in [
        |r: &Registry| r.list_ids().len(),
        |r: &Registry| r.list_all().len(),
        |r: &Registry| r.len(),
        |r: &Registry| r.search("list", 10, 0).len(),
        |r: &Registry| r.namespace("billing").unwrap().len(),
    ] {
        let (registry, runs) = lazy(&["billing.list"]);
        assert_eq!((look(&registry), runs.load(Ordering::SeqCst)), (1, 1));
    }
}

#[test]
fn a_loader_that_fails_registers_nothing_and_is_tried_again() {
    let (registry, runs) = (Registry::new(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&runs);
    registry
        .register_namespace("billing", move || match counted.fetch_add(1, Ordering::SeqCst) {
            0 => Err("the catalogue is away".into()),
            1 => panic!("not today"),
            2 => Ok(tools(&["billing.list", "elsewhere.list"])),
            3 => Ok(tools(&["billing.list", "billing.1ist"])),
            _ => Ok(tools(&["billing.list"])),
        })
        .unwrap();
    let problems = [
        ("registry.namespace", "the catalogue is away"),
        ("registry.namespace", "panicked"),
        ("registry.misplaced", "elsewhere.list"),
        ("registry.confusable", "billing.1ist"),
    ];
    for (code, words) in problems {
        let error = registry.namespace("billing").err().unwrap();
        assert_eq!(error.code(), code);
        assert!(error.to_string().contains(words), "{error}");
        let info = registry.namespaces().remove(0);
        assert_eq!((info.pending, info.capabilities), (true, 0));
        assert!(info.problem.unwrap().contains(words));
    }
    assert!(registry.contains(&id("billing.list")));
    assert_eq!((registry.len(), runs.load(Ordering::SeqCst)), (1, 5));
    assert_eq!(registry.namespaces()[0].problem, None);
}

#[test]
fn many_first_uses_run_the_loader_once_and_all_see_what_it_made() {
    const THREADS: usize = 16;
    let (registry, runs) = lazy(&["billing.list"]);
    let barrier = Barrier::new(THREADS);
    let found = std::thread::scope(|scope| {
        let users: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    registry.contains(&id("billing.list"))
                })
            })
            .collect();
        users.into_iter().all(|user| user.join().unwrap())
    });
    assert!(found);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[test]
fn a_loader_may_look_into_its_own_namespace() {
    let registry = Arc::new(Registry::new());
    let own = Arc::new(OnceLock::<Arc<Registry>>::new());
    let inner = Arc::clone(&own);
    let loader = move || {
        assert!(!inner.get().unwrap().contains(&id("billing.list")));
        Ok(tools(&["billing.list"]))
    };
    registry.register_namespace("billing", loader).unwrap();
    own.set(Arc::clone(&registry)).ok().unwrap();
    assert!(registry.contains(&id("billing.list")));
}

#[test]
fn a_namespace_is_declared_once_and_by_a_name() {
    let (registry, _) = lazy(&[]);
    let declare = |prefix: &str| {
        let declared = registry.register_namespace(prefix, || Ok(Vec::new()));
        declared.map_or_else(|error| error.code(), |()| "ok")
    };
    assert_eq!(declare("billing"), "registry.namespace_taken");
    for prefix in ["", ".", "a.", ".a", "a..b", "a b", "a\u{200b}"] {
        assert_eq!(declare(prefix), "registry.prefix", "{prefix:?}");
    }
    assert_eq!(declare("billing.eu"), "ok");
    assert_eq!(registry.namespace("nope").err().unwrap().code(), "registry.unknown_namespace");
    assert!(registry.namespace("billing").unwrap().is_empty());
}

#[test]
fn who_comes_while_a_loader_runs_waits_for_it() {
    use std::sync::mpsc;
    use std::time::Duration;
    let registry = Arc::new(Registry::new());
    let (begun, begins) = mpsc::channel();
    let (release, gate) = mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let loader = move || {
        begun.send(()).unwrap();
        gate.lock().unwrap().recv().unwrap();
        Ok(tools(&["billing.list"]))
    };
    registry.register_namespace("billing", loader).unwrap();
    let first = std::thread::spawn({
        let registry = Arc::clone(&registry);
        move || registry.contains(&id("billing.list"))
    });
    begins.recv().unwrap();
    let (told, tells) = mpsc::channel();
    let second = std::thread::spawn({
        let registry = Arc::clone(&registry);
        move || told.send(registry.contains(&id("billing.list"))).unwrap()
    });
    let early = tells.recv_timeout(Duration::from_millis(100));
    release.send(()).unwrap();
    assert!(early.is_err(), "it did not wait");
    assert_eq!(tells.recv(), Ok(true));
    assert!(first.join().unwrap());
    second.join().unwrap();
}
