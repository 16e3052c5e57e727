//! Figures of other redactors, from `xtask/harness/data/redaction-peers.toml`.

use anyhow::{Context, Result};
use toml::{Table, Value};

/// Precision, recall and F1, from 0 to 1.
pub type Figures = [f64; 3];

/// One redactor.
#[derive(Debug)]
pub struct Peer {
    pub name: String,
    pub pii: Figures,
    pub secrets: Figures,
    /// The share of hard negatives that it masks.
    pub hard_negatives: f64,
    /// The share of another tool's false positives that it masks.
    pub rule_negatives: f64,
}

/// All peers, and who measured their figures.
#[derive(Debug)]
pub struct Peers {
    pub source: String,
    pub peers: Vec<Peer>,
}

/// Reads the file.
///
/// # Errors
/// If an entry lacks a figure.
pub fn load() -> Result<Peers> {
    let table: Table = include_str!("../../../data/redaction-peers.toml").parse()?;
    let source = table.get("source").and_then(Value::as_str).context("no `source`")?.to_owned();
    let peers = table.get("peer").and_then(Value::as_array).context("no `peer`")?;
    Ok(Peers { source, peers: peers.iter().map(parse_peer).collect::<Result<_>>()? })
}

fn parse_peer(entry: &Value) -> Result<Peer> {
    let name = entry.get("name").and_then(Value::as_str).context("a peer has no name")?.to_owned();
    let number = |key: &str| {
        let number = entry.get(key).and_then(Value::as_float);
        number.with_context(|| format!("`{name}` has no `{key}`"))
    };
    let figures = |key: &str| {
        let list = entry.get(key).and_then(Value::as_array).map(Vec::as_slice);
        let list = list.unwrap_or_default().iter().filter_map(Value::as_float);
        let list: Vec<f64> = list.collect();
        Figures::try_from(list).ok().with_context(|| format!("`{name}` has no three of `{key}`"))
    };
    Ok(Peer {
        pii: figures("pii")?,
        secrets: figures("secrets")?,
        hard_negatives: number("hard_negatives")?,
        rule_negatives: number("rule_negatives")?,
        name: name.clone(),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_real_file_loads() {
        let peers = super::load().unwrap();
        assert_eq!(peers.peers.len(), 9);
        assert!(peers.source.contains("measured by the project"));
    }
}
