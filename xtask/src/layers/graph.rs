//! The dependency graph, reduced to what the tier rules need.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, Metadata};

/// Packages and the edges between them.
#[derive(Debug, Default)]
pub struct Graph {
    /// The packages by id.
    pub packages: BTreeMap<String, Package>,
    pub edges: BTreeSet<Edge>,
}

/// One package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    pub name: String,
    /// The last part of the folder with the manifest; `None` for an external package.
    pub folder: Option<String>,
}

/// The kind of a dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Normal,
    Build,
    Dev,
}

impl Kind {
    /// The kind as a word for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Build => "build",
            Self::Dev => "dev",
        }
    }
}

/// `from` depends on `to`; both are package ids.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    pub from: String,
    pub to: String,
    pub kind: Kind,
}

impl Graph {
    /// Collect the resolved edges of every package, and the declared edges between members.
    ///
    /// # Errors
    /// If the metadata has no resolve graph (`--no-deps`), because then nothing can be proved.
    pub fn from_metadata(metadata: &Metadata) -> Result<Self> {
        let resolve = metadata.resolve.as_ref().context(
            "the metadata has no resolve graph; save it without `--no-deps`, with `--all-features`",
        )?;
        let mut graph = Self::default();
        let mut members = BTreeMap::new();
        for package in &metadata.packages {
            let is_member = metadata.workspace_members.contains(&package.id);
            let folder = package.manifest_path.parent().and_then(|p| p.file_name());
            let folder = folder.filter(|_| is_member).map(str::to_owned);
            if is_member {
                members.insert(package.name.to_string(), package.id.repr.clone());
            }
            let name = package.name.to_string();
            graph.packages.insert(package.id.repr.clone(), Package { name, folder });
        }
        for node in &resolve.nodes {
            for dep in &node.deps {
                for info in &dep.dep_kinds {
                    graph.add(&node.id.repr, &dep.pkg.repr, info.kind);
                }
            }
        }
        for package in metadata.workspace_packages() {
            for dep in &package.dependencies {
                if let Some(to) = members.get(&dep.name) {
                    graph.add(&package.id.repr, to, dep.kind);
                }
            }
        }
        Ok(graph)
    }

    fn add(&mut self, from: &str, to: &str, kind: DependencyKind) {
        let kind = match kind {
            DependencyKind::Development => Kind::Dev,
            DependencyKind::Build => Kind::Build,
            // A kind that cargo may add in the future is held to the strictest rule.
            _ => Kind::Normal,
        };
        self.edges.insert(Edge { from: from.to_owned(), to: to.to_owned(), kind });
    }
}
