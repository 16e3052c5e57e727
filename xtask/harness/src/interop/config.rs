//! The gateway's configuration for one pair.

use super::plan::{Mode, Plan};
use crate::counterparts::trust::Trust;

/// How long a held call of a client that knows tasks waits, in milliseconds: nobody answers.
const TASK_WAIT_MS: i64 = 2_000;

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
    let mut gateway = match plan.mode {
        Mode::Gateway => pairs([("mode", "gateway".into())]),
        Mode::Proxy => pairs([("mode", "proxy".into()), ("unprefixed", true.into())]),
    };
    if plan.client.knows_tasks() {
        gateway.insert("approval_timeout_ms".to_owned(), TASK_WAIT_MS.into());
    }
    let mut config = toml::Table::from_iter([
        ("principal".to_owned(), table([("id", "interop".into())])),
        ("trust".to_owned(), trust.section().into()),
        ("gateway".to_owned(), gateway.into()),
        ("mcpServers".to_owned(), table([(plan.server.name, server.section().into())])),
    ]);
    if let Some(port) = port {
        let listen = format!("127.0.0.1:{port}");
        config.insert("http".to_owned(), table([("listen", listen.into())]));
    }
    config.to_string()
}

fn table<const N: usize>(members: [(&str, toml::Value); N]) -> toml::Value {
    pairs(members).into()
}

fn pairs<const N: usize>(members: [(&str, toml::Value); N]) -> toml::Table {
    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::plan::{self, Era, Tool};
    use super::*;
    use crate::counterparts::pins::Pins;

    #[test]
    fn no_held_call_waits_for_an_answer_that_nobody_gives() {
        let mut limited = 0;
        for plan in plan::all_plans(&Pins::empty()) {
            let text = config_text(&Trust::empty(), &plan, &Upstream::Url("http://x"), None);
            let config: toml::Table = text.parse().unwrap();
            let wait =
                config["gateway"].get("approval_timeout_ms").and_then(toml::Value::as_integer);
            // The others get their hold at once.
            let is_task = plan.client.tool == Tool::Inspector && plan.client.era == Era::Modern;
            assert_eq!(wait.is_some_and(|ms| ms < 10_000), is_task, "{}", plan.folder());
            limited += u32::from(is_task);
        }
        assert!(limited > 0);
    }
}
