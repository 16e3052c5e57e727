//! Derives the critical arguments of a capability that declares none: those that decide the
//! receiver, the destination, the object or the amount.
//!
//! A declared list replaces this derivation. Without one, the schema is read:
//!
//! | what an argument is | words at the end of its name | critical at |
//! |---|---|---|
//! | a recipient | to, cc, bcc, recipient, participant, attendee, invitee, member, user, channel, list, peer, via, … | every sink |
//! | an e-mail address | email, mail, mailbox | every sink |
//! | a place in a network | url, uri, link, host, domain, server, endpoint, webhook, … | every sink |
//! | a path | path, file, filename, folder, directory, attachment | every sink |
//! | an account | account, iban, bic, card, wallet | every sink |
//! | an amount | amount, price, sum, total, fee, cost | every sink |
//! | a quantity | quantity, qty, pieces, seats, nights | every sink |
//! | an identifier | id, uuid, key, reference, number, code | every sink |
//! | a secret | password, passphrase, secret, pin, token, credential | every sink |
//! | anything else | except text for people (subject, body, title, …), times (date, time, …) and settings | payment, credential, destructive |
//!
//! The name of the tool ([`tool_arguments`]) says more: an argument that is named like the object of
//! the tool is critical, whatever else it sounds like (`order` of `pay_order`, `document` of
//! `share_document`). At the stricter sinks so is what decides there in place of an object: contents,
//! queries, counts, permissions, states; and, for access and payments, how long it lasts.
//!
//! A sink without a schema has a single critical argument: the whole value.

mod argument_role;
mod saved_file;
mod schema_membership;
mod shared_words;
mod tool_words;

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use weaver_text::split;
use weaver_types::{JsonPointer, SinkKind};

pub(crate) use argument_role::is_field_name;
pub use argument_role::{ArgumentRole, argument_role};
pub use saved_file::{possible_saved_files, saved_files};
pub(crate) use schema_membership::{PathStep, SchemaMembership, schema_allows, schema_membership};
pub use shared_words::{DELETION_VERBS, DELETION_WORDS, TEXTS_FOR_PEOPLE};
pub(crate) use tool_words::{ToolWords, grants_access, lasts};

/// How deeply a schema is read.
const MAX_DEPTH: usize = 5;
/// The maximum number of subschemas that are read. A schema can refer to itself, so the work must
/// be bounded.
const MAX_SCHEMAS: usize = 512;

/// The critical arguments of a capability that declares none. Without a sink, nothing is critical.
/// A part that is too deep or too large to be read is critical as a whole.
///
/// ```
/// use serde_json::json;
/// use weaver_policy::critical;
/// use weaver_types::{JsonPointer, SinkKind};
///
/// let schema = json!({ "properties": { "to": { "type": "string" }, "body": { "type": "string" } } });
/// let found = critical::arguments(Some(&schema), SinkKind::ExternalSend);
/// assert_eq!(found, [JsonPointer::parse("/to")?].into());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn arguments(schema: Option<&Value>, sink: SinkKind) -> BTreeSet<JsonPointer> {
    tool_arguments("", schema, sink)
}

/// The critical arguments of a capability with this id that declares none. The words of its name say
/// which argument is its object.
///
/// ```
/// use serde_json::json;
/// use weaver_policy::critical;
/// use weaver_types::{JsonPointer, SinkKind};
///
/// let schema = json!({ "properties": { "order": { "type": "string" }, "note": { "type": "string" } } });
/// let found = critical::tool_arguments("shop.pay_order", Some(&schema), SinkKind::Payment);
/// assert_eq!(found, [JsonPointer::parse("/order")?].into());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn tool_arguments(id: &str, schema: Option<&Value>, sink: SinkKind) -> BTreeSet<JsonPointer> {
    let mut found = BTreeSet::new();
    if sink == SinkKind::None {
        return found;
    }
    let known = schema.and_then(Value::as_object).filter(|schema| declares_members(schema));
    let Some(root) = known else {
        found.extend(JsonPointer::parse("").ok());
        return found;
    };
    let tool = ToolWords::of(id);
    let mut reader = SchemaReader { root, sink, tool, schemas_left: MAX_SCHEMAS, found };
    reader.read_object(root, "", 0);
    reader.mark_deciding_texts();
    reader.found
}

/// Whether an argument with this name is critical at such a sink, judged by the name alone.
#[must_use]
pub fn is_critical(name: &str, sink: SinkKind) -> bool {
    match argument_role(name) {
        ArgumentRole::Text | ArgumentRole::Time | ArgumentRole::Setting => false,
        ArgumentRole::Other => requires_user_words(sink),
        _ => sink != SinkKind::None,
    }
}

/// Whether an argument with this name contains a path: a name for files or folders, for either end
/// of a copy, or for the root of a tree.
///
/// ```
/// use weaver_policy::critical::names_path;
///
/// assert!(names_path("repo_path") && names_path("destination") && !names_path("title"));
/// ```
#[must_use]
pub fn names_path(name: &str) -> bool {
    const NAMES: [&str; 7] = ["source", "destination", "target", "dest", "src", "dst", "root"];
    argument_role(name) == ArgumentRole::Path || NAMES.contains(&name)
}

/// Whether an argument with this name holds a text, or what goes into or is looked for in one.
///
/// ```
/// use weaver_policy::critical::names_content;
///
/// assert!(names_content("content") && names_content("new_value") && !names_content("job"));
/// ```
#[must_use]
pub fn names_content(name: &str) -> bool {
    const CONTENT_WORDS: [&str; 15] = [
        "old", "new", "search", "replace", "replacement", "regex", "code", "data", "value",
        "insert", "snippet", "line", "lines", "patch", "diff",
    ];
    let is_content = |word: &String| CONTENT_WORDS.contains(&word.as_str());
    argument_role(name) == ArgumentRole::Text
        || split::identifier(name).last().is_some_and(is_content)
}

/// Whether an argument with this name contains a URL by itself: `url`, `calendarUrl`, `event_uris`.
pub(crate) fn names_url(name: &str) -> bool {
    const NAMES: [&str; 10] =
        ["url", "urls", "uri", "uris", "href", "hrefs", "link", "links", "endpoint", "endpoints"];
    split::identifier(name).last().is_some_and(|last| NAMES.contains(&last.as_str()))
}

/// Whether an argument with this name takes a script, which may send anything anywhere: `initScript`.
pub(crate) fn takes_script(name: &str) -> bool {
    const SCRIPTS: [&str; 6] = ["script", "scripts", "javascript", "js", "eval", "userscript"];
    const LAST: [&str; 4] = ["expression", "function", "functions", "fn"];
    let words = split::identifier(name);
    let is_any = |word: &String| SCRIPTS.contains(&word.as_str());
    words.iter().any(is_any) || words.last().is_some_and(|last| LAST.contains(&last.as_str()))
}

/// Whether a text could be a script, markup or an option, where a browser takes it: it calls something
/// (`fetch(…)`), has a tag or a template in it, or begins with a dash.
pub(crate) fn may_be_script(text: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | ')' | ']');
    let two = |is_first: &dyn Fn(char) -> bool, second: &dyn Fn(char) -> bool| {
        text.chars().zip(text.chars().skip(1)).any(|(a, b)| is_first(a) && second(b))
    };
    let is_letter = |c: char| c.is_ascii_alphabetic();
    two(&is_name, &|c| matches!(c, '(' | '`'))
        || two(&|c| c == '<', &|c| is_letter(c) || matches!(c, '!' | '?'))
        || two(&|c| c == '=', &|c| matches!(c, '\'' | '"' | '`'))
        || text.contains("${")
        || text.starts_with('-') && text.chars().nth(1).is_some_and(|c| is_letter(c) || c == '-')
}

/// Whether only the user's own words can vouch for values that flow into this sink; trusted results
/// cannot.
#[must_use]
pub fn requires_user_words(sink: SinkKind) -> bool {
    matches!(sink, SinkKind::Payment | SinkKind::Credential | SinkKind::Destructive)
}

/// Whether a declared pointer covers the path given by its unescaped parts. `*` matches any part.
#[must_use]
pub fn covers<S: AsRef<str>>(declared: &JsonPointer, parts: &[S]) -> bool {
    let mut parts = parts.iter();
    declared.as_str().split('/').skip(1).all(|wanted| {
        let found = parts.next().map(AsRef::as_ref);
        wanted == "*" && found.is_some()
            || found
                .is_some_and(|found| wanted == found || JsonPointer::unescape_step(wanted) == found)
    })
}

fn declares_members(schema: &Map<String, Value>) -> bool {
    ["properties", "anyOf", "oneOf", "allOf", "$ref"].iter().any(|key| schema.contains_key(*key))
        || schema.get("additionalProperties") == Some(&Value::Bool(false))
        || schema.get("type").is_some_and(|kind| kind == "object") && schema.len() == 1
}

/// Collects the pointers to critical arguments from a schema.
struct SchemaReader<'s> {
    root: &'s Map<String, Value>,
    sink: SinkKind,
    tool: ToolWords,
    schemas_left: usize,
    found: BTreeSet<JsonPointer>,
}

impl<'s> SchemaReader<'s> {
    /// Marks a pointer as critical. If it is not a valid pointer, the whole value becomes critical.
    fn mark_critical(&mut self, at: &str) {
        self.found.extend(JsonPointer::parse(at).or_else(|_| JsonPointer::parse("")).ok());
    }

    /// Reads the properties of an object schema and of its subschemas.
    fn read_object(&mut self, schema: &'s Map<String, Value>, at: &str, depth: usize) {
        if depth > MAX_DEPTH || self.schemas_left == 0 {
            return self.mark_critical(at);
        }
        self.schemas_left = self.schemas_left.saturating_sub(1);
        for (name, member) in
            schema.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            let below = format!("{at}/{}", JsonPointer::escape_step(name));
            self.read_member(name, member, &below, depth);
        }
        self.read_subschemas(schema, at, depth);
    }

    /// Reads the combined and referenced schemas, and the schemas of the items. Every place that
    /// [`schema_membership`] calls declared is read here.
    fn read_subschemas(&mut self, schema: &'s Map<String, Value>, at: &str, depth: usize) {
        for key in ["anyOf", "oneOf", "allOf"] {
            for one in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
                if let Some(one) = one.as_object() {
                    self.read_object(one, at, depth.saturating_add(1));
                }
            }
        }
        if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
            let found = name.strip_prefix('#').and_then(|name| JsonPointer::parse(name).ok());
            let found = found.and_then(|name| resolve_pointer(self.root, name.as_str()));
            match found {
                Some(found) => self.read_object(found, at, depth.saturating_add(1)),
                None => self.mark_critical(at),
            }
        }
        for key in ["items", "additionalProperties"] {
            if let Some(items) = schema.get(key).and_then(Value::as_object) {
                self.read_object(items, &format!("{at}/*"), depth.saturating_add(1));
            }
        }
        let items = schema.get("prefixItems").and_then(Value::as_array).into_iter().flatten();
        for item in items.filter_map(Value::as_object) {
            self.read_object(item, &format!("{at}/*"), depth.saturating_add(1));
        }
    }

    /// Marks the texts and settings that decide what a call to a strict sink does: by their names,
    /// unless they are optional and another argument names the object; and all required texts if
    /// nothing else is critical.
    fn mark_deciding_texts(&mut self) {
        if !requires_user_words(self.sink) {
            return;
        }
        let required = self.root.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
        let (has_object, properties) = (!self.found.is_empty(), self.root.get("properties"));
        let texts = properties.and_then(Value::as_object).into_iter().flatten();
        let texts = texts.filter(|(name, schema)| {
            let free = matches!(
                argument_role(name),
                ArgumentRole::Text | ArgumentRole::Setting | ArgumentRole::Time
            );
            let switch = schema.get("type").is_some_and(|kind| kind == "boolean");
            free && !switch && !self.has_members(schema, 0)
        });
        let texts: Vec<&String> = texts.map(|(name, _)| name).collect();
        let pointer = |name: &str| format!("/{}", JsonPointer::escape_step(name));
        for name in &texts {
            let decides = tool_words::decides_strictly(name, self.sink);
            let always = tool_words::grants_access(name, self.sink);
            if always || decides && (is_required(name) || !has_object) {
                self.mark_critical(&pointer(name));
            }
        }
        if self.found.is_empty() {
            let is_text = |name: &&&String| argument_role(name) == ArgumentRole::Text;
            for name in texts.iter().filter(is_text).filter(|name| is_required(name)) {
                self.mark_critical(&pointer(name));
            }
        }
    }

    /// Whether the values of a schema have members with names of their own, themselves or in a list. A
    /// reference is followed: what it leads to may be a plain text.
    fn has_members(&self, schema: &Value, depth: usize) -> bool {
        let below = |schema: &Value| self.has_members(schema, depth.saturating_add(1));
        let referenced = || {
            let name = schema.get("$ref")?.as_str()?;
            let at = name.strip_prefix('#').and_then(|name| JsonPointer::parse(name).ok());
            let found = at.and_then(|at| resolve_pointer(self.root, at.as_str()));
            // What cannot be followed is read as a whole elsewhere.
            Some(found.is_none_or(|found| below(&Value::Object(found.clone()))))
        };
        depth > MAX_DEPTH
            || schema.get("properties").is_some_and(Value::is_object)
            || schema.get("items").is_some_and(below)
            || referenced().unwrap_or(false)
    }

    fn read_member(&mut self, name: &str, schema: &'s Value, at: &str, depth: usize) {
        let kind = schema.get("type").and_then(Value::as_str);
        let plain = kind != Some("boolean") && !self.has_members(schema, 0);
        let is_object = plain && self.tool.names_object(name, self.sink);
        let critical = match argument_role(name) {
            ArgumentRole::Text | ArgumentRole::Time | ArgumentRole::Setting => {
                // A count below the arguments belongs to an item of a list.
                let counts = depth > 0 && self.sink == SinkKind::Payment && is_count(name);
                is_object || plain && (counts || tool_words::lasts(name, self.sink))
            }
            ArgumentRole::Other => {
                is_object || requires_user_words(self.sink) && plain && !is_manner(name, schema)
            }
            _ => kind != Some("boolean"),
        };
        match schema.as_object() {
            _ if critical => self.mark_critical(at),
            Some(schema) => self.read_object(schema, at, depth.saturating_add(1)),
            None => {}
        }
    }
}

/// Whether an argument is a choice among listed ways to do the same.
fn is_manner(name: &str, schema: &Value) -> bool {
    let words = weaver_text::split::identifier(name);
    let last = words.last().map_or("", String::as_str);
    schema.get("enum").is_some() && matches!(last, "protocol" | "method" | "strategy")
}

fn is_count(name: &str) -> bool {
    let words = weaver_text::split::identifier(name);
    words.last().is_some_and(|word| matches!(word.as_str(), "count" | "unit" | "units"))
}

/// Resolves a pointer in the root schema.
fn resolve_pointer<'s>(root: &'s Map<String, Value>, at: &str) -> Option<&'s Map<String, Value>> {
    let mut names = at.split('/').skip(1).map(JsonPointer::unescape_step);
    let Some(first) = names.next() else { return Some(root) };
    let first = root.get(&first)?;
    names.try_fold(first, |value, name| value.get(&name))?.as_object()
}

#[cfg(test)]
mod tests;
