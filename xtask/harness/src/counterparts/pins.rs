//! The pinned versions in the lists of `xtask/harness/interop/`.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

use super::cache::Cache;

/// Package names and their versions.
pub struct Pins(BTreeMap<String, String>);

impl Pins {
    /// Reads `package.json` and `requirements.txt`.
    pub fn read(cache: &Cache) -> Result<Self> {
        let text = |name: &str| {
            let path = cache.script(name);
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        Self::parse(&text("package.json")?, &text("requirements.txt")?)
    }

    fn parse(package: &str, requirements: &str) -> Result<Self> {
        let package: Value = serde_json::from_str(package).context("package.json is not JSON")?;
        let mut pins = BTreeMap::new();
        for (name, version) in package["dependencies"].as_object().into_iter().flatten() {
            let version = version.as_str().context("a version in package.json is not text")?;
            pins.insert(name.clone(), version.to_owned());
        }
        for line in requirements.lines() {
            if let Some((name, version)) = line.split_once("==") {
                pins.insert(name.to_owned(), version.to_owned());
            }
        }
        Ok(Self(pins))
    }

    #[cfg(test)]
    pub fn empty() -> Self {
        Self(BTreeMap::new())
    }

    /// The version of a package; `?` if it is not listed.
    pub fn version(&self, package: &str) -> &str {
        self.0.get(package).map_or("?", String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::Pins;
    use crate::interop::server;

    fn pins() -> Pins {
        Pins::parse(
            include_str!("../../interop/package.json"),
            include_str!("../../interop/requirements.txt"),
        )
        .unwrap()
    }

    #[test]
    fn every_counterpart_is_pinned() {
        let pins = pins();
        let others = [
            "@modelcontextprotocol/inspector",
            "@modelcontextprotocol/sdk",
            "mcp",
            "mcporter",
            "weaver-contracts",
        ];
        for package in server::SERVERS.iter().map(|server| server.package).chain(others) {
            let version = pins.version(package);
            assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{package} {version}");
        }
    }

    #[test]
    fn python_packages_have_one_exact_version_each() {
        for text in [
            include_str!("../../interop/requirements.txt"),
            include_str!("../../interop/requirements-sqlite.txt"),
        ] {
            for line in text.lines().filter(|line| !line.starts_with('#')) {
                assert!(line.split("==").count() == 2 && !line.contains('*'), "{line}");
            }
        }
    }
}
