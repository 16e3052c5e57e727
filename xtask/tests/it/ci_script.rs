//! `.ci/run`: the hosted checks call it, and it installs the nextest that `xtask` does.

#[test]
fn the_script_and_xtask_name_the_same_nextest() {
    let script = include_str!("../../../.ci/run");
    let source = include_str!("../../src/test.rs");
    let version =
        source.split("NEXTEST_VERSION: &str = \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(script.contains(&format!("NEXTEST_VERSION={version}\n")), "{version}");
}

#[test]
fn the_hosted_checks_are_those_of_the_scripts() {
    let workflow = include_str!("../../../.github/workflows/ci.yml");
    let runs: Vec<&str> =
        workflow.lines().filter_map(|line| line.trim().strip_prefix("run: ")).collect();
    assert_eq!(runs, [".ci/run", ".ci/systems"]);
}
