//! How documents are read: lists, patterns, truth with a third value, and the words of things.

use toml::{Table, Value};
use weaver_types::{
    Confidentiality, Effects, Impact, Integrity, JustificationSource, Operation, ResponseMode,
    Rung, SafetyClass, SafetyMode, SensitivityTag, SinkKind, Timestamp, World,
};

/// Yes, no, or not known.
pub(crate) type Truth = Option<bool>;

/// Of a list that must hold whole.
pub(crate) fn all(list: &[Truth]) -> Truth {
    if list.contains(&Some(false)) {
        Some(false)
    } else if list.contains(&None) {
        None
    } else {
        Some(true)
    }
}

/// Of a list of which one must hold.
pub(crate) fn any(list: &[Truth]) -> Truth {
    if list.contains(&Some(true)) {
        Some(true)
    } else if list.contains(&None) {
        None
    } else {
        Some(false)
    }
}

/// A list; a value without brackets is a list of one.
pub(crate) fn entries(value: &Value) -> &[Value] {
    match value {
        Value::Array(list) => list,
        one => std::slice::from_ref(one),
    }
}

/// A list of texts; empty where there is none.
pub(crate) fn texts<'a>(table: &'a Table, key: &str) -> Vec<&'a str> {
    table.get(key).map(words_in).unwrap_or_default()
}

pub(crate) fn words_in(value: &Value) -> Vec<&str> {
    entries(value).iter().map(|one| one.as_str().unwrap()).collect()
}

pub(crate) fn tables(value: Option<&Value>) -> Vec<&Table> {
    value
        .map(|value| entries(value).iter().map(|one| one.as_table().unwrap()).collect())
        .unwrap_or_default()
}

pub(crate) fn whole<T: TryFrom<i64>>(table: &Table, key: &str) -> Option<T> {
    table.get(key).map(|value| T::try_from(value.as_integer().unwrap()).ok().unwrap())
}

/// A time: RFC 3339, in quotes or as a date-time.
pub(crate) fn moment(value: &Value) -> Timestamp {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.as_datetime().unwrap().to_string(),
    };
    Timestamp::parse_rfc3339(&text).unwrap()
}

/// Whether the whole text fits a pattern in which `*` is any run of characters.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len()).any(|at| rest.get(at..).is_some_and(|tail| fits(after, tail)))
        }),
    }
}

pub(crate) fn fits_one(patterns: &[&str], text: &str) -> bool {
    patterns.iter().any(|pattern| fits(pattern, text))
}

/// As [`fits_one`], without regard to case.
pub(crate) fn fits_one_any_case(patterns: &[&str], text: &str) -> bool {
    let fold = |text: &str| text.to_uppercase().to_lowercase();
    patterns.iter().any(|pattern| fits(&fold(pattern), &fold(text)))
}

macro_rules! words {
    ($($name:ident($type:ident) { $($variant:ident = $word:literal,)* })*) => {$(
        pub(crate) fn $name(value: $type) -> &'static str {
            match value { $($type::$variant => $word,)* }
        }
        impl Word for $type {
            fn of(word: &str) -> Self {
                match word { $($word => Self::$variant,)* other => panic!("no such word: {other}") }
            }
        }
    )*};
}

/// Read from the word that documents use.
pub(crate) trait Word: Sized {
    fn of(word: &str) -> Self;
}

words! {
    impact(Impact) { Read = "read", Write = "write", Destroy = "destroy", }
    world(World) { Closed = "closed", Open = "open", }
    class(SafetyClass) {
        ReadOnly = "read_only", LocalWrite = "local_write", Network = "network",
        Destructive = "destructive",
    }
    rung(Rung) { L0 = "L0", L1 = "L1", L2 = "L2", L3 = "L3", L4 = "L4", L5 = "L5", }
    sink(SinkKind) {
        None = "none", ExternalSend = "external_send", Payment = "payment",
        Credential = "credential", Destructive = "destructive",
    }
    sensitivity(SensitivityTag) {
        Memory = "memory", Pii = "pii", Pci = "pci", Secrets = "secrets",
    }
    mode(SafetyMode) { Normal = "NORMAL", Safe = "SAFE", Strict = "STRICT", }
    confidentiality(Confidentiality) {
        Public = "public", Internal = "internal", Confidential = "confidential",
        Restricted = "restricted",
    }
    integrity(Integrity) { Trusted = "trusted", Untrusted = "untrusted", }
    operation(Operation) { Invoke = "invoke", View = "view", }
    source(JustificationSource) { Human = "human", Host = "host", Model = "model", }
}

impl Word for ResponseMode {
    fn of(word: &str) -> Self {
        match word {
            "raw" => Self::Raw,
            "table" => Self::Table,
            "summary" => Self::Summary,
            "handle_only" => Self::HandleOnly,
            other => panic!("no such word: {other}"),
        }
    }
}

/// Effects as a table or as one word.
pub(crate) fn effects(value: &Value) -> Effects {
    let of = |impact, world| Effects { impact, world };
    match value {
        Value::Table(table) => of(
            Impact::of(table["impact"].as_str().unwrap()),
            World::of(table["world"].as_str().unwrap()),
        ),
        word => match word.as_str().unwrap() {
            "read_local" => of(Impact::Read, World::Closed),
            "read_open" => of(Impact::Read, World::Open),
            "write_local" => of(Impact::Write, World::Closed),
            "write_open" => of(Impact::Write, World::Open),
            "destructive" => of(Impact::Destroy, World::Open),
            other => panic!("no such effects: {other}"),
        },
    }
}
