//! The tiers, and the check of a graph against them. Does not run cargo or read files.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::graph::{Edge, Graph, Kind, Package};

/// The rules that a workspace must follow.
pub struct Tiers {
    /// Package, folder and tier.
    pub crates: &'static [(&'static str, &'static str, u8)],
    /// Members without a tier: they may use everything, and no crate with a tier may use them.
    pub tools: &'static [&'static str],
    /// Packages that tiers up to `light` must not reach through normal and build dependencies.
    pub heavy: &'static [&'static str],
    /// The highest tier that stays free of heavy packages.
    pub light: u8,
    /// A package, and the only crate with a tier that may depend on it.
    pub owned: &'static [(&'static str, &'static str)],
}

/// The tiers of this workspace.
pub const TIERS: Tiers = Tiers {
    crates: &[
        ("weaver-types", "weaver-types", 0),
        ("weaver-text", "weaver-text", 0),
        ("weaver-policy", "policy", 1),
        ("weaver-firewall", "firewall", 1),
        ("weaver-trace-store", "trace-store", 1),
        ("contextweaver", "contextweaver", 1),
        ("weaver-policy-analysis", "policy-analysis", 2),
        ("weaver-agent-kernel", "agent-kernel", 2),
        ("weaver-windows", "windows", 3),
        ("weaver-drivers", "drivers", 4),
        ("weaver-stack", "weaver", 5),
        ("weaver-gateway", "gateway", 6),
        ("weaver-cli", "cli", 7),
    ],
    tools: &[
        "weaver-examples", "weaver-benches", "weaver-faults", "weaver-faults-shim",
        "weaver-harness", "xtask",
    ],
    heavy: &["tokio", "axum", "rmcp", "reqwest", "hyper"],
    light: 2,
    owned: &[("rusqlite", "weaver-trace-store")],
};

impl Tiers {
    fn tier(&self, name: &str) -> Option<u8> {
        self.crates.iter().find(|(package, _, _)| *package == name).map(|(_, _, tier)| *tier)
    }
}

/// Every violation of the tiers, as sorted sentences.
pub fn check(graph: &Graph, tiers: &Tiers) -> Vec<String> {
    let mut findings = BTreeSet::new();
    check_members(graph, tiers, &mut findings);
    for edge in &graph.edges {
        let (Some(from), Some(to)) = (graph.packages.get(&edge.from), graph.packages.get(&edge.to))
        else {
            findings.insert(format!("edge {} → {} names an unknown package", edge.from, edge.to));
            continue;
        };
        if edge.from != edge.to {
            findings.extend(check_direction(tiers, from, to, edge.kind));
            findings.extend(check_owner(tiers, from, to));
        }
    }
    check_heavy(graph, tiers, &mut findings);
    findings.into_iter().collect()
}

/// Checks that each member is in the table with its folder, and that each entry is a member.
fn check_members(graph: &Graph, tiers: &Tiers, findings: &mut BTreeSet<String>) {
    let mut seen = BTreeSet::new();
    for package in graph.packages.values() {
        let Some(folder) = &package.folder else { continue };
        let name = package.name.as_str();
        seen.insert(name);
        match tiers.crates.iter().find(|(known, _, _)| *known == name) {
            Some((_, home, _)) if home != folder => {
                findings.insert(format!(
                    "{name} lives in the folder {folder}, the table says {home}; move it or correct the table"
                ));
            }
            Some(_) => {}
            None if tiers.tools.contains(&name) => {}
            None => {
                findings.insert(format!(
                    "{name} has no tier; give it one in xtask/src/layers/rules.rs"
                ));
            }
        }
    }
    for (name, _, tier) in tiers.crates {
        if !seen.contains(name) {
            findings.insert(format!(
                "{name} (tier {tier}) is in the table but not in the workspace; remove it there"
            ));
        }
    }
}

/// Checks that a dependency on one of our crates goes to a strictly lower tier.
fn check_direction(tiers: &Tiers, from: &Package, to: &Package, kind: Kind) -> Option<String> {
    let own = tiers.tier(&from.name)?;
    let (from, kind) = (&from.name, kind.name());
    if to.folder.is_some() && tiers.tools.contains(&to.name.as_str()) {
        return Some(format!(
            "{from} (tier {own}) depends on {} (a tool, no tier): remove the {kind} dependency",
            to.name
        ));
    }
    let other = tiers.tier(&to.name)?;
    let direction = match other.cmp(&own) {
        std::cmp::Ordering::Less => return None,
        std::cmp::Ordering::Equal => "sideways",
        std::cmp::Ordering::Greater => "upward",
    };
    Some(format!(
        "{from} (tier {own}) depends on {} (tier {other}): a {kind} dependency that goes {direction}; \
         an edge goes only to a lower tier",
        to.name
    ))
}

/// Checks that only the owner of a package depends on it.
fn check_owner(tiers: &Tiers, from: &Package, to: &Package) -> Option<String> {
    let (owned, owner) = tiers.owned.iter().find(|(owned, _)| *owned == to.name)?;
    let free = from.name == *owner || tiers.tools.contains(&from.name.as_str());
    (!free).then(|| {
        format!("{} depends on {owned}: only {owner} may; go through its interface", from.name)
    })
}

/// Checks that light tiers reach no heavy package; the message shows the shortest path.
fn check_heavy(graph: &Graph, tiers: &Tiers, findings: &mut BTreeSet<String>) {
    let mut next: BTreeMap<&str, Vec<&Edge>> = BTreeMap::new();
    for edge in graph.edges.iter().filter(|edge| edge.kind != Kind::Dev) {
        next.entry(&edge.from).or_default().push(edge);
    }
    for (id, package) in &graph.packages {
        let Some(tier) = tiers.tier(&package.name).filter(|tier| *tier <= tiers.light) else {
            continue;
        };
        let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
        let mut queue = VecDeque::from([id.as_str()]);
        while let Some(at) = queue.pop_front() {
            for edge in next.get(at).into_iter().flatten() {
                let to = edge.to.as_str();
                if to == id || came_from.contains_key(to) {
                    continue;
                }
                came_from.insert(to, at);
                queue.push_back(to);
                let name = graph.packages.get(to).map_or("", |package| package.name.as_str());
                if tiers.heavy.contains(&name) {
                    findings.insert(format!(
                        "{} (tier {tier}) reaches {name}: {}; tiers up to {} carry no runtime and no network stack",
                        package.name,
                        path(graph, &came_from, to),
                        tiers.light
                    ));
                }
            }
        }
    }
}

fn path(graph: &Graph, came_from: &BTreeMap<&str, &str>, to: &str) -> String {
    let mut names = Vec::new();
    let mut at = Some(to);
    while let Some(id) = at {
        names.push(graph.packages.get(id).map_or(id, |package| package.name.as_str()));
        at = came_from.get(id).copied();
    }
    names.reverse();
    names.join(" → ")
}

#[cfg(test)]
mod tests;
