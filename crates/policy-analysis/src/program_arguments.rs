//! Arguments that take a program.

/// Names of arguments that take a program, whose text alone decides what a call does.
const PROGRAMS: [&str; 12] = [
    "sql", "query", "statement", "cypher", "script", "code", "command", "cmd", "shell", "program",
    "expression", "commands",
];

/// Whether an argument of this name takes a program.
pub(crate) fn takes_program(name: &str) -> bool {
    PROGRAMS.contains(&name.to_ascii_lowercase().as_str())
}
