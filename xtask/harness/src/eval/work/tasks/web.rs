//! Pages of a local web server, and the time.

use serde_json::json;

use crate::eval::work::task::{Script, Task, group};

/// The tasks.
pub fn tasks() -> Vec<Task> {
    let scripts: &[(&str, Script)] = &[
        ("page-of-hours", |a| {
            let url = format!("{}/hours", a.environment.web);
            a.expect("fetch.fetch", json!({ "url": url }), &["opens at 07:20"])
        }),
        ("page-as-it-is", |a| {
            let url = format!("{}/hours", a.environment.web);
            let arguments = json!({ "url": url, "raw": true });
            a.expect("fetch.fetch", arguments, &["<h1>Opening hours</h1>"])
        }),
        ("next-part-of-a-page", |a| {
            let url = format!("{}/history", a.environment.web);
            let fact = "In 1930 the works had 50 pumps.";
            // The server itself shows a part, and says where the next one begins.
            let mut start = 0;
            for _ in 0..8 {
                let arguments = json!({ "url": url, "start_index": start });
                let shown = a.call_and_expect("fetch.fetch", arguments, &[])?;
                if shown.shows(fact) {
                    return Ok(());
                }
                let next = a.between(&shown, "start_index of ", " ")?;
                start = next.parse()?;
            }
            anyhow::bail!("not shown: `{fact}`")
        }),
        ("long-page-at-once", |a| {
            let arguments =
                json!({ "url": format!("{}/history", a.environment.web), "max_length": 60_000 });
            let mut shown = a.call_and_expect("fetch.fetch", arguments, &[])?;
            a.find(&mut shown, "In 1922", "In 1922 the works had 42 pumps.")
        }),
        ("page-into-a-file", |a| {
            let url = format!("{}/hours", a.environment.web);
            let shown = a.call_and_expect("fetch.fetch", json!({ "url": url }), &[])?;
            let line = a.line(&shown, "The depot opens")?;
            let arguments =
                json!({ "path": a.environment.file("notes/hours.md"), "content": line });
            a.expect("filesystem.write_file", arguments, &[])
        }),
        ("convert-a-time", |a| {
            let arguments = json!({ "source_timezone": "Asia/Tokyo", "time": "18:30",
                "target_timezone": "Asia/Kolkata" });
            a.expect("time.convert_time", arguments, &["15:00:00+05:30"])
        }),
        ("time-of-a-place", |a| {
            let arguments = json!({ "timezone": "Pacific/Auckland" });
            a.expect("time.get_current_time", arguments, &["Pacific/Auckland", "datetime"])
        }),
    ];
    group("web", scripts)
}
