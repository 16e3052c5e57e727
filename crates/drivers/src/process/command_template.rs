//! Fills the arguments of a program from the arguments of a call.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use weaver_agent_kernel::DriverError;

use super::TemplateError;
use crate::placeholder::{self, NO_SCALAR, Placeholder, PlaceholderKind};

/// The most items that a list argument may become.
const MAX_ITEMS: usize = 4_096;
/// The longest item in bytes, which is Linux's limit.
const MAX_ITEM_BYTES: usize = 128 * 1024 - 1;

/// The arguments of a program, with placeholders for arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandTemplate {
    items: Vec<TemplateItem>,
    stdin: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplateItem {
    Literal(String),
    Placeholder(Placeholder, CommandRegion),
}

/// The two parts of a command line (POSIX utility conventions).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandRegion {
    /// Before `--`, where an item that begins with `-` is an option.
    Options,
    /// After it.
    Operands,
}

/// A filled command line and standard input.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FilledCommand {
    pub(super) argv: Vec<String>,
    pub(super) stdin: Vec<u8>,
}

impl CommandTemplate {
    pub(super) fn parse(args: &[String], stdin: Option<&str>) -> Result<Self, TemplateError> {
        let mut seen_names: BTreeSet<&str> = stdin.into_iter().collect();
        let mut items = Vec::new();
        let mut region = CommandRegion::Options;
        for arg in args {
            if arg == "--" {
                region = CommandRegion::Operands;
            }
            let item = match arg.strip_prefix('{') {
                None => TemplateItem::Literal(arg.clone()),
                Some(rest) if rest.starts_with('{') => TemplateItem::Literal(rest.to_owned()),
                Some(rest) => Placeholder::parse(rest)
                    .map(|placeholder| TemplateItem::Placeholder(placeholder, region))
                    .ok_or_else(|| TemplateError::Placeholder { item: arg.clone() })?,
            };
            items.push(item);
        }
        for item in &items {
            if let TemplateItem::Placeholder(Placeholder { name, .. }, _) = item
                && !seen_names.insert(name)
            {
                return Err(TemplateError::Twice { name: name.clone() });
            }
        }
        Ok(Self { stdin: stdin.map(str::to_owned), items })
    }

    /// Fills the placeholders with the arguments of a call.
    pub(super) fn fill(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<FilledCommand, DriverError> {
        let mut argv = Vec::new();
        let mut used: BTreeSet<&str> = BTreeSet::new();
        for item in &self.items {
            match item {
                TemplateItem::Literal(text) => argv.push(text.clone()),
                TemplateItem::Placeholder(Placeholder { name, kind }, region) => {
                    used.insert(name);
                    let value = arguments.get(name).filter(|value| !value.is_null());
                    for value in placeholder_values(name, value, *kind)? {
                        argv.push(item_text(name, value, *region)?);
                    }
                }
            }
        }
        let stdin = match &self.stdin {
            None => Vec::new(),
            Some(name) => {
                used.insert(name);
                match arguments.get(name) {
                    None | Some(Value::Null) => Vec::new(),
                    Some(Value::String(text)) => text.clone().into_bytes(),
                    Some(value) => value.to_string().into_bytes(),
                }
            }
        };
        match arguments.keys().find(|name| !used.contains(name.as_str())) {
            Some(name) => Err(invalid_argument(name, "has no place in the command")),
            None => Ok(FilledCommand { argv, stdin }),
        }
    }
}

fn invalid_argument(name: &str, what: &str) -> DriverError {
    let name: String = name.escape_debug().take(80).collect();
    DriverError::Invalid(format!("`{name}` {what}"))
}

fn placeholder_values<'v>(
    name: &str,
    value: Option<&'v Value>,
    kind: PlaceholderKind,
) -> Result<Vec<&'v Value>, DriverError> {
    match (value, kind) {
        (None, PlaceholderKind::Required) => Err(invalid_argument(name, "is missing")),
        (None, PlaceholderKind::Optional | PlaceholderKind::Spread) => Ok(Vec::new()),
        (Some(Value::Array(list)), PlaceholderKind::Spread) if list.len() > MAX_ITEMS => {
            Err(invalid_argument(name, "has too many entries"))
        }
        (Some(Value::Array(list)), PlaceholderKind::Spread) => Ok(list.iter().collect()),
        (Some(_), PlaceholderKind::Spread) => Err(invalid_argument(name, "is not a list")),
        (Some(value), _) => Ok(vec![value]),
    }
}

/// The text of one item.
fn item_text(name: &str, value: &Value, region: CommandRegion) -> Result<String, DriverError> {
    let text = placeholder::scalar_text(value).ok_or_else(|| invalid_argument(name, NO_SCALAR))?;
    if region == CommandRegion::Options && text.starts_with('-') {
        return Err(invalid_argument(name, "begins with `-`, as an option does"));
    }
    if text.contains('\0') {
        return Err(invalid_argument(name, "has a NUL character"));
    }
    if text.len() > MAX_ITEM_BYTES {
        return Err(invalid_argument(name, "is too long for the command line"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn template(args: &[&str], stdin: Option<&str>) -> CommandTemplate {
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        CommandTemplate::parse(&args, stdin).unwrap()
    }

    fn filled(args: &[&str], arguments: Value) -> Result<Vec<String>, String> {
        let Value::Object(arguments) = arguments else { panic!("an object") };
        let filled = template(args, None).fill(&arguments);
        filled.map(|filled| filled.argv).map_err(|error| error.to_string())
    }

    #[test]
    fn a_value_is_one_item_whatever_is_in_it() {
        let nasty = "a b; rm -rf / $(x) `y` 'z' \"q\" {n} * \n";
        assert_eq!(
            filled(&["-n", "{n}", "--", "{path}", "{{x}"], json!({"n": 3, "path": nasty})),
            Ok(vec!["-n".into(), "3".into(), "--".into(), nasty.into(), "{x}".into()])
        );
        assert_eq!(
            filled(&["{all...}", "{none?}"], json!({"all": ["a b", 1, true]})),
            Ok(vec!["a b".into(), "1".into(), "true".into()])
        );
    }

    #[test]
    fn an_option_is_refused_unless_nothing_can_be_one_any_more() {
        for (args, arguments) in [
            (&["{path}"][..], json!({"path": "-rf"})),
            (&["{path}"][..], json!({"path": "-"})),
            (&["{n}"][..], json!({"n": -1})),
            (&["{all...}"][..], json!({"all": ["x", "--output=/etc/passwd"]})),
            (&["{path}", "--"][..], json!({"path": "-x"})),
        ] {
            let error = filled(args, arguments).unwrap_err();
            assert!(error.contains("as an option does"), "{error}");
        }
        assert_eq!(filled(&["--", "{path}"], json!({"path": "-rf"})).unwrap()[1], "-rf");
    }

    #[test]
    fn what_has_no_place_or_no_value_is_refused() {
        for (arguments, part) in [
            (json!({}), "`path` is missing"),
            (json!({"path": null}), "`path` is missing"),
            (json!({"path": "a", "more": 1}), "`more` has no place"),
            (json!({"path": ["a"]}), "neither text"),
            (json!({"path": {"a": 1}}), "neither text"),
            (json!({"path": "a\u{0}b"}), "NUL"),
            (json!({"path": "x".repeat(MAX_ITEM_BYTES + 1)}), "too long"),
        ] {
            let error = filled(&["{path}"], arguments).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn standard_input_is_a_place_too() {
        let template = template(&["{a}"], Some("text"));
        let Value::Object(arguments) = json!({"a": "x", "text": "-- hello"}) else { panic!() };
        assert_eq!(template.fill(&arguments).unwrap().stdin, b"-- hello");
        let twice = CommandTemplate::parse(&["{a}".to_owned()], Some("a"));
        assert_eq!(twice.unwrap_err().code(), "process.twice");
    }

    #[test]
    fn a_place_inside_of_an_item_is_refused() {
        for bad in ["{", "{}", "{a b}", "{a}x", "{a", "{a....}", "{?}"] {
            let read = CommandTemplate::parse(&[bad.to_owned()], None);
            assert_eq!(read.unwrap_err().code(), "process.placeholder", "{bad}");
        }
        assert_eq!(filled(&["--x={a}"], json!({})), Ok(vec!["--x={a}".to_owned()]));
    }

    proptest! {
        /// Whatever a text is, it is refused or becomes exactly one item, unchanged.
        #[test]
        fn no_text_becomes_two_items_or_an_option(text in any::<String>()) {
            let arguments = Map::from_iter([("a".to_owned(), Value::from(text.clone()))]);
            match template(&["first", "{a}", "last"], None).fill(&arguments) {
                Ok(filled) => {
                    prop_assert_eq!(filled.argv, vec!["first".to_owned(), text.clone(), "last".to_owned()]);
                    prop_assert!(!text.starts_with('-') && !text.contains('\0'));
                }
                Err(_) => prop_assert!(text.starts_with('-') || text.contains('\0')),
            }
        }
    }
}
