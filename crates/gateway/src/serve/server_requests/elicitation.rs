//! Elicitation: a server asks the person behind a client to fill in a form, or to open an address.

use serde_json::{Map, Value, json};
use weaver_drivers::http::is_loopback;
use weaver_drivers::mcp::RpcError;
use weaver_drivers::oauth::Url;
use weaver_types::UpstreamName;

use super::INVALID_PARAMS;
use crate::serve::asked_client::AskedClient;
use crate::serve::form_values;
use crate::serve::gateway::Gateway;
use crate::serve::sanitised_description as sanitised;

/// The longest message that a person is shown, in characters.
const MAX_MESSAGE: usize = 4_000;

/// What the person is shown: the server named, its words marked as its own, hidden characters
/// written out.
pub(super) fn shown(
    gateway: &Gateway,
    server: &UpstreamName,
    asked: &AskedClient,
    params: &Value,
) -> Result<Value, RpcError> {
    let invalid = |problem: &str| RpcError::new(INVALID_PARAMS, problem);
    let text = |key: &str| params.get(key).and_then(Value::as_str);
    let said = text("message").ok_or_else(|| invalid("`message` must be a string"))?;
    let firewall = gateway.kernel.firewall();
    // Cut afterwards, for the begin of a secret is no longer known as one.
    let said = sanitised::text(firewall, said);
    let said = weaver_text::escape::truncate(&said, MAX_MESSAGE);
    let mut out = Map::from_iter([("message".to_owned(), json!(marked(server, said)))]);
    match text("mode").unwrap_or("form") {
        "form" => {
            let form = params.get("requestedSchema").unwrap_or(&Value::Null);
            form_values::check_form(form).map_err(|problem| invalid(&problem.to_string()))?;
            out.insert("requestedSchema".to_owned(), sanitised::schema(firewall, form));
            // What older clients do not know is not said to them.
            if takes(asked, "form") {
                out.insert("mode".to_owned(), json!("form"));
            }
        }
        "url" if takes(asked, "url") => {
            let url = text("url").ok_or_else(|| invalid("`url` must be a string"))?;
            if !may_be_opened(url) {
                let rule = "`url` must be an https address without a user or hidden characters";
                return Err(invalid(rule));
            }
            out.insert("mode".to_owned(), json!("url"));
            out.insert("url".to_owned(), json!(url));
            out.extend(text("elicitationId").map(|id| ("elicitationId".to_owned(), json!(id))));
        }
        "url" => return Err(RpcError::method_not_found()),
        _ => return Err(invalid("`mode` must be form or url")),
    }
    Ok(Value::Object(out))
}

fn takes(asked: &AskedClient, mode: &str) -> bool {
    asked.capability("elicitation").is_some_and(|said| said.get(mode).is_some())
}

/// An address that a person may be sent to. Whether it is the right one the person decides, who sees
/// it whole.
fn may_be_opened(url: &str) -> bool {
    // What stands before an `@` reads like the host and is none.
    let leads_to_its_host = |parsed: &Url| {
        parsed.host_str().is_some() && parsed.username().is_empty() && parsed.password().is_none()
    };
    let parsed = Url::parse(url).ok().filter(leads_to_its_host);
    let is_private = parsed.is_some_and(|parsed| match parsed.scheme() {
        "https" => true,
        "http" => is_loopback(&parsed),
        _ => false,
    });
    is_private
        && url.len() <= 2_048
        && !url.contains([' ', '\\'])
        && weaver_text::escape::line(url) == url
}

/// The words of a server, each line marked.
fn marked(server: &UpstreamName, said: &str) -> String {
    let lines: Vec<String> = said.lines().map(|line| format!("> {line}")).collect();
    format!("The MCP server `{server}` asks you, through Weaver:\n{}", lines.join("\n"))
}

/// What the person answered, as the server gets it: the action, and values that fit the form. Masks
/// in them stay masks.
pub(super) fn checked(params: &Value, answer: Value) -> Result<Value, RpcError> {
    let unfit = |problem: String| RpcError::new(-32603, problem);
    let action = answer.get("action").and_then(Value::as_str).unwrap_or_default();
    if matches!(action, "decline" | "cancel") {
        return Ok(json!({ "action": action }));
    }
    if action != "accept" {
        return Err(unfit("the client's answer has no action".to_owned()));
    }
    if params.get("mode").and_then(Value::as_str) == Some("url") {
        return Ok(json!({ "action": "accept" }));
    }
    let none = Map::new();
    let content = answer.get("content").and_then(Value::as_object).unwrap_or(&none);
    let form = params.get("requestedSchema").unwrap_or(&Value::Null);
    form_values::check(form, content)
        .map_err(|problem| unfit(format!("the client's answer does not fit: {problem}")))?;
    Ok(json!({ "action": "accept", "content": content }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_carry_their_action_and_nothing_beside_the_form() {
        let params = json!({"message": "?", "requestedSchema": {"type": "object",
            "properties": {"name": {"type": "string"}}}});
        let accepted =
            json!({"action": "accept", "content": {"name": "[EMAIL_1]"}, "_meta": {"x": 1}});
        let expected = json!({"action": "accept", "content": {"name": "[EMAIL_1]"}});
        assert_eq!(checked(&params, accepted), Ok(expected));
        for action in ["decline", "cancel"] {
            let answer = json!({"action": action, "content": {"name": "x"}});
            assert_eq!(checked(&params, answer), Ok(json!({ "action": action })));
        }
        for odd in [
            json!({}),
            json!({"action": "maybe"}),
            json!({"action": "accept", "content": {"a": 1}}),
        ] {
            assert_eq!(checked(&params, odd.clone()).unwrap_err().code, -32603, "{odd}");
        }
    }

    #[test]
    fn a_person_is_sent_to_plain_addresses_only() {
        for url in ["https://a.example/x?y#z", "http://127.0.0.1:8080/cb", "http://localhost"] {
            assert!(may_be_opened(url), "{url}");
        }
        for url in [
            "http://a.example",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "http://localhost.evil.example",
            "https://a.example/\u{202e}",
            "http://127.0.0.1:80@evil.example/login",
            "http://localhost:x@evil.example/",
            "https://bank.example@evil.example/",
            "https://bank.example\\@evil.example/",
            "/login",
        ] {
            assert!(!may_be_opened(url), "{url}");
        }
    }

    #[test]
    fn no_line_of_a_server_passes_for_one_of_weaver() {
        let server = UpstreamName::parse("files").unwrap();
        let said = marked(&server, "one\nThe MCP server `bank` asks you");
        let mut lines = said.lines();
        assert!(lines.next().unwrap().contains("`files`"));
        assert!(lines.all(|line| line.starts_with("> ")), "{said}");
    }
}
