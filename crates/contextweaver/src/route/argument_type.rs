//! What a word of a request is by its form: a path, an address, a time. And which of these the
//! arguments of a tool take.

use super::key::{self, Key};

/// Kinds of values, as bits: a word may be of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ArgumentTypes(u16);

/// The names of the types in the table of intents, each with its bit.
const NAMES: [(&str, ArgumentTypes); 16] = [
    ("path", ArgumentTypes::PATH),
    ("url", ArgumentTypes::URL),
    ("email", ArgumentTypes::EMAIL),
    ("time", ArgumentTypes::TIME),
    ("branch", ArgumentTypes::BRANCH),
    ("revision", ArgumentTypes::REVISION),
    ("image", ArgumentTypes::IMAGE),
    ("sound", ArgumentTypes::SOUND),
    ("film", ArgumentTypes::FILM),
    ("channel", ArgumentTypes::CHANNEL),
    ("ticket", ArgumentTypes::TICKET),
    ("point", ArgumentTypes::POINT),
    ("number", ArgumentTypes::NUMBER),
    ("key", ArgumentTypes::KEY),
    ("glob", ArgumentTypes::GLOB),
    ("folder", ArgumentTypes::FOLDER),
];

/// Types that the name of an argument tells, each with words that such a name ends with.
const ARGUMENTS: [(ArgumentTypes, &[&str]); 5] = [
    (
        ArgumentTypes::PATH,
        &["path", "paths", "file", "files", "filename", "filepath", "directory", "folder", "dir"],
    ),
    (ArgumentTypes::URL, &["url", "urls", "uri", "link", "href", "website"]),
    (ArgumentTypes::EMAIL, &["email", "emails", "recipient", "recipients"]),
    (ArgumentTypes::TIME, &["time", "datetime", "timezone", "timestamp", "date"]),
    (ArgumentTypes::BRANCH, &["branch", "ref", "head"]),
];

const IMAGES: [&str; 9] = ["jpg", "jpeg", "png", "gif", "svg", "webp", "bmp", "tiff", "heic"];
const SOUNDS: [&str; 6] = ["mp3", "wav", "ogg", "flac", "m4a", "aac"];
const FILMS: [&str; 6] = ["mp4", "mkv", "avi", "mov", "webm", "mpeg"];
/// Endings of other files.
const ENDINGS: [&str; 64] = [
    "bak", "bash", "bat", "bz2", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "db", "doc",
    "docx", "env", "epub", "go", "gz", "h", "hpp", "htm", "html", "ini", "ipynb", "java", "jl",
    "js", "json", "jsonl", "jsx", "kt", "lock", "log", "lua", "md", "odt", "parquet", "pdf", "php",
    "pl", "ppt", "pptx", "py", "r", "rb", "rs", "rst", "sh", "sql", "sqlite", "swift", "tar",
    "tex", "toml", "ts", "tsv", "tsx", "txt", "xls", "xlsx", "xml", "yaml", "yml",
];
const MORE_ENDINGS: [&str; 5] = ["zip", "properties", "vue", "scala", "diff"];
/// How the names of branches begin that have parts.
const BRANCHES: [&str; 8] =
    ["feature", "feat", "bugfix", "hotfix", "fix", "release", "origin", "chore"];
/// Endings of host names, where nothing else says that it is one.
const HOSTS: [&str; 10] = ["com", "org", "net", "io", "dev", "edu", "gov", "app", "ai", "de"];

impl ArgumentTypes {
    pub(super) const NONE: Self = Self(0);
    const PATH: Self = Self(1);
    const URL: Self = Self(1 << 1);
    const EMAIL: Self = Self(1 << 2);
    const TIME: Self = Self(1 << 3);
    const BRANCH: Self = Self(1 << 4);
    const REVISION: Self = Self(1 << 5);
    const IMAGE: Self = Self(1 << 6);
    const SOUND: Self = Self(1 << 7);
    const FILM: Self = Self(1 << 8);
    const CHANNEL: Self = Self(1 << 9);
    const TICKET: Self = Self(1 << 10);
    const POINT: Self = Self(1 << 11);
    const NUMBER: Self = Self(1 << 12);
    const KEY: Self = Self(1 << 13);
    const GLOB: Self = Self(1 << 14);
    const FOLDER: Self = Self(1 << 15);

    /// How many there are.
    pub(super) const COUNT: u16 = 16;

    /// The type of this name in the table of intents.
    pub(super) fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, bit)| *bit)
    }

    /// The number of the first type of them.
    pub(super) fn first(self) -> u16 {
        u16::try_from(self.0.trailing_zeros()).unwrap_or(Self::COUNT)
    }

    /// The numbers of its types.
    pub(super) fn each(self) -> impl Iterator<Item = u16> {
        (0..Self::COUNT).filter(move |at| self.0 >> at & 1 == 1)
    }

    pub(super) fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Whether its letters name one thing and say nothing of what is wanted.
    pub(super) fn is_name(self) -> bool {
        self.0 & (Self::PATH.0 | Self::URL.0 | Self::EMAIL.0 | Self::KEY.0 | Self::REVISION.0) != 0
    }

    fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What a word between blanks is by its form.
    pub(super) fn of_word(word: &str) -> Self {
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
        Self::of_name(&lower).unwrap_or_else(|| Self::of_figure(&lower))
    }

    /// A URL, an address of mail, a path, a channel, a key.
    fn of_name(word: &str) -> Option<Self> {
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
            return Some(Self::PATH.and(Self::of_ending(word)).and(folder));
        }
        if word.len() > 2 && word.contains('*') && (word.contains('.') || word.contains('/')) {
            return Some(Self::PATH.and(Self::GLOB));
        }
        let ending = Self::of_ending(word);
        if !ending.is_none() {
            return Some(ending);
        }
        if word.len() > 1 && word.ends_with('/') {
            return Some(Self::PATH.and(Self::FOLDER));
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
        if word.contains('/') && BRANCHES.contains(&first) && !rest.is_empty() {
            return Some(Self::BRANCH);
        }
        let key = word.contains(':') && first.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_');
        (key && !first.is_empty() && !rest.is_empty()).then_some(Self::KEY)
    }

    /// What the ending of a file's name says; nothing where it is none.
    fn of_ending(word: &str) -> Self {
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
        if has(&IMAGES) {
            Self::PATH.and(Self::IMAGE)
        } else if has(&SOUNDS) {
            Self::PATH.and(Self::SOUND)
        } else if has(&FILMS) {
            Self::PATH.and(Self::FILM)
        } else if has(&ENDINGS) || has(&MORE_ENDINGS) {
            Self::PATH
        } else if HOSTS.contains(&ending) && !name.contains(char::is_whitespace) {
            Self::URL
        } else {
            Self::NONE
        }
    }

    /// A number, a time, a point on the earth, a revision.
    fn of_figure(word: &str) -> Self {
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
            return Self::POINT.and(Self::NUMBER);
        }
        let hex = word.bytes().all(|b| b.is_ascii_hexdigit());
        if hex && (7..=40).contains(&word.len()) {
            return Self::REVISION;
        }
        Self::NONE
    }

    /// What an argument of this name takes.
    fn of_argument(name: &str) -> Self {
        let words = weaver_text::split::words(name);
        let Some(last) = words.last() else { return Self::NONE };
        let known = ARGUMENTS.iter().find(|(_, names)| names.contains(&last.as_str()));
        known.map_or(Self::NONE, |(types, _)| *types)
    }

    /// The terms under which a tool is found that takes an argument of this name.
    pub(super) fn keys_of_argument(name: &str) -> impl Iterator<Item = Key> {
        Self::of_argument(name).each().map(key)
    }

    /// The terms of tools that take such a value.
    pub(super) fn keys(self) -> impl Iterator<Item = Key> {
        self.each().filter(|at| ARGUMENTS.iter().any(|(types, _)| types.first() == *at)).map(key)
    }
}

/// The term of a type: no word of any text is written so.
fn key(at: u16) -> Key {
    key::of(&format!("\u{0}argument {at}"))
}

/// `WEB-12`: the key of a project in capitals, and a number.
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
            ("\"/etc/hosts\",", ArgumentTypes::PATH.and(ArgumentTypes::FOLDER)),
            ("~/projects", ArgumentTypes::PATH.and(ArgumentTypes::FOLDER)),
            ("C:\\x", ArgumentTypes::PATH.and(ArgumentTypes::FOLDER)),
            (".gitignore", ArgumentTypes::PATH),
            ("inbox/", ArgumentTypes::PATH.and(ArgumentTypes::FOLDER)),
            ("*.tmp", ArgumentTypes::PATH.and(ArgumentTypes::GLOB)),
            ("logo.PNG.", ArgumentTypes::PATH.and(ArgumentTypes::IMAGE)),
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
            assert_eq!(ArgumentTypes::of_word(word), types, "{word}");
        }
        for word in ["word", "and/or", "don't", "it's", "...", "", "e.g.", "v2", "U.S.", "#", "@"] {
            assert!(ArgumentTypes::of_word(word).is_none(), "{word}");
        }
    }

    #[test]
    fn arguments_are_known_by_the_end_of_their_name() {
        assert_eq!(ArgumentTypes::of_argument("source_timezone"), ArgumentTypes::TIME);
        assert_eq!(ArgumentTypes::of_argument("repoPath"), ArgumentTypes::PATH);
        assert!(ArgumentTypes::of_argument("query").is_none());
        assert!(NAMES.iter().all(|(_, types)| types.first() < ArgumentTypes::COUNT));
    }
}
