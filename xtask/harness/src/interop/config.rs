//! The configuration of the gateway for one pair.

use super::plan::{Mode, Plan};
use crate::counterparts::trust::Trust;

/// How the server is started.
pub struct Upstream<'a> {
    pub command: &'a [String],
    pub env: &'a [(String, String)],
}

/// The text of `weaver.toml`.
pub fn text(trust: &Trust, plan: &Plan, server: &Upstream<'_>) -> String {
    let mut upstream = toml::Table::new();
    let mut words = server.command.iter().cloned();
    upstream.insert("command".to_owned(), words.next().unwrap_or_default().into());
    upstream.insert("args".to_owned(), words.collect::<Vec<String>>().into());
    let env: toml::Table = server.env.iter().map(|(k, v)| (k.clone(), v.clone().into())).collect();
    upstream.insert("env".to_owned(), env.into());
    let gateway = match plan.mode {
        Mode::Gateway => table([("mode", "gateway".into())]),
        Mode::Proxy => table([("mode", "proxy".into()), ("unprefixed", true.into())]),
    };
    let config = toml::Table::from_iter([
        ("principal".to_owned(), table([("id", "interop".into())])),
        ("trust".to_owned(), trust.section().into()),
        ("gateway".to_owned(), gateway),
        ("mcpServers".to_owned(), table([(plan.server.name, upstream.into())])),
    ]);
    config.to_string()
}

fn table<const N: usize>(pairs: [(&str, toml::Value); N]) -> toml::Value {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<toml::Table>().into()
}
