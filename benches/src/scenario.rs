//! Rules and calls that belong to no engine, and the plain reading of what they mean.
//!
//! Of the rules, 60 % name a prefix of a tool, 25 % an exact one, 15 % a suffix; 70 % allow, 15 %
//! require an approval, 15 % deny. Each asks for one of eight roles and covers some safety levels;
//! 40 % say nothing of the arguments, 30 % bound an amount, 30 % name a folder. Of the calls, 70 %
//! aim at a rule. A denial is stronger than an approval, an approval stronger than an allowance,
//! and nothing is denied.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crate::Numbers;

/// The roles of principals.
pub const ROLES: [&str; 8] =
    ["reader", "writer", "admin", "ops", "auditor", "support", "finance", "guest"];
/// The principals are 0 to this, exclusive.
pub const USERS: usize = 64;
/// The safety levels are 0 to this, exclusive.
pub const LEVELS: usize = 3;

const VERBS: [&str; 4] = ["get", "list", "update", "delete"];
const CALLS: usize = 1_000;

/// What comes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// It may go on.
    Allow,
    /// Somebody must release it.
    Approve,
    /// It may not.
    Deny,
}

/// What a rule says of the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// Nothing.
    None,
    /// `amount` is at most this.
    AtMost(i64),
    /// `path` begins with this.
    Below(String),
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The tools: a name, in which one star at its beginning or its end stands for any text.
    pub tools: String,
    /// The role that the caller has.
    pub role: &'static str,
    /// The safety levels.
    pub levels: RangeInclusive<usize>,
    /// The arguments.
    pub condition: Condition,
    /// What the rule says.
    pub answer: Answer,
}

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The principal.
    pub user: usize,
    /// The tool.
    pub tool: String,
    /// Its safety level.
    pub level: usize,
    /// The argument `amount`.
    pub amount: i64,
    /// The argument `path`.
    pub path: String,
}

/// Rules, and calls to decide on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// The rules.
    pub lines: Vec<Line>,
    /// A thousand calls.
    pub calls: Vec<Call>,
}

/// The roles that a principal has: one or two.
#[must_use]
pub fn roles(user: usize) -> BTreeSet<&'static str> {
    BTreeSet::from([ROLES[user % 8], ROLES[user / 8 % 8]])
}

/// Whether the name fits a pattern with at most one star, at its beginning or its end.
#[must_use]
pub fn fits(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (_, Some(beginning)) => name.starts_with(beginning),
        _ => pattern == name,
    }
}

impl Line {
    fn applies(&self, call: &Call) -> bool {
        self.levels.contains(&call.level)
            && roles(call.user).contains(self.role)
            && fits(&self.tools, &call.tool)
            && match &self.condition {
                Condition::None => true,
                Condition::AtMost(most) => call.amount <= *most,
                Condition::Below(folder) => call.path.starts_with(folder),
            }
    }
}

impl Scenario {
    /// `count` rules, the same on every machine.
    #[must_use]
    pub fn new(count: usize) -> Self {
        let mut numbers = Numbers::new(u64::try_from(count).unwrap_or_default());
        let namespaces = (count / 25).max(2);
        let lines: Vec<_> = (0..count).map(|_| line(&mut numbers, namespaces, count)).collect();
        let calls = (0..CALLS).map(|_| call(&mut numbers, namespaces, &lines)).collect();
        Self { lines, calls }
    }

    /// What the rules say to the call, by reading all of them.
    #[must_use]
    pub fn answer(&self, call: &Call) -> Answer {
        let applying = self.lines.iter().filter(|line| line.applies(call));
        applying.map(|line| line.answer).max().unwrap_or(Answer::Deny)
    }
}

fn line(numbers: &mut Numbers, namespaces: usize, count: usize) -> Line {
    let (namespace, op) = (numbers.below(namespaces), numbers.below(10));
    let verb = *numbers.pick(&VERBS);
    let tools = match numbers.below(100) {
        0..60 => format!("ns{namespace}__op{op}_*"),
        60..85 => format!("ns{namespace}__op{op}_{verb}"),
        _ => format!("*__op{op}x{}_{verb}", numbers.below(count.max(8) / 2)),
    };
    let answer = match numbers.below(100) {
        0..70 => Answer::Allow,
        70..85 => Answer::Approve,
        _ => Answer::Deny,
    };
    let edge = numbers.below(LEVELS);
    let levels = if answer == Answer::Allow { 0..=edge.max(1) } else { edge..=LEVELS - 1 };
    let condition = match numbers.below(10) {
        0..4 => Condition::None,
        4..7 => Condition::AtMost(i64::try_from(numbers.below(1_000)).unwrap_or_default()),
        _ => Condition::Below(format!("/data/team{}/", numbers.below(8))),
    };
    let role = *numbers.pick(&ROLES);
    Line { tools, role, levels, condition, answer }
}

fn call(numbers: &mut Numbers, namespaces: usize, lines: &[Line]) -> Call {
    let user = numbers.below(USERS);
    let tool = if numbers.below(10) < 7 {
        let aimed = numbers.pick(lines).tools.clone();
        let (namespace, verb) =
            (format!("ns{}__", numbers.below(namespaces)), *numbers.pick(&VERBS));
        aimed.replace("*__", &namespace).replace('*', verb)
    } else {
        let (namespace, op) = (numbers.below(namespaces), numbers.below(10));
        format!("ns{namespace}__op{op}_{}", numbers.pick(&VERBS))
    };
    Call {
        user,
        tool,
        level: numbers.below(LEVELS),
        amount: i64::try_from(numbers.below(1_000)).unwrap_or_default(),
        path: format!("/data/team{}/f{}", numbers.below(8), numbers.below(100)),
    }
}
