//! The demo's support tickets: made up, many, and the same on every machine.

use std::fmt::Write as _;

use serde_json::json;

/// The number of tickets.
pub(super) const TICKET_COUNT: u64 = 400;
/// The domain of every customer's address.
pub(super) const CUSTOMER_DOMAIN: &str = "customer.example.com";

const FIRST_NAMES: [&str; 8] = ["anna", "bilal", "chen", "dora", "emil", "farah", "goran", "hana"];
const LAST_NAMES: [&str; 7] = ["novak", "okoye", "petrov", "quinn", "rossi", "sato", "tran"];
const SUBJECTS: [&str; 6] = [
    "Invoice shows the wrong address",
    "Cannot sign in after the update",
    "Refund has not arrived",
    "Export stops at 1,000 rows",
    "Typo on the pricing page",
    "Feature request: dark mode",
];
const STATUSES: [&str; 5] = ["open", "closed", "pending", "closed", "open"];

/// All tickets, one JSON object a line.
pub(super) fn ticket_lines() -> String {
    let mut out = String::new();
    for id in 1..=TICKET_COUNT {
        let address =
            format!("{}.{}@{CUSTOMER_DOMAIN}", pick(&FIRST_NAMES, id), pick(&LAST_NAMES, id / 3));
        let ticket = json!({
            "id": id,
            "status": pick(&STATUSES, id),
            "subject": pick(&SUBJECTS, id / 2),
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
        let text = ticket_lines();
        assert_eq!(text.lines().count() as u64, TICKET_COUNT);
        for (line, id) in text.lines().zip(1_u64..) {
            let ticket: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(ticket["id"], id);
            assert!(ticket["email"].as_str().unwrap().ends_with("@customer.example.com"));
        }
    }
}
