//! Files full of addresses and tokens: masked values have to stay usable.

use serde_json::json;

use crate::eval::work::task::{Contracts, Script, Task, group};

/// The tasks: the same files where personal data is shown, and where it is masked.
pub fn tasks() -> Vec<Task> {
    let tagged = group("personal", &masked_tasks()).into_iter();
    let tagged = tagged.map(|task| Task { contracts: Contracts::Personal, ..task });
    group("secrets", &secret_tasks()).into_iter().chain(tagged).collect()
}

fn secret_tasks() -> Vec<(&'static str, Script)> {
    vec![
        ("edit-beside-a-token", |a| {
            let shown = a.read("config/deploy.env")?;
            let line = a.line(&shown, "REPLICAS")?;
            a.edit("config/deploy.env", &line, "REPLICAS=5").map(drop)
        }),
        ("edit-over-a-token", |a| {
            let shown = a.read("config/deploy.env")?;
            let line = a.line(&shown, "GITHUB_TOKEN")?;
            a.edit("config/deploy.env", &line, &format!("# until June\n{line}")).map(drop)
        }),
        ("copy-a-file-with-tokens", |a| {
            let shown = a.read("config/deploy.env")?;
            let text = shown.texts.first().cloned().unwrap_or_default();
            let arguments =
                json!({ "path": a.environment.file("config/deploy.bak"), "content": text });
            a.expect("filesystem.write_file", arguments, &[])
        }),
        ("rename-a-variable", |a| {
            let shown = a.read("config/ci.yaml")?;
            let line = a.line(&shown, "SLACK_BOT_TOKEN")?;
            let new = line.replace("SLACK_BOT_TOKEN", "SLACK_TOKEN");
            a.edit("config/ci.yaml", &line, &new).map(drop)
        }),
        ("edit-a-host", |a| {
            let shown = a.read("config/hosts.txt")?;
            let line = a.line(&shown, "pump-7 ")?;
            a.edit("config/hosts.txt", &line, &line.replace("rack 14", "rack 21")).map(drop)
        }),
        ("contacts-without-a-tag", |a| {
            let shown = a.read("people/contacts.csv")?;
            let line = a.line(&shown, "C0017")?;
            a.edit("people/contacts.csv", &line, &line.replace("active", "closed")).map(drop)
        }),
    ]
}

fn masked_tasks() -> Vec<(&'static str, Script)> {
    vec![
        ("edit-a-line-with-an-address", |a| {
            let shown = a.read("people/team.md")?;
            let line = a.line(&shown, "Night shift")?;
            a.edit("people/team.md", &line, &line.replace("17:00", "06:00")).map(drop)
        }),
        ("edit-beside-an-address", |a| {
            let shown = a.read("people/team.md")?;
            let line = a.line(&shown, "closes on")?;
            a.edit("people/team.md", &line, &line.replace("Fridays", "Saturdays")).map(drop)
        }),
        ("close-a-contact", |a| {
            let shown = a.read("people/contacts.csv")?;
            let line = a.line(&shown, "C0023")?;
            a.edit("people/contacts.csv", &line, &line.replace("active", "closed")).map(drop)
        }),
        ("close-two-contacts", |a| {
            let shown = a.read("people/contacts.csv")?;
            let lines = [a.line(&shown, "C0005")?, a.line(&shown, "C0006")?];
            let old = lines.join("\n");
            a.edit("people/contacts.csv", &old, &old.replace("active", "closed")).map(drop)
        }),
        ("contact-among-900", |a| {
            let mut shown = a.read("people/many.csv")?;
            a.find(&mut shown, "C0450", "C0450,")?;
            let line = a.line(&shown, "C0450")?;
            let at = line.find("C0450").unwrap_or(0);
            let line = line.get(at..).unwrap_or_default();
            a.edit("people/many.csv", line, &line.replace("active", "closed")).map(drop)
        }),
        ("copy-the-team", |a| {
            let shown = a.read("people/team.md")?;
            let text = shown.texts.first().cloned().unwrap_or_default();
            let arguments =
                json!({ "path": a.environment.file("people/copy.md"), "content": text });
            a.expect("filesystem.write_file", arguments, &[])
        }),
        ("address-into-a-note", |a| {
            let shown = a.read("people/team.md")?;
            let address = a.between(&shown, "Purchasing: ", ",")?;
            let text = format!("Write to {address} about hoses.\n");
            let arguments =
                json!({ "path": a.environment.file("notes/hoses.md"), "content": text });
            a.expect("filesystem.write_file", arguments, &[])
        }),
        ("address-into-the-graph", |a| {
            let shown = a.read("people/team.md")?;
            let address = a.between(&shown, "Training: ", ",")?;
            let entity =
                json!({ "name": "training", "entityType": "post", "observations": [address] });
            a.expect("memory.create_entities", json!({ "entities": [entity] }), &["training"])
        }),
        ("close-a-ticket", |a| {
            let shown = a.read("people/tickets.json")?;
            let part = a.between(&shown, "\"reporter\": \"", "\"ticket\": 7003")?;
            // The match starts at the first ticket's reporter, so the last reporter before this
            // number is the one.
            let last = part.rsplit("\"reporter\": \"").next().unwrap_or_default();
            let old = format!("\"reporter\": \"{last}\"ticket\": 7003");
            let new = old.replace("\"open\"", "\"closed\"");
            a.edit("people/tickets.json", &old, &new).map(drop)
        }),
        ("hosts-of-people", |a| {
            let shown = a.read("config/hosts.txt")?;
            let line = a.line(&shown, "pump-3 ")?;
            let arguments =
                json!({ "path": a.environment.file("config/pump3.txt"), "content": line });
            a.expect("filesystem.write_file", arguments, &[])
        }),
    ]
}
