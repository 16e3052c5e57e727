//! What releases a call after untrusted input, where nobody vouches for single words.

use serde_json::Value;
use weaver_policy::ValueOrigin;
use weaver_text::values;
use weaver_types::SinkKind;

use super::capability::Effective;
use super::request::Asked;
use super::words;

/// Every value with its place, as the parts of a pointer, and every name of a member.
fn walk(value: &Value, at: &[String], leaves: &mut Vec<(Vec<String>, Value)>) {
    let below = |name: String| [at, &[name]].concat();
    match value {
        Value::Array(items) => {
            leaves.push((at.to_vec(), value.clone()));
            for (n, item) in items.iter().enumerate() {
                walk(item, &below(n.to_string()), leaves);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                if name.contains(['.', '@']) {
                    leaves.push((vec!["\0".to_owned()], Value::from(name.as_str())));
                }
                walk(member, &below(name.clone()), leaves);
            }
        }
        leaf => leaves.push((at.to_vec(), leaf.clone())),
    }
}

fn is_under(declared: &str, at: &[String]) -> bool {
    let read = |part: &str| part.replace("~1", "/").replace("~0", "~");
    let declared: Vec<_> = declared.split('/').skip(1).map(read).collect();
    declared.len() <= at.len()
        && declared.iter().zip(at).all(|(wanted, found)| wanted == "*" || wanted == found)
}

/// Whether a call that is no sink names another machine. Only one argument is ever given a URL.
pub(crate) fn names_machine(asked: &Asked) -> bool {
    let url = asked.arguments.as_ref().and_then(|all| all.get("url")?.as_str());
    url.is_some_and(|url| words::URLS.contains(&url) && !words::HERE_OR_NOWHERE.contains(&url))
}

pub(crate) fn released(capability: &Effective, asked: &Asked) -> bool {
    let (Some(arguments), Some(origins)) = (&asked.arguments, &asked.origins) else { return false };
    let mut leaves = Vec::new();
    walk(arguments, &[], &mut leaves);
    let mut decided = false;
    for (at, leaf) in leaves {
        let text = leaf.as_str();
        let strict = capability.sink != SinkKind::ExternalSend;
        let critical = || capability.critical.iter().any(|declared| is_under(declared, &at));
        let empty = leaf == "" || leaf == Value::Array(Vec::new());
        if strict && empty && at != ["\0"] && critical() {
            return false;
        }
        if let Value::Array(items) = &leaf {
            let repeats = (1..items.len()).any(|n| items[..n].contains(&items[n]));
            if strict && repeats {
                return false;
            }
            continue;
        }
        if leaf.is_null() || text.is_some_and(|text| text.trim().is_empty()) {
            continue;
        }
        let is_name = at == ["\0"];
        let critical =
            !is_name && capability.critical.iter().any(|declared| is_under(declared, &at));
        if critical {
            let written =
                |part: &String| format!("/{}", part.replace('~', "~0").replace('/', "~1"));
            let place: String = at.iter().map(written).collect();
            match origins.0.get(&place) {
                Some(ValueOrigin::User) => {}
                Some(ValueOrigin::Trusted) if capability.sink == SinkKind::ExternalSend => {}
                _ => return false,
            }
            decided = true;
        } else if text.is_some_and(|text| !values::destinations(text).0.is_empty()) {
            return false;
        }
    }
    decided
}
