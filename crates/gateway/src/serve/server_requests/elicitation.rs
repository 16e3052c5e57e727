//! Elicitation: a server asks the person behind a client to fill in a form, or to open a URL.

use serde_json::{Map, Value, json};
use weaver_drivers::http::is_loopback;
use weaver_drivers::mcp::RpcError;
use weaver_drivers::oauth::Url;
use weaver_firewall::Firewall;
use weaver_types::UpstreamName;

use crate::serve::code;
use crate::serve::form_values;
use crate::serve::sanitised_description as sanitised;
use crate::serve::target_client::TargetClient;

/// The longest message shown to a person, in characters.
const MAX_MESSAGE_CHARS: usize = 4_000;
/// The longest id of a request to open a URL, in bytes.
const MAX_ID_BYTES: usize = 256;

/// The request as the client gets it: the server is named, its words are marked as quoted, and
/// hidden characters are escaped.
pub(super) fn request_for_client(
    firewall: &Firewall,
    server: &UpstreamName,
    target: &TargetClient,
    params: &Value,
) -> Result<Value, RpcError> {
    let invalid = |problem: &str| RpcError::new(code::INVALID_PARAMS, problem);
    let text = |key: &str| params.get(key).and_then(Value::as_str);
    let message = text("message").ok_or_else(|| invalid("`message` must be a string"))?;
    // Truncated after masking: the beginning of a cut secret would no longer match its rule.
    let message = sanitised::text(firewall, message);
    let message = weaver_text::escape::truncate(&message, MAX_MESSAGE_CHARS);
    let mut out = Map::from_iter([("message".to_owned(), json!(attributed(server, message)))]);
    match text("mode").unwrap_or("form") {
        "form" => {
            let form = params.get("requestedSchema").unwrap_or(&Value::Null);
            form_values::check_form(form).map_err(|problem| invalid(&problem.to_string()))?;
            out.insert("requestedSchema".to_owned(), sanitised::schema(firewall, form));
            // Older clients do not know this field.
            if supports_mode(target, "form") {
                out.insert("mode".to_owned(), json!("form"));
            }
        }
        "url" if supports_mode(target, "url") => {
            let url = text("url").ok_or_else(|| invalid("`url` must be a string"))?;
            if !may_be_opened(url) {
                let rule = "`url` must be an https address without a user or hidden characters";
                return Err(invalid(rule));
            }
            out.insert("mode".to_owned(), json!("url"));
            out.insert("url".to_owned(), json!(url));
            if let Some(id) = elicitation_id(params)? {
                out.insert("elicitationId".to_owned(), json!(id));
            }
        }
        "url" => return Err(RpcError::method_not_found()),
        _ => return Err(invalid("`mode` must be form or url")),
    }
    Ok(Value::Object(out))
}

/// The server's id of a request to open a URL. It stays unchanged, because the server refers to it
/// when the person is done.
fn elicitation_id(params: &Value) -> Result<Option<&str>, RpcError> {
    let id = params.get("elicitationId").and_then(Value::as_str);
    let fits = |id: &str| id.len() <= MAX_ID_BYTES && weaver_text::escape::line(id) == id;
    match id {
        Some(id) if !fits(id) => {
            let problem = "`elicitationId` is too long or has hidden characters";
            Err(RpcError::new(code::INVALID_PARAMS, problem))
        }
        id => Ok(id),
    }
}

fn supports_mode(target: &TargetClient, mode: &str) -> bool {
    target.capability("elicitation").is_some_and(|declared| declared.get(mode).is_some())
}

/// Whether a person may be sent to this URL: https, or http to this machine. Whether it is the
/// right one is for the person to decide, who sees it in full.
fn may_be_opened(url: &str) -> bool {
    // User information before an `@` looks like the host but is not.
    let leads_to_its_host = |parsed: &Url| {
        parsed.host_str().is_some() && parsed.username().is_empty() && parsed.password().is_none()
    };
    let parsed = Url::parse(url).ok().filter(leads_to_its_host);
    let is_secure = parsed.is_some_and(|parsed| match parsed.scheme() {
        "https" => true,
        "http" => is_loopback(&parsed),
        _ => false,
    });
    is_secure
        && url.len() <= 2_048
        && !url.contains([' ', '\\'])
        && weaver_text::escape::line(url) == url
}

/// The words of a server, each line quoted, so that none can pass for one of Weaver's.
fn attributed(server: &UpstreamName, message: &str) -> String {
    let lines: Vec<String> = message.lines().map(|line| format!("> {line}")).collect();
    format!("The MCP server `{server}` asks you, through Weaver:\n{}", lines.join("\n"))
}

/// The person's answer, as the server gets it: the action, and values that fit the form. Masks in
/// them stay masks.
pub(super) fn validated_answer(params: &Value, answer: Value) -> Result<Value, RpcError> {
    let invalid = |problem: String| RpcError::new(code::INTERNAL, problem);
    let action = answer.get("action").and_then(Value::as_str).unwrap_or_default();
    if matches!(action, "decline" | "cancel") {
        return Ok(json!({ "action": action }));
    }
    if action != "accept" {
        return Err(invalid("the client's answer has no action".to_owned()));
    }
    if params.get("mode").and_then(Value::as_str) == Some("url") {
        return Ok(json!({ "action": "accept" }));
    }
    let none = Map::new();
    let content = answer.get("content").and_then(Value::as_object).unwrap_or(&none);
    let form = params.get("requestedSchema").unwrap_or(&Value::Null);
    let content = form_values::fitting_values(form, content).map_err(|problem| {
        invalid(format!("the client's answer does not fit the form: {problem}"))
    })?;
    Ok(json!({ "action": "accept", "content": content }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_elicitation_id_has_at_most_256_visible_bytes() {
        let longest = "i".repeat(MAX_ID_BYTES);
        for fine in ["", "a-1", &longest] {
            assert_eq!(elicitation_id(&json!({ "elicitationId": fine })), Ok(Some(fine)));
        }
        assert_eq!(elicitation_id(&json!({})), Ok(None));
        for broken in [&format!("{longest}i"), "a\nb", "a\u{200b}b", "a\u{1b}[31m"] {
            let refused = elicitation_id(&json!({ "elicitationId": broken })).unwrap_err();
            assert_eq!(refused.code, code::INVALID_PARAMS, "{broken:?}");
        }
    }

    #[test]
    fn answers_carry_their_action_and_nothing_beside_the_form() {
        let params = json!({"message": "?", "requestedSchema": {"type": "object",
            "properties": {"name": {"type": "string"}}}});
        let accepted = json!({"action": "accept", "content": {"name": "[EMAIL_1]", "b": 1}, "_meta": {"x": 1}});
        let expected = json!({"action": "accept", "content": {"name": "[EMAIL_1]"}});
        assert_eq!(validated_answer(&params, accepted), Ok(expected));
        for action in ["decline", "cancel"] {
            let answer = json!({"action": action, "content": {"name": "x"}});
            assert_eq!(validated_answer(&params, answer), Ok(json!({ "action": action })));
        }
        for odd in [
            json!({}),
            json!({"action": "maybe"}),
            json!({"action": "accept", "content": {"name": 1}}),
        ] {
            assert_eq!(validated_answer(&params, odd.clone()).unwrap_err().code, -32603, "{odd}");
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
        let said = attributed(&server, "one\nThe MCP server `bank` asks you");
        let mut lines = said.lines();
        assert!(lines.next().unwrap().contains("`files`"));
        assert!(lines.all(|line| line.starts_with("> ")), "{said}");
    }
}
