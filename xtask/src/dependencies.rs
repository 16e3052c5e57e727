//! `cargo xtask dependencies`: counts the external crates that a crate needs without its default
//! features, and enforces limits.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use xshell::Shell;

use crate::{process, workspace};

/// The most external crates that each of these may need, to build and to run.
const LIMITS: [(&str, usize); 4] =
    [("weaver-text", 25), ("weaver-types", 25), ("contextweaver", 40), ("weaver-policy", 45)];

/// Count the dependencies of every published crate, print them, and fail for a crate above its
/// limit.
///
/// # Errors
/// If a crate needs more than its limit, or cargo cannot resolve it.
pub fn run(sh: &Shell) -> Result<()> {
    let metadata = workspace::metadata()?;
    let mut over_limit = Vec::new();
    for package in workspace::published(&metadata) {
        let name = package.name.as_str();
        let tree = process::cargo(sh)
            .args(["tree", "-p", name, "--no-default-features", "--edges", "normal,build"])
            .args(["--prefix", "none", "--format", "{p}"])
            .quiet()
            .read()
            .with_context(|| format!("cargo cannot resolve {name}"))?;
        let count = count_external(&tree);
        let limit = LIMITS.into_iter().find(|(limited, _)| *limited == name).map(|(_, most)| most);
        let limit_text = limit.map_or_else(String::new, |most| format!(" of {most}"));
        println!("dependencies: {name} needs {count}{limit_text} crates of others");
        if limit.is_some_and(|most| count > most) {
            over_limit.push(name);
        }
    }
    if !over_limit.is_empty() {
        bail!("dependencies: more than they may need {}", over_limit.join(", "));
    }
    Ok(())
}

/// Counts the distinct packages of a printed tree that are not in a local folder.
fn count_external(tree: &str) -> usize {
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
    use super::count_external;

    #[test]
    fn each_crate_of_others_counts_once_and_ours_do_not() {
        let tree = "weaver-text v0.1.0 (/src/weaver/crates/weaver-text)\nserde v1.0.0\n\
            serde_derive v1.0.0 (proc-macro)\nserde v1.0.0 (*)\nserde v2.0.0\n\
            weaver-types v0.1.0 (/src/weaver/crates/weaver-types) (*)\n\
            weaver-types v0.1.0 (C:\\weaver\\crates\\weaver-types)\n";
        assert_eq!(count_external(tree), 3);
        assert_eq!(count_external(""), 0);
    }
}
