//! What releases a call after untrusted input: where its values came from.

use std::borrow::Cow;

use serde_json::Value;
use weaver_text::values;
use weaver_types::{Pointer, SinkKind};

use crate::argument::{ValueOrigin, ValueOrigins};
use crate::critical::{self, Role, wanted};
use crate::query::Query;

/// The longest name of a place in a reason, in characters.
const SHOWN: usize = 80;

/// Whether the values of the call release it; otherwise what stands in the way.
pub(super) fn check(query: &Query<'_>) -> Result<(), String> {
    let Some(arguments) = query.arguments else {
        return Err("the arguments are not known yet".to_owned());
    };
    let Some(origins) = query.origins else {
        return Err("nobody knows where the arguments come from".to_owned());
    };
    let mut call = Call::new(query, origins);
    call.walk(arguments, &mut Vec::new())?;
    if call.decides {
        return Ok(());
    }
    if call.strict {
        return Err("no argument says what it is done to".to_owned());
    }
    // Where no argument says to whom, all that the call says must have been said before.
    call.whole = true;
    call.walk(arguments, &mut Vec::new())?;
    if call.decides { Ok(()) } else { Err("no argument says what it is done to".to_owned()) }
}

/// A call that is looked through.
struct Call<'a> {
    query: &'a Query<'a>,
    origins: &'a dyn ValueOrigins,
    sink: SinkKind,
    /// Whether only the user's words count.
    strict: bool,
    /// Whether every value has to be vouched for.
    whole: bool,
    /// Whether a value that decides where the call goes was found, and vouched for.
    decides: bool,
}

impl<'a> Call<'a> {
    fn new(query: &'a Query<'a>, origins: &'a dyn ValueOrigins) -> Self {
        let sink = query.capability.sink();
        let strict = critical::is_strict(sink);
        Self { query, origins, sink, strict, whole: false, decides: false }
    }

    /// Looks at everything below a place.
    fn walk<'v>(&mut self, value: &'v Value, at: &mut Vec<Cow<'v, str>>) -> Result<(), String> {
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    at.push(Cow::Owned(index.to_string()));
                    self.walk(item, at)?;
                    at.pop();
                }
                Ok(())
            }
            Value::Object(members) => {
                for (name, member) in members {
                    at.push(Cow::Borrowed(name));
                    if name.contains(['.', '@']) {
                        self.text(name, at)?;
                    }
                    self.walk(member, at)?;
                    at.pop();
                }
                Ok(())
            }
            leaf => self.leaf(leaf, at),
        }
    }

    fn leaf(&mut self, value: &Value, at: &[Cow<'_, str>]) -> Result<(), String> {
        let empty = value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty());
        if empty {
            return Ok(());
        }
        let name = wanted::named(at);
        if self.is_critical(at, name) {
            return self.critical(value, at, name);
        }
        if let Value::String(text) = value {
            self.text(text, at)?;
        }
        if self.whole { self.content(value, at, name) } else { Ok(()) }
    }

    /// A value that decides where the call goes.
    fn critical(&mut self, value: &Value, at: &[Cow<'_, str>], name: &str) -> Result<(), String> {
        let at = place(at);
        let found = match Pointer::parse(&at) {
            Ok(pointer) => self.origins.origin(&pointer, value),
            Err(_) => None,
        };
        if !self.counts(found) {
            return Err(self.nowhere(&at, wanted::of(name, value).kind()));
        }
        self.decides = true;
        Ok(())
    }

    /// A text for people: the places that it could send somebody to decide too.
    fn text(&self, text: &str, at: &[Cow<'_, str>]) -> Result<(), String> {
        let (found, complete) = values::destinations(text);
        if !complete {
            return Err(format!("`{}` is too long or too deeply encoded to be read", shown(at)));
        }
        match found.iter().find(|token| !self.counts(self.origins.vouched(token))) {
            Some(token) => Err(self.nowhere(&place(at), token.class.name())),
            None => Ok(()),
        }
    }

    /// A value of a call that says to nobody where it goes.
    fn content(&mut self, value: &Value, at: &[Cow<'_, str>], name: &str) -> Result<(), String> {
        let role = critical::role(name);
        let text = value.as_str().unwrap_or_default();
        let few = value.is_boolean() || role == Role::Switch && !text.trim().contains(' ');
        if few || role == Role::Moment && values::is_time(text) {
            return Ok(());
        }
        let wanted = wanted::content(name, value);
        if !self.counts(wanted.met_by(&|token| self.origins.vouched(token))) {
            return Err(self.nowhere(&place(at), wanted.kind()));
        }
        self.decides = true;
        Ok(())
    }

    fn counts(&self, found: Option<ValueOrigin>) -> bool {
        match found {
            Some(ValueOrigin::User) => true,
            Some(ValueOrigin::Trusted) => !self.strict,
            None => false,
        }
    }

    /// Whether the value here is declared critical, or has the name of one and stands outside of
    /// all that the schema declares.
    fn is_critical(&self, at: &[Cow<'_, str>], name: &str) -> bool {
        let spec = self.query.capability.spec();
        if spec.critical_arguments.iter().any(|declared| critical::covers(declared, at)) {
            return true;
        }
        let schema = spec.input_schema.as_ref().and_then(|schema| schema.get("properties"));
        let beyond = at
            .first()
            .zip(schema)
            .is_some_and(|(first, schema)| schema.get(first.as_ref()).is_none());
        beyond && critical::is_critical(name, self.sink)
    }

    fn nowhere(&self, at: &str, kind: &str) -> String {
        let at: String = at.escape_debug().take(SHOWN).collect();
        let whose =
            if self.strict { "the user's words" } else { "the user's words or in trusted results" };
        format!("the {kind} at `{at}` is not found in {whose}")
    }
}

/// The place as a pointer.
fn place(at: &[Cow<'_, str>]) -> String {
    let names = at.iter().map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1")));
    names.collect()
}

fn shown(at: &[Cow<'_, str>]) -> String {
    place(at).escape_debug().take(SHOWN).collect()
}
