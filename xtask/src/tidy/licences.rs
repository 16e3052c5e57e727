//! Every dependency that cargo resolved has a licence that we may ship with.

use cargo_metadata::{Metadata, Package};

use super::finding::Finding;
use super::lists::{Lists, PATH};
use super::spdx;

/// Resolved packages whose licence is absent, unreadable or not on the list.
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
    let complaint = complaint(package.license.as_deref(), &lists.licences)?;
    let message = format!("{} {}: {complaint}", package.name, package.version);
    let remedy = format!("use another crate, or read the licence and extend {PATH}");
    Some(Finding::error("licence", ("Cargo.lock", 1), message, remedy))
}

fn complaint(licence: Option<&str>, allowed: &[String]) -> Option<String> {
    let Some(licence) = licence else { return Some("it names no licence".to_owned()) };
    match spdx::is_allowed(licence, allowed) {
        Ok(true) => None,
        Ok(false) => Some(format!("`{licence}` is not allowed")),
        Err(error) => Some(format!("`{licence}` cannot be read: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::complaint;

    #[test]
    fn only_a_listed_licence_passes() {
        let allowed = ["MIT".to_owned()];
        assert_eq!(complaint(Some("MIT"), &allowed), None);
        assert!(complaint(Some("GPL-3.0"), &allowed).is_some());
        assert!(complaint(Some("MIT AND"), &allowed).is_some());
        assert!(complaint(None, &allowed).is_some());
    }
}
