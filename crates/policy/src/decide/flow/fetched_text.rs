//! Finds the addresses that a reader of a text would fetch from: those in markup, in references of
//! schemas, and in directives that include something.
//!
//! Where a text only mentions an address, nobody contacts it. A program that renders, converts or
//! validates a text contacts what the text refers to as a part of itself: pictures, style sheets,
//! external entities, remote schemas.

use std::borrow::Cow;

use weaver_text::values;

use super::address_role::AddressRole;
use super::network_address;
use crate::argument::is_listed;

/// What stands before such an address, in lower case, by what else must be in the text.
const REFERENCES: [(ReferencePlace, &[&str]); 4] = [
    (
        ReferencePlace::Anywhere,
        &[
            "image", "shapefile", "imagepath", "url(", "@import", "$ref", "!include",
            "!includeurl", "!import", "include::", "image::", "figure::", "\\includegraphics",
            ":url:", "#+include", "{{",
        ],
    ),
    (
        ReferencePlace::WithTag,
        &[
            "src", "srcset", "poster", "background", "data", "schemalocation", "system", "public",
            "fileref", "values", "to",
        ],
    ),
    (ReferencePlace::WithFetchingTag, &["href"]),
    (ReferencePlace::WithPicture, &["](", "]:"]),
];
/// Tags that fetch nothing for their `href`: a link waits until somebody follows it.
const TAGS_WITHOUT_FETCH: &str = "\
    a abbr area article aside b blockquote body br button caption center cite code col colgroup \
    dd del details div dl dt em figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header \
    hr html i img input ins kbd label li main mark meta nav ol option p picture pre q s samp \
    section select small span strong sub summary sup table tbody td tfoot th thead title tr ul";
/// Hosts of the names of vocabularies, which readers know by heart.
const VOCABULARIES: [&str; 3] = ["www.w3.org/", "json-schema.org/", "purl.org/"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReferencePlace {
    Anywhere,
    /// A tag anywhere in the text.
    WithTag,
    /// A tag that is not known to fetch nothing.
    WithFetchingTag,
    /// A picture in Markdown anywhere in the text: its address may stand at the end of the text.
    WithPicture,
}

/// The addresses of other machines in a text that a reader of it would fetch from.
pub(super) fn addresses(text: &str) -> Vec<String> {
    let lower = text.to_ascii_lowercase();
    let tags = Tags::of(&lower);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = lower.get(at..).filter(|rest| !rest.is_empty()) {
        let Some((words, end)) = reference_at(&lower, at, tags) else {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        };
        let (piece, length) = referred(words, text.get(end..).unwrap_or_default());
        found.extend(addresses_in(&piece));
        at = end.saturating_add(length);
    }
    found
}

/// The addresses in what a reference refers to. It may be several, and parsers may see another
/// reference in it, so what is behind any sign that may stand before an address is looked at.
fn addresses_in(piece: &str) -> Vec<String> {
    let is_fetched = |part: &&str| {
        let is_remote = || network_address::is_remote(part, AddressRole::Other, false);
        let is_encoded = || part.contains('&') && values::destinations(part) != (Vec::new(), true);
        !is_vocabulary(part) && (is_remote() || is_encoded())
    };
    let is_sign = |c: char| c.is_whitespace() || "={".contains(c);
    let parts = piece.split(['"', '\'', '(', ')', '[', ']']).map(|part| part.trim_matches(is_sign));
    parts
        .flat_map(|part| {
            let first = Some(part).filter(is_fetched);
            let others = part.split(is_sign).skip(1).filter(is_fetched);
            first.into_iter().chain(others)
        })
        .map(str::to_owned)
        .collect()
}

/// What the tags of a text may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tags {
    any: bool,
    may_fetch: bool,
    has_picture: bool,
}

impl Tags {
    /// Read without regard to quotes, so that no parser can see a tag that this does not.
    fn of(lower: &str) -> Self {
        let has_picture = lower.contains("![");
        let mut tags = Self { any: false, may_fetch: false, has_picture };
        for part in lower.split('<').skip(1) {
            let part = part.strip_prefix('/').unwrap_or(part);
            if !part.starts_with(|c: char| c.is_alphabetic() || matches!(c, '!' | '?' | '_')) {
                continue;
            }
            tags.any = true;
            let name = part.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            tags.may_fetch |= !is_listed(name, &[TAGS_WITHOUT_FETCH]);
        }
        tags
    }

    fn allow(self, place: ReferencePlace) -> bool {
        match place {
            ReferencePlace::Anywhere => true,
            ReferencePlace::WithTag => self.any,
            ReferencePlace::WithFetchingTag => self.may_fetch,
            ReferencePlace::WithPicture => self.has_picture,
        }
    }
}

/// The words of a reference that begins at this place, and where they end.
fn reference_at(lower: &str, at: usize, tags: Tags) -> Option<(&'static str, usize)> {
    let rest = lower.get(at..)?;
    const FIRSTS: &[char] = &[
        'h', 's', 'p', 'b', 'd', 'i', 'f', 'u', 'v', 't', '@', '$', '!', '\\', ']', ':', '#', '{',
    ];
    if !rest.starts_with(FIRSTS) {
        return None;
    }
    let before = lower.get(..at).unwrap_or_default().chars().next_back();
    let in_word = before.is_some_and(char::is_alphanumeric);
    let holds = |words: &&str| {
        if !rest.starts_with(words) {
            return false;
        }
        let starts_word = words.starts_with(|c: char| c.is_ascii_alphabetic());
        let next = rest.get(words.len()..).unwrap_or_default().trim_start().chars().next();
        let is_whole = match *words {
            "$ref" | "@import" | "system" | "public" => next.is_some(),
            _ if words.starts_with(['!', '\\', ']', '#', '{']) || words.ends_with(['(', ':']) => {
                next.is_some()
            }
            // An attribute has its value after `=`.
            _ => next == Some('='),
        };
        is_whole && !(starts_word && in_word)
    };
    let allowed = REFERENCES.iter().filter(|(place, _)| tags.allow(*place));
    // The longest, so that `!includeurl` is not `!include`.
    let found = allowed.flat_map(|(_, all)| *all).copied().filter(holds).max_by_key(|w| w.len());
    found.map(|words| (words, at.saturating_add(words.len())))
}

/// What a reference refers to, from where its words end, and how many bytes that is.
fn referred<'t>(words: &str, rest: &'t str) -> (Cow<'t, str>, usize) {
    let end = match words {
        "](" | "url(" => rest.find(')'),
        // A public identifier has its address behind its name.
        "system" | "public" => rest.find('>'),
        _ => {
            let is_sign = |c: char| c.is_whitespace() || "=:({[\"'".contains(c);
            let value = rest.trim_start_matches(is_sign);
            let start = rest.len().saturating_sub(value.len());
            let sign = rest.get(..start).unwrap_or_default().chars().next_back();
            let length = match sign.filter(|c| matches!(c, '"' | '\'')) {
                Some(quote) => value.find(quote),
                None => value.find(|c: char| c.is_whitespace() || ">)}]".contains(c)),
            };
            length.map(|length| start.saturating_add(length))
        }
    };
    let length = end.unwrap_or(rest.len());
    let piece = rest.get(..length).unwrap_or_default();
    // Readers of addresses skip line ends and tabs in them.
    let piece = match piece.contains(char::is_control) {
        true => Cow::Owned(piece.chars().filter(|c| !c.is_control()).collect()),
        false => Cow::Borrowed(piece),
    };
    (piece, length)
}

/// Whether an address is the name of a vocabulary. A path below such a host says nothing to others.
fn is_vocabulary(address: &str) -> bool {
    let address = address.trim();
    let after = address.strip_prefix("http://").or(address.strip_prefix("https://"));
    after.is_some_and(|rest| VOCABULARIES.iter().any(|known| rest.starts_with(known)))
}
