//! The first program of the README, which its doctest runs.

const README: &str = include_str!("../../README.md");
/// The most lines of it.
const LINES: usize = 50;

#[test]
fn the_first_program_meets_every_answer_in_fifty_lines() {
    let (_, rest) = README.split_once("A first program").unwrap();
    let (_, rest) = rest.split_once("\n```rust\n").unwrap();
    let (program, _) = rest.split_once("\n```").unwrap();
    let lines = program.lines().count();
    assert!(lines <= LINES, "{lines}");
    for step in
        ["Verdict::Ask", "ApprovalGranted", "Verdict::Deny", "kernel.expand", "verify::verify"]
    {
        assert!(program.contains(step), "{step}");
    }
    assert_eq!(program.matches("ToolSpec::new").count(), 3);
}
