//! What people ask.

use super::tools::often;
use super::words::{DOMAINS, QUALITIES, VERBS};
use crate::Numbers;

const OPENINGS: [&str; 8] = [
    "Please", "Could you", "I need to", "Can you help me to", "I would like to", "Hey,", "Now",
    "We have to",
];
const ENDINGS: [&str; 6] = [
    "",
    " for the meeting tomorrow",
    " and tell me when it is done",
    " before Friday",
    " in Berlin",
    ", as my manager asked last week",
];

/// So many requests, as people put them; one in four asks for two things.
#[must_use]
pub fn requests(count: usize) -> Vec<String> {
    let mut numbers = Numbers::new(7);
    (0..count).map(|_| request(&mut numbers)).collect()
}

fn request(numbers: &mut Numbers) -> String {
    let first = wish(numbers);
    let opening = numbers.pick(&OPENINGS);
    let ending = numbers.pick(&ENDINGS);
    match numbers.below(8) {
        0 => format!("{opening} {first}{ending}. Then {}.", wish(numbers)),
        1 => format!("{opening} {first} and then {}{ending}.", wish(numbers)),
        _ => format!("{opening} {first}{ending}."),
    }
}

fn wish(numbers: &mut Numbers) -> String {
    let (field, things) = numbers.pick(&DOMAINS);
    let things: Vec<&str> = things.split(' ').collect();
    let (thing, other) = (numbers.pick(&things), numbers.pick(&things));
    let (verb, says) = often(&VERBS, numbers);
    let verb = if numbers.below(2) == 0 { verb } else { says };
    match numbers.below(3) {
        0 => format!("{verb} the {} {thing} of the {other}", often(&QUALITIES, numbers)),
        1 => format!("{verb} each {thing} in {field} that has no {other}"),
        _ => format!("{verb} my {thing}"),
    }
}
