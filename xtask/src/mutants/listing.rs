//! Lists mutants with cargo-mutants.

use anyhow::{Context, Result};
use serde_json::Value;
use xshell::Shell;

use crate::process;

/// One change that breaks the code.
#[derive(Debug)]
pub struct Mutant {
    /// Its number in the list of its crate, counted from 1.
    pub id: usize,
    /// The file, relative to the root of the repository.
    pub file: String,
    /// `file:line:column: what is changed in which function`.
    pub name: String,
    /// Where it begins: line and column, in characters, counted from 1.
    pub at: (usize, usize),
    /// `FnValue`, `BinaryOperator`, `UnaryOperator`, `MatchArm`, `MatchArmGuard` or `StructField`.
    pub genre: String,
    /// The replacement text; empty for a deletion.
    pub replacement: String,
    /// Whether it replaces a value of type `impl Trait`. Both branches of the switch would need the
    /// same hidden type, so such a mutant cannot be compiled in.
    pub returns_hidden_type: bool,
}

/// All mutants of a crate.
pub fn list_mutants(sh: &Shell, name: &str) -> Result<Vec<Mutant>> {
    let package = format!("weaver-{name}");
    let list = process::cargo(sh).args(["mutants", "--list", "--json", "--package", &package]);
    let list: Value = serde_json::from_str(&list.read()?).context("the list of mutants")?;
    let list = list.as_array().context("the list of mutants is not a list")?;
    list.iter().enumerate().map(|(at, mutant)| parse_mutant(at + 1, mutant)).collect()
}

fn parse_mutant(id: usize, mutant: &Value) -> Result<Mutant> {
    let text = |field: &str| {
        let text = mutant.get(field).and_then(Value::as_str);
        text.map(str::to_owned).with_context(|| format!("a mutant without `{field}`"))
    };
    let start = |field: &str| {
        let at = mutant.pointer(&format!("/span/start/{field}")).and_then(Value::as_u64);
        at.and_then(|at| usize::try_from(at).ok()).context("a mutant without its place")
    };
    let returned = mutant.pointer("/function/return_type").and_then(Value::as_str);
    let genre = text("genre")?;
    Ok(Mutant {
        id,
        file: text("file")?,
        name: text("name")?,
        at: (start("line")?, start("column")?),
        replacement: text("replacement")?,
        returns_hidden_type: genre == "FnValue" && returned.is_some_and(|r| r.contains("impl ")),
        genre,
    })
}
