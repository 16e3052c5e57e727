//! Recognises values in a request by their form (paths, addresses, times), and which of these types
//! the arguments of a tool accept.

use super::term_key::{self, TermKey};

/// A set of value types, as bits: a word may have several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ArgumentTypes(u16);

/// The names of the types in the intent table.
const NAMES: [(&str, ArgumentTypes); 16] = [
    ("path", ArgumentTypes::PATH),
    ("url", ArgumentTypes::URL),
    ("email", ArgumentTypes::EMAIL),
    ("time", ArgumentTypes::TIME),
    ("branch", ArgumentTypes::BRANCH),
    ("revision", ArgumentTypes::REVISION),
    ("image", ArgumentTypes::IMAGE),
    ("sound", ArgumentTypes::AUDIO),
    ("film", ArgumentTypes::VIDEO),
    ("channel", ArgumentTypes::CHANNEL),
    ("ticket", ArgumentTypes::TICKET),
    ("point", ArgumentTypes::COORDINATE),
    ("number", ArgumentTypes::NUMBER),
    ("key", ArgumentTypes::KEY),
    ("glob", ArgumentTypes::GLOB),
    ("folder", ArgumentTypes::FOLDER),
];

/// Types that are recognised by argument names, each with the words that such a name ends with.
const ARGUMENT_NAMES: [(ArgumentTypes, &[&str]); 5] = [
    (
        ArgumentTypes::PATH,
        &["path", "paths", "file", "files", "filename", "filepath", "directory", "folder", "dir"],
    ),
    (ArgumentTypes::URL, &["url", "urls", "uri", "link", "href", "website"]),
    (ArgumentTypes::EMAIL, &["email", "emails", "recipient", "recipients"]),
    (ArgumentTypes::TIME, &["time", "datetime", "timezone", "timestamp", "date"]),
    (ArgumentTypes::BRANCH, &["branch", "ref", "head"]),
];

const IMAGE_EXTENSIONS: [&str; 9] =
    ["jpg", "jpeg", "png", "gif", "svg", "webp", "bmp", "tiff", "heic"];
const AUDIO_EXTENSIONS: [&str; 6] = ["mp3", "wav", "ogg", "flac", "m4a", "aac"];
const VIDEO_EXTENSIONS: [&str; 6] = ["mp4", "mkv", "avi", "mov", "webm", "mpeg"];
/// Extensions of other files.
const FILE_EXTENSIONS: [&str; 64] = [
    "bak", "bash", "bat", "bz2", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "db", "doc",
    "docx", "env", "epub", "go", "gz", "h", "hpp", "htm", "html", "ini", "ipynb", "java", "jl",
    "js", "json", "jsonl", "jsx", "kt", "lock", "log", "lua", "md", "odt", "parquet", "pdf", "php",
    "pl", "ppt", "pptx", "py", "r", "rb", "rs", "rst", "sh", "sql", "sqlite", "swift", "tar",
    "tex", "toml", "ts", "tsv", "tsx", "txt", "xls", "xlsx", "xml", "yaml", "yml",
];
const MORE_FILE_EXTENSIONS: [&str; 5] = ["zip", "properties", "vue", "scala", "diff"];
/// The first segments of branch names such as `feature/login`.
const BRANCH_PREFIXES: [&str; 8] =
    ["feature", "feat", "bugfix", "hotfix", "fix", "release", "origin", "chore"];
/// Top-level domains by which a bare host name is recognised.
const HOST_SUFFIXES: [&str; 10] =
    ["com", "org", "net", "io", "dev", "edu", "gov", "app", "ai", "de"];

impl ArgumentTypes {
    pub(super) const NONE: Self = Self(0);
    const PATH: Self = Self(1);
    const URL: Self = Self(1 << 1);
    const EMAIL: Self = Self(1 << 2);
    const TIME: Self = Self(1 << 3);
    const BRANCH: Self = Self(1 << 4);
    const REVISION: Self = Self(1 << 5);
    const IMAGE: Self = Self(1 << 6);
    const AUDIO: Self = Self(1 << 7);
    const VIDEO: Self = Self(1 << 8);
    const CHANNEL: Self = Self(1 << 9);
    const TICKET: Self = Self(1 << 10);
    const COORDINATE: Self = Self(1 << 11);
    const NUMBER: Self = Self(1 << 12);
    const KEY: Self = Self(1 << 13);
    const GLOB: Self = Self(1 << 14);
    const FOLDER: Self = Self(1 << 15);

    /// The number of types.
    pub(super) const COUNT: u16 = 16;

    /// The type with this name in the intent table.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, bit)| *bit)
    }

    /// The index of the first type in the set.
    pub(super) fn first_index(self) -> u16 {
        u16::try_from(self.0.trailing_zeros()).unwrap_or(Self::COUNT)
    }

    /// The indices of all types in the set.
    pub(super) fn indices(self) -> impl Iterator<Item = u16> {
        (0..Self::COUNT).filter(move |at| self.0 >> at & 1 == 1)
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether such a value is an opaque name whose words say nothing about the task.
    pub(super) fn is_opaque_name(self) -> bool {
        self.0 & (Self::PATH.0 | Self::URL.0 | Self::EMAIL.0 | Self::KEY.0 | Self::REVISION.0) != 0
    }

    fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The types of a whitespace-separated word, by its form.
    pub(super) fn classify(word: &str) -> Self {
        let marked = |byte: u8| !byte.is_ascii_alphabetic() && byte != b'\'' && byte != b',';
        if !word.bytes().any(marked) {
            return Self::NONE;
        }
        let bare = word.trim_matches(|c: char| "\"'`()[]{}<>,;!?“”‘’«»".contains(c));
        let bare = bare.trim_end_matches(['.', ':']);
        if bare.is_empty() || bare.len() > 512 {
            return Self::NONE;
        }
        if is_ticket_key(bare) {
            return Self::TICKET;
        }
        let lower = bare.to_ascii_lowercase();
        Self::classify_name(&lower).unwrap_or_else(|| Self::classify_number(&lower))
    }

    /// Recognises a URL, an e-mail address, a path, a channel or a key.
    fn classify_name(word: &str) -> Option<Self> {
        if word.contains("://") || word.starts_with("www.") {
            return Some(Self::URL);
        }
        if let Some((user, host)) = word.split_once('@') {
            return (!user.is_empty() && host.contains('.')).then_some(Self::EMAIL);
        }
        if let Some(rest) = word.strip_prefix('#') {
            let number = rest.bytes().all(|byte| byte.is_ascii_digit());
            return Some(match (rest.is_empty(), number) {
                (true, _) => return None,
                (false, true) => Self::TICKET,
                (false, false) => Self::CHANNEL,
            });
        }
        let rooted = ["/", "~", "./", "../"].iter().any(|begin| word.starts_with(begin));
        let drive = word.as_bytes().get(1..3) == Some(b":\\");
        if word.len() > 1 && (rooted || drive) {
            let last = word.trim_end_matches('/').rsplit(['/', '\\']).next().unwrap_or_default();
            let folder = if last.contains('.') { Self::NONE } else { Self::FOLDER };
            return Some(Self::PATH.union(Self::by_extension(word)).union(folder));
        }
        if word.len() > 2 && word.contains('*') && (word.contains('.') || word.contains('/')) {
            return Some(Self::PATH.union(Self::GLOB));
        }
        let ending = Self::by_extension(word);
        if !ending.is_empty() {
            return Some(ending);
        }
        if word.len() > 1 && word.ends_with('/') {
            return Some(Self::PATH.union(Self::FOLDER));
        }
        let (first, rest) = word.split_once(['/', ':'])?;
        let host = |host: &str| {
            let parts = host.rsplit_once('.');
            let letters = |end: &str| end.len() > 1 && end.bytes().all(|b| b.is_ascii_lowercase());
            parts.is_some_and(|(name, end)| !name.is_empty() && letters(end))
        };
        if word.contains('/') && host(first) {
            return Some(Self::URL);
        }
        if word.contains('/') && BRANCH_PREFIXES.contains(&first) && !rest.is_empty() {
            return Some(Self::BRANCH);
        }
        let key = word.contains(':') && first.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_');
        (key && !first.is_empty() && !rest.is_empty()).then_some(Self::KEY)
    }

    /// Recognises a file by its extension, or a host by its top-level domain.
    fn by_extension(word: &str) -> Self {
        let Some((name, ending)) = word.rsplit_once('.') else { return Self::NONE };
        if name.is_empty() || name.ends_with(['.', ' ']) {
            // `.env`, `.gitignore`
            return if ending.len() > 2 && ending.bytes().all(|b| b.is_ascii_lowercase()) {
                Self::PATH
            } else {
                Self::NONE
            };
        }
        let has = |endings: &[&str]| endings.contains(&ending);
        if has(&IMAGE_EXTENSIONS) {
            Self::PATH.union(Self::IMAGE)
        } else if has(&AUDIO_EXTENSIONS) {
            Self::PATH.union(Self::AUDIO)
        } else if has(&VIDEO_EXTENSIONS) {
            Self::PATH.union(Self::VIDEO)
        } else if has(&FILE_EXTENSIONS) || has(&MORE_FILE_EXTENSIONS) {
            Self::PATH
        } else if HOST_SUFFIXES.contains(&ending) && !name.contains(char::is_whitespace) {
            Self::URL
        } else {
            Self::NONE
        }
    }

    /// Recognises a number, a time, a coordinate or a revision.
    fn classify_number(word: &str) -> Self {
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        if digits == 0 {
            return Self::NONE;
        }
        if digits == word.len() {
            return Self::NUMBER;
        }
        let clock = word.trim_end_matches("am").trim_end_matches("pm");
        let only = |text: &str, marks: &str| {
            text.chars().all(|c| c.is_ascii_digit() || marks.contains(c)) && !text.is_empty()
        };
        let parts = clock.split(':').count();
        if only(clock, ":") && (clock.len() < word.len() || parts == 2 && clock.len() <= 5) {
            return Self::TIME;
        }
        if only(word, "-+.") && word.contains('.') {
            return Self::COORDINATE.union(Self::NUMBER);
        }
        let hex = word.bytes().all(|b| b.is_ascii_hexdigit());
        if hex && (7..=40).contains(&word.len()) {
            return Self::REVISION;
        }
        Self::NONE
    }

    /// The type that an argument with this name accepts.
    fn by_argument_name(name: &str) -> Self {
        let words = weaver_text::split::words(name);
        let Some(last) = words.last() else { return Self::NONE };
        let known = ARGUMENT_NAMES.iter().find(|(_, names)| names.contains(&last.as_str()));
        known.map_or(Self::NONE, |(types, _)| *types)
    }

    /// The terms under which a tool with an argument of this name is indexed.
    pub(super) fn keys_of_argument(name: &str) -> impl Iterator<Item = TermKey> {
        Self::by_argument_name(name).indices().map(type_key)
    }

    /// The terms of tools that accept such a value.
    pub(super) fn keys(self) -> impl Iterator<Item = TermKey> {
        self.indices()
            .filter(|at| ARGUMENT_NAMES.iter().any(|(types, _)| types.first_index() == *at))
            .map(type_key)
    }
}

/// The term of a type. It contains a NUL character, so no word of a text can equal it.
fn type_key(at: u16) -> TermKey {
    term_key::of_term(&format!("\u{0}argument {at}"))
}

/// Whether a word is a ticket key such as `WEB-12`: a project in capitals and a number.
fn is_ticket_key(word: &str) -> bool {
    let Some((project, number)) = word.split_once('-') else { return false };
    let capitals = project.bytes().all(|byte| byte.is_ascii_uppercase());
    (2..=10).contains(&project.len())
        && capitals
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_a_word_tells_what_it_is() {
        let cases = [
            ("main.rs", ArgumentTypes::PATH),
            ("\"/etc/hosts\",", ArgumentTypes::PATH.union(ArgumentTypes::FOLDER)),
            ("~/projects", ArgumentTypes::PATH.union(ArgumentTypes::FOLDER)),
            ("C:\\x", ArgumentTypes::PATH.union(ArgumentTypes::FOLDER)),
            (".gitignore", ArgumentTypes::PATH),
            ("inbox/", ArgumentTypes::PATH.union(ArgumentTypes::FOLDER)),
            ("*.tmp", ArgumentTypes::PATH.union(ArgumentTypes::GLOB)),
            ("logo.PNG.", ArgumentTypes::PATH.union(ArgumentTypes::IMAGE)),
            ("https://a.example/b", ArgumentTypes::URL),
            ("rust-lang.org", ArgumentTypes::URL),
            ("docs.rs/serde", ArgumentTypes::URL),
            ("bob@example.com", ArgumentTypes::EMAIL),
            ("#general", ArgumentTypes::CHANNEL),
            ("#42", ArgumentTypes::TICKET),
            ("3pm", ArgumentTypes::TIME),
            ("16:30", ArgumentTypes::TIME),
            ("feature/login", ArgumentTypes::BRANCH),
            ("4f3a2b1", ArgumentTypes::REVISION),
            ("session:42", ArgumentTypes::KEY),
            ("17", ArgumentTypes::NUMBER),
            ("WEB-12", ArgumentTypes::TICKET),
        ];
        for (word, types) in cases {
            assert_eq!(ArgumentTypes::classify(word), types, "{word}");
        }
        for word in ["word", "and/or", "don't", "it's", "...", "", "e.g.", "v2", "U.S.", "#", "@"] {
            assert!(ArgumentTypes::classify(word).is_empty(), "{word}");
        }
    }

    #[test]
    fn arguments_are_known_by_the_end_of_their_name() {
        assert_eq!(ArgumentTypes::by_argument_name("source_timezone"), ArgumentTypes::TIME);
        assert_eq!(ArgumentTypes::by_argument_name("repoPath"), ArgumentTypes::PATH);
        assert!(ArgumentTypes::by_argument_name("query").is_empty());
        assert!(NAMES.iter().all(|(_, types)| types.first_index() < ArgumentTypes::COUNT));
    }
}
