//! Requires that every resolved dependency has a licence that we may distribute.

use cargo_metadata::{Metadata, Package};

use super::finding::Finding;
use super::lists::{Lists, PATH};
use super::spdx;

/// Resolved packages whose licence is missing, unreadable or not on the list.
pub fn check(metadata: &Metadata, lists: &Lists) -> Vec<Finding> {
    let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    let resolved: Vec<_> = nodes.map(|node| &node.id).collect();
    let packages = metadata.packages.iter().filter(|package| resolved.contains(&&package.id));
    packages.filter_map(|package| check_package(package, lists)).collect()
}

fn check_package(package: &Package, lists: &Lists) -> Option<Finding> {
    if lists.licence_exceptions.iter().any(|name| *name == package.name.as_str()) {
        return None;
    }
    let complaint = licence_problem(package.license.as_deref(), &lists.licences)?;
    let message = format!("{} {}: {complaint}", package.name, package.version);
    let remedy = format!("use another crate, or read the licence and extend {PATH}");
    Some(Finding::error("licence", ("Cargo.lock", 1), message, remedy))
}

fn licence_problem(licence: Option<&str>, allowed: &[String]) -> Option<String> {
    let Some(licence) = licence else { return Some("it names no licence".to_owned()) };
    match spdx::is_allowed(licence, allowed) {
        Ok(true) => None,
        Ok(false) => Some(format!("`{licence}` is not allowed")),
        Err(error) => Some(format!("`{licence}` cannot be read: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::licence_problem;

    #[test]
    fn only_a_listed_licence_passes() {
        let allowed = ["MIT".to_owned()];
        assert_eq!(licence_problem(Some("MIT"), &allowed), None);
        assert!(licence_problem(Some("GPL-3.0"), &allowed).is_some());
        assert!(licence_problem(Some("MIT AND"), &allowed).is_some());
        assert!(licence_problem(None, &allowed).is_some());
    }
}
