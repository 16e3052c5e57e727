//! The demo's support tickets: made up, many, and the same on every machine.

use std::fmt::Write as _;

use serde_json::json;

/// How many tickets there are.
pub(super) const TICKETS: u64 = 400;
/// What every address of a customer ends with.
pub(super) const CUSTOMERS: &str = "customer.example.com";

const FIRST: [&str; 8] = ["anna", "bilal", "chen", "dora", "emil", "farah", "goran", "hana"];
const LAST: [&str; 7] = ["novak", "okoye", "petrov", "quinn", "rossi", "sato", "tran"];
const SUBJECT: [&str; 6] = [
    "Invoice shows the wrong address",
    "Cannot sign in after the update",
    "Refund has not arrived",
    "Export stops at 1,000 rows",
    "Typo on the pricing page",
    "Feature request: dark mode",
];
const STATUS: [&str; 5] = ["open", "closed", "pending", "closed", "open"];

/// All tickets, one JSON object a line.
pub(super) fn lines() -> String {
    let mut out = String::new();
    for id in 1..=TICKETS {
        let address = format!("{}.{}@{CUSTOMERS}", pick(&FIRST, id), pick(&LAST, id / 3));
        let ticket = json!({
            "id": id,
            "status": pick(&STATUS, id),
            "subject": pick(&SUBJECT, id / 2),
            "email": address,
            "message": format!("Please write to {address} when this is done."),
        });
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{ticket}");
    }
    out
}

fn pick<'a>(from: &[&'a str], id: u64) -> &'a str {
    let index = usize::try_from(id).unwrap_or_default() % from.len().max(1);
    from.get(index).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_ticket_with_an_address() {
        let text = lines();
        assert_eq!(text.lines().count() as u64, TICKETS);
        for (line, id) in text.lines().zip(1_u64..) {
            let ticket: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(ticket["id"], id);
            assert!(ticket["email"].as_str().unwrap().ends_with("@customer.example.com"));
        }
    }
}
