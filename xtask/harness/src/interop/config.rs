//! The gateway's configuration for one pair.

use super::plan::{Mode, Plan};
use crate::counterparts::trust::Trust;

/// How the server is reached.
pub enum Upstream<'a> {
    Command { words: &'a [String], env: &'a [(String, String)] },
    Url(&'a str),
}

impl Upstream<'_> {
    fn section(&self) -> toml::Table {
        match self {
            Self::Command { words, env } => {
                let mut words = words.iter().cloned();
                let program = words.next().unwrap_or_default();
                let env = env.iter().map(|(k, v)| (k.clone(), v.clone().into()));
                toml::Table::from_iter([
                    ("command".to_owned(), program.into()),
                    ("args".to_owned(), words.collect::<Vec<String>>().into()),
                    ("env".to_owned(), env.collect::<toml::Table>().into()),
                ])
            }
            Self::Url(url) => toml::Table::from_iter([("url".to_owned(), (*url).into())]),
        }
    }
}

/// The text of `weaver.toml`; with a port, the gateway also listens for HTTP.
pub fn config_text(trust: &Trust, plan: &Plan, server: &Upstream<'_>, port: Option<u16>) -> String {
    let gateway = match plan.mode {
        Mode::Gateway => table([("mode", "gateway".into())]),
        Mode::Proxy => table([("mode", "proxy".into()), ("unprefixed", true.into())]),
    };
    let mut config = toml::Table::from_iter([
        ("principal".to_owned(), table([("id", "interop".into())])),
        ("trust".to_owned(), trust.section().into()),
        ("gateway".to_owned(), gateway),
        ("mcpServers".to_owned(), table([(plan.server.name, server.section().into())])),
    ]);
    if let Some(port) = port {
        let listen = format!("127.0.0.1:{port}");
        config.insert("http".to_owned(), table([("listen", listen.into())]));
    }
    config.to_string()
}

fn table<const N: usize>(pairs: [(&str, toml::Value); N]) -> toml::Value {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<toml::Table>().into()
}
