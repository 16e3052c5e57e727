//! `cargo xtask dependencies`: how many other crates a crate needs without its default features, and
//! that the small ones stay small.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use xshell::Shell;

use crate::{process, workspace};

/// The most crates of others that each of these may need, to build and to run.
const LIMITS: [(&str, usize); 4] =
    [("weaver-text", 25), ("weaver-types", 25), ("contextweaver", 40), ("weaver-policy", 45)];

/// Count the dependencies of every published crate, print them, and refuse what is over its limit.
///
/// # Errors
/// When a crate needs more than it may, or cargo cannot resolve it.
pub fn run(sh: &Shell) -> Result<()> {
    let metadata = workspace::metadata()?;
    let mut over = Vec::new();
    for package in workspace::published(&metadata) {
        let name = package.name.as_str();
        let tree = process::cargo(sh)
            .args(["tree", "-p", name, "--no-default-features", "--edges", "normal,build"])
            .args(["--prefix", "none", "--format", "{p}"])
            .quiet()
            .read()
            .with_context(|| format!("cargo cannot resolve {name}"))?;
        let count = others(&tree);
        let limit = LIMITS.into_iter().find(|(limited, _)| *limited == name).map(|(_, most)| most);
        let of = limit.map_or_else(String::new, |most| format!(" of {most}"));
        println!("dependencies: {name} needs {count}{of} crates of others");
        if limit.is_some_and(|most| count > most) {
            over.push(name);
        }
    }
    if !over.is_empty() {
        bail!("dependencies: more than they may need {}", over.join(", "));
    }
    Ok(())
}

/// The distinct packages of a printed tree that do not lie in a folder, as ours do.
fn others(tree: &str) -> usize {
    let name = |line: &str| -> Option<String> {
        let mut words = line.split_whitespace();
        let (name, version) = (words.next()?, words.next()?);
        let is_ours = words.any(|word| word.starts_with("(/") || word.contains(":\\"));
        (!is_ours).then(|| format!("{name} {version}"))
    };
    tree.lines().filter_map(name).collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::others;

    #[test]
    fn each_crate_of_others_counts_once_and_ours_do_not() {
        let tree = "weaver-text v0.1.0 (/src/weaver/crates/weaver-text)\nserde v1.0.0\n\
            serde_derive v1.0.0 (proc-macro)\nserde v1.0.0 (*)\nserde v2.0.0\n\
            weaver-types v0.1.0 (/src/weaver/crates/weaver-types) (*)\n\
            weaver-types v0.1.0 (C:\\weaver\\crates\\weaver-types)\n";
        assert_eq!(others(tree), 3);
        assert_eq!(others(""), 0);
    }
}
