use super::check;
use crate::parsed_crate::Crate;

/// A crate in which `a` uses `b`, `b` uses `c`, `c` uses `d`, and `d` whatever this says.
fn chain(last: &str) -> Vec<(&'static str, String)> {
    vec![
        ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\n".to_owned()),
        ("a.rs", "use crate::b::B;\n".to_owned()),
        ("b.rs", "use super::c;\n".to_owned()),
        ("c.rs", "fn f() { crate::d::g() }\n".to_owned()),
        ("d.rs", last.to_owned()),
    ]
}

fn findings(files: &[(&str, String)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    check("planted", &Crate::read("planted", &folder.path().join("lib.rs")).unwrap())
}

#[test]
fn a_planted_cycle_fails() {
    assert_eq!(findings(&chain("")), Vec::<String>::new());
    let found = findings(&chain("use crate::a::A;\n"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("4 modules form a cycle (a, b, c, d)"), "{found:?}");
}

#[test]
fn three_modules_are_no_knot() {
    assert_eq!(findings(&chain("use crate::b;\n")), Vec::<String>::new());
}

#[test]
fn every_way_to_name_a_module_counts() {
    for last in [
        "use super::a::A;",
        "use crate::{a::A, x};",
        "use crate::{self, a};",
        "fn f(a: crate::a::A) {}",
        "pub struct D(Vec<crate::a::A>);",
        "use crate::a as other;",
        "use crate::a::*;",
    ] {
        assert_eq!(findings(&chain(last)).len(), 1, "{last}");
    }
}

#[test]
fn comments_strings_and_tests_do_not_count() {
    for last in [
        "// use crate::a::A;",
        "const D: &str = \"crate::a::A\";",
        "#[cfg(test)]\nmod tests { use crate::a::A; }",
        "#[cfg(test)]\nuse crate::a::A;",
        "use other::a::A;",
        "use std::a;",
    ] {
        assert_eq!(findings(&chain(last)), Vec::<String>::new(), "{last}");
    }
    let mut files = chain("#[cfg(test)]\nmod tests;");
    files.push(("d/tests.rs", "use crate::a::A;".to_owned()));
    assert_eq!(findings(&files), Vec::<String>::new());
}

#[test]
fn names_lead_through_re_exports_to_their_module() {
    let mut files = chain("use crate::A;");
    files[0].1.push_str("pub use a::A;\n");
    assert_eq!(findings(&files).len(), 1, "the root hands on what is in `a`");
    let mut files = chain("pub use crate::a::A;");
    assert_eq!(findings(&files), Vec::<String>::new(), "a re-export is no use");
    files[3].1 = "use crate::d::A;".to_owned();
    assert_eq!(findings(&files), Vec::<String>::new(), "and `c` uses `a` through it");
}

#[test]
fn the_rule_holds_at_every_level() {
    let mut files = vec![("lib.rs", "mod p;".to_owned())];
    files.push(("p.rs", "mod a; mod b; mod c; mod d; fn f() { a::f() }".to_owned()));
    files.push(("p/a.rs", "use super::b;".to_owned()));
    files.push(("p/b.rs", "use super::c;".to_owned()));
    files.push(("p/c.rs", "use crate::p::d;".to_owned()));
    files.push(("p/d.rs", "use super::f;".to_owned()));
    assert_eq!(findings(&files), Vec::<String>::new(), "parent and child may know each other");
    files[5].1.push_str("use super::a;");
    let found = findings(&files);
    assert!(found.len() == 1 && found[0].starts_with("planted, p: 4 modules"), "{found:?}");
}
