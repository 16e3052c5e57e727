//! The crates behind each feature, read from the dependency tree that cargo resolves for it.

use std::collections::BTreeSet;
use std::process::Command;

const ENFORCEMENT: [&str; 6] = [
    "weaver-agent-kernel", "weaver-drivers", "weaver-firewall", "weaver-policy",
    "weaver-policy-analysis", "weaver-trace-store",
];
const CHOOSING: [&str; 1] = ["contextweaver"];
/// Network stacks and runtimes; only the drivers may bring them.
const HEAVY: [&str; 4] = ["hyper", "reqwest", "rustls", "tokio"];

/// The names of the packages that a build of the umbrella with these features compiles.
fn packages(features: &str) -> BTreeSet<String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["tree", "--package", "weaver-stack", "--edges", "normal,build", "--prefix", "none"])
        .args(["--no-default-features", "--features", features, "--format", "{p}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    let names: BTreeSet<String> =
        tree.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect();
    assert!(names.contains("weaver-stack"), "not a dependency tree: {tree}");
    assert!(names.contains("weaver-types"), "the vocabulary is always there: {tree}");
    names
}

fn among<'a>(names: &BTreeSet<String>, of: &[&'a str]) -> Vec<&'a str> {
    of.iter().copied().filter(|name| names.contains(*name)).collect()
}

#[test]
fn the_router_and_the_memory_bring_no_enforcement() {
    for features in ["router", "memory", "router,memory"] {
        let names = packages(features);
        assert_eq!(among(&names, &CHOOSING), CHOOSING, "{features}");
        assert_eq!(among(&names, &ENFORCEMENT), [""; 0], "{features}");
        assert_eq!(among(&names, &HEAVY), [""; 0], "{features}");
    }
}

#[test]
fn the_enforcement_brings_no_router() {
    let names = packages("policy,policy-analysis,firewall,trace,trace-sqlite,kernel,drivers");
    assert_eq!(among(&names, &ENFORCEMENT), ENFORCEMENT);
    assert_eq!(among(&names, &CHOOSING), [""; 0]);
}

#[test]
fn each_feature_brings_its_own_crates_and_no_others() {
    let cases: [(&str, &[&str]); 7] = [
        ("", &[]),
        ("policy", &["weaver-policy"]),
        ("policy-analysis", &["weaver-policy", "weaver-policy-analysis"]),
        ("firewall", &["weaver-firewall"]),
        ("trace", &["weaver-trace-store"]),
        ("trace-sqlite", &["weaver-trace-store"]),
        (
            "kernel",
            &["weaver-agent-kernel", "weaver-firewall", "weaver-policy", "weaver-trace-store"],
        ),
    ];
    for (features, expected) in cases {
        let names = packages(features);
        assert_eq!(among(&names, &ENFORCEMENT), expected, "{features}");
        assert_eq!(among(&names, &CHOOSING), [""; 0], "{features}");
        assert_eq!(among(&names, &HEAVY), [""; 0], "{features}");
        assert_eq!(names.contains("rusqlite"), features == "trace-sqlite", "{features}");
    }
}

#[test]
fn the_tables_of_tokens_come_with_their_feature_alone() {
    let all = "router,memory,policy,policy-analysis,firewall,trace,trace-sqlite,kernel,drivers";
    assert!(!packages(all).contains("tiktoken-rs"));
    assert!(packages("tiktoken").contains("tiktoken-rs"));
    assert!(packages("firewall,tiktoken").contains("tiktoken-rs"));
}

#[test]
fn nothing_is_on_by_default() {
    let manifest = include_str!("../../Cargo.toml");
    assert!(manifest.lines().any(|line| line == "default = []"));
}
