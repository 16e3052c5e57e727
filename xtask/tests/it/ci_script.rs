//! `.ci/run` and `xtask` install the same nextest.

#[test]
fn the_script_and_xtask_name_the_same_nextest() {
    let script = include_str!("../../../.ci/run");
    let source = include_str!("../../src/test.rs");
    let version = source.split("NEXTEST: &str = \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(script.contains(&format!("NEXTEST_VERSION={version}\n")), "{version}");
}
