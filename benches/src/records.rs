//! Texts and rows for the speed of redaction: SplitMix64, the same in every run.
//!
//! Rows and text have the shape of agent-kernel's (Python) own benchmark, so that both can be run
//! over the same bytes.

use serde_json::{Value, json};

/// SplitMix64.
#[derive(Debug, Clone)]
pub struct SplitMix(u64);

const WORDS: [&str; 32] = [
    "alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliet",
    "kilo", "lima", "mike", "november", "oscar", "papa", "quebec", "romeo", "sierra", "tango",
    "uniform", "victor", "whiskey", "yankee", "zulu", "invoice", "payment", "order", "ticket",
    "customer", "report", "garden",
];
const FIRST: [&str; 8] = ["alice", "bob", "carol", "dave", "eve", "frank", "grace", "hiro"];
const STATUS: [&str; 4] = ["open", "closed", "pending", "overdue"];
const CITY: [&str; 8] = ["Lisbon", "Porto", "Berlin", "Paris", "Madrid", "Rome", "Oslo", "Vienna"];
const TOKEN: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

impl SplitMix {
    /// A stream that depends on `seed` alone.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number below `bound`, which is at least 1.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % bound.max(1)
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        let at = usize::try_from(self.below(from.len() as u64)).unwrap_or(0);
        from.get(at).copied().unwrap_or_default()
    }

    fn words(&mut self, count: usize) -> String {
        (0..count).map(|_| self.pick(&WORDS)).collect::<Vec<_>>().join(" ")
    }

    fn token(&mut self, length: usize) -> String {
        let mut letter = || {
            let at = usize::try_from(self.below(64)).unwrap_or(0);
            TOKEN.get(at).copied().map_or('A', char::from)
        };
        (0..length).map(|_| letter()).collect()
    }

    fn email(&mut self) -> String {
        let (name, word) = (self.pick(&FIRST), self.pick(&WORDS));
        format!("{name}.{word}{}@corp.example.com", self.below(1_000))
    }

    fn phone(&mut self) -> String {
        let (area, office) = (200 + self.below(800), 200 + self.below(800));
        format!("+1-{area}-{office}-{}", 1_000 + self.below(9_000))
    }

    /// A value of one of eight kinds.
    fn value(&mut self, kind: u64) -> String {
        match kind {
            0 => self.email(),
            1 => self.phone(),
            2 => format!("4{:015}", self.below(1_000_000_000_000_000)),
            3 => {
                let (a, b) = (100 + self.below(800), 10 + self.below(90));
                format!("{a}-{b}-{}", 1_000 + self.below(9_000))
            }
            4 => format!("Bearer {}", self.token(32)),
            5 => format!("eyJ{}.eyJ{}.{}", self.token(20), self.token(60), self.token(43)),
            6 => format!("api_key={}", self.token(32)),
            _ => {
                let (user, password) = (self.below(100), self.token(12));
                format!("postgres://svc{user}:{password}@db{}.internal/app", self.below(10))
            }
        }
    }
}

fn amount(numbers: &mut SplitMix) -> f64 {
    numbers.below(1_000_000) as f64 / 100.0
}

/// A thousand rows of ten fields with personal data in two of them, and in half of the notes.
#[must_use]
pub fn people() -> Value {
    let mut numbers = SplitMix::new(1);
    let row = |id: u64| {
        let n = &mut numbers;
        let name = n.pick(&FIRST);
        let mut note = n.words(8);
        match n.below(4) {
            0 => note += &format!(" mail {}", n.email()),
            1 => note += &format!(" call {}", n.phone()),
            _ => {}
        }
        json!({
            "id": id, "name": name, "email": n.email(), "phone": n.phone(),
            "status": n.pick(&STATUS), "active": n.below(2) == 1, "amount": amount(n),
            "city": n.pick(&CITY),
            "created": format!("2026-{:02}-{:02}", 1 + n.below(12), 1 + n.below(28)),
            "note": note,
        })
    };
    Value::Array((0..1_000).map(row).collect())
}

/// Ten thousand rows of seven fields.
#[must_use]
pub fn orders() -> Value {
    let mut numbers = SplitMix::new(2);
    let row = |id: u64| {
        let n = &mut numbers;
        let mut note = n.words(6);
        if n.below(4) == 0 {
            note += &format!(" {}", n.email());
        }
        json!({
            "id": id, "tenant": format!("t{}", n.below(10)), "status": n.pick(&STATUS),
            "amount": amount(n), "email": n.email(), "city": n.pick(&CITY), "note": note,
        })
    };
    Value::Array((0..10_000).map(row).collect())
}

/// Lines of twelve words; four in five hold a value after the sixth.
#[must_use]
pub fn mixed(bytes: usize) -> String {
    filled(bytes, 3, |n| {
        let (before, kind) = (n.words(6), n.below(10));
        let value = if kind < 8 { format!("{} ", n.value(kind)) } else { String::new() };
        format!("{before} {value}{}\n", n.words(6))
    })
}

/// Lines of little else than values.
#[must_use]
pub fn dense(bytes: usize) -> String {
    filled(bytes, 4, |n| {
        let mut line = String::new();
        for _ in 0..3 {
            let (word, kind) = (n.words(1), n.below(8));
            line += &format!("{word} {} ", n.value(kind));
        }
        line + "\n"
    })
}

/// Lines of a server's log without a value.
#[must_use]
pub fn logs(bytes: usize) -> String {
    const LEVEL: [&str; 4] = ["INFO", "DEBUG", "WARN", "INFO"];
    filled(bytes, 5, |n| {
        let (minute, second, milli) = (n.below(60), n.below(60), n.below(1_000));
        let time = format!("2026-03-{:02}T11:{minute:02}:{second:02}.{milli:03}Z", 1 + n.below(28));
        let (level, service, path) = (n.pick(&LEVEL), n.pick(&WORDS), n.pick(&WORDS));
        let (thread, order, took) = (n.below(32), n.below(100_000), n.below(900));
        format!(
            "{time} {level} {service}[{thread}] GET /v1/{path}/{order} status=200 took={took}ms {}\n",
            n.words(3)
        )
    })
}

/// Sentences.
#[must_use]
pub fn prose(bytes: usize) -> String {
    filled(bytes, 6, |n| {
        let count = usize::try_from(8 + n.below(12)).unwrap_or(8);
        format!("The {}. ", n.words(count))
    })
}

/// JSON rows without a value.
#[must_use]
pub fn rows(bytes: usize) -> String {
    filled(bytes, 7, |n| {
        let row = json!({
            "id": n.below(1_000_000), "name": n.words(2), "price": amount(n),
            "stock": n.below(10_000), "tags": [n.pick(&WORDS), n.pick(&WORDS)],
            "open": n.below(2) == 1, "city": n.pick(&CITY),
        });
        format!("{row}\n")
    })
}

fn filled(bytes: usize, seed: u64, mut part: impl FnMut(&mut SplitMix) -> String) -> String {
    let mut numbers = SplitMix::new(seed);
    let mut out = String::with_capacity(bytes + 1_024);
    while out.len() < bytes {
        out += &part(&mut numbers);
    }
    // All of it is ASCII.
    out.truncate(bytes);
    out
}

/// Texts made to be slow: a name, and what is repeated.
pub const HOSTILE: [(&str, &str); 20] = [
    ("a", "a"),
    ("eyJ", "eyJ"),
    ("eyJ.", "eyJhbGciOiJ9."),
    ("digits", "1"),
    ("@", "@"),
    ("a@", "a@"),
    ("begin", "-----BEGIN "),
    ("1-1-1-", "1-1-1-"),
    ("percent", "%41"),
    ("sk-", "sk-"),
    ("entity", "&#52;"),
    ("escape", "\\u0034"),
    ("password", "password="),
    ("scheme", "postgres://"),
    ("userinfo", "postgres://a:"),
    ("spoken", "password of a "),
    ("cells", "1234567,"),
    ("table", "1234567,1234567,1234567\n"),
    ("headings", "name\tpassword\tcity\talpha\tbeta\n"),
    ("objects", "{\"f\":\"hp\",\"e\":1000018},"),
];

/// Such a text.
#[must_use]
pub fn hostile(unit: &str, bytes: usize) -> String {
    unit.repeat(bytes / unit.len().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_their_size_and_never_change() {
        for make in [mixed, dense, logs, prose, rows] {
            assert_eq!(make(10_000).len(), 10_000);
            assert_eq!(make(5_000), make(5_000));
        }
        assert_eq!(hostile("eyJ", 10), "eyJeyJeyJ");
        assert!(mixed(10_000).contains("@corp.example.com") && !logs(100_000).contains('@'));
    }

    #[test]
    fn the_numbers_are_those_of_splitmix() {
        let mut numbers = SplitMix::new(0);
        assert_eq!(numbers.below(u64::MAX), 0xE220_A839_7B1D_CDAF);
        assert_eq!(people().as_array().map(Vec::len), Some(1_000));
    }
}
