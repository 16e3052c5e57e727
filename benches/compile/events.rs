//! The log that the peer's own benches use, byte for byte: turns, calls, results and answers of
//! random words, with long results, near repetitions and labels here and there.

use std::fmt::Write as _;

use serde_json::{Value, json};

const WORDS: &str = "service latency error timeout customer invoice payment retry cluster deploy \
rollback region cache shard query index token budget report summary alert threshold metric \
dashboard owner escalation ticket incident postmortem release branch commit review merge pipeline \
staging production database replica backup restore schema migration column partition stream \
consumer producer offset checkpoint quota limit header gateway proxy certificate rotation secret \
policy audit access role permission session login region availability capacity forecast revenue \
churn renewal contract discount refund ledger balance statement currency exchange settlement \
dispute fraud score model feature training dataset label evaluation drift baseline canary \
experiment variant cohort segment campaign email template channel subscriber bounce delivery open \
click conversion funnel";

/// The generator splitmix64.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % bound
    }

    fn word<'a>(&mut self, words: &[&'a str]) -> &'a str {
        let at = self.below(words.len() as u64);
        usize::try_from(at).ok().and_then(|at| words.get(at)).copied().unwrap_or_default()
    }

    fn sentence(&mut self, words: &[&str], count: u64) -> String {
        let all: Vec<&str> = (0..count).map(|_| self.word(words)).collect();
        all.join(" ")
    }
}

/// One event.
pub struct Event {
    pub id: String,
    pub kind: &'static str,
    pub text: String,
    pub parent: Option<String>,
    pub sensitivity: &'static str,
    pub tag: Option<String>,
}

impl Event {
    fn to_json(&self) -> Value {
        let metadata = self.tag.as_ref().map_or(json!({}), |tag| json!({ "tags": [tag] }));
        json!({
            "id": self.id, "kind": self.kind, "text": self.text, "parent_id": self.parent,
            "sensitivity": self.sensitivity, "metadata": metadata,
            "token_estimate": 0, "artifact_ref": null,
        })
    }
}

/// The first events of the log.
pub fn events(count: usize) -> Vec<Event> {
    let words: Vec<&str> = WORDS.split(' ').collect();
    let mut numbers = Numbers(0xBEEF);
    let (mut user, mut call, mut said) = (None, None, String::new());
    let (mut results, mut answers) = (0, 0);
    let mut out = Vec::with_capacity(count);
    for n in 0..count {
        let id = format!("e{n:05}");
        let (mut parent, mut tag) = (None, None);
        let (kind, text) = match n % 4 {
            0 => {
                user = Some(id.clone());
                let length = 12 + numbers.below(29);
                ("user_turn", numbers.sentence(&words, length))
            }
            1 => {
                parent.clone_from(&user);
                call = Some(id.clone());
                let length = 6 + numbers.below(9);
                let text = format!("call({})", numbers.sentence(&words, length));
                tag = Some(numbers.word(&words).to_owned());
                ("tool_call", text)
            }
            2 => {
                results += 1;
                parent.clone_from(&call);
                ("tool_result", result(&mut numbers, &words, results))
            }
            _ => {
                answers += 1;
                parent.clone_from(&user);
                said = match answers % 10 {
                    0 => format!("{said} again"),
                    _ => {
                        let length = 15 + numbers.below(46);
                        numbers.sentence(&words, length)
                    }
                };
                ("agent_msg", said.clone())
            }
        };
        let sensitivity = match n {
            n if n % 60 == 59 => "confidential",
            n if n % 25 == 24 => "internal",
            _ => "public",
        };
        out.push(Event { id, kind, text, parent, sensitivity, tag });
    }
    out
}

fn result(numbers: &mut Numbers, words: &[&str], results: usize) -> String {
    if results.is_multiple_of(50) {
        let line = |_| format!("{}: {}", numbers.word(words), numbers.sentence(words, 12));
        return (0..45).map(line).collect::<Vec<_>>().join("\n");
    }
    let length = 30 + numbers.below(81);
    format!("status: ok\n{}", numbers.sentence(words, length))
}

/// The events as lines of JSON.
pub fn lines(events: &[Event]) -> String {
    events.iter().fold(String::new(), |mut out, event| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}", event.to_json());
        out
    })
}
