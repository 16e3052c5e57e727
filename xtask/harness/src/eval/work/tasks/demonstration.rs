//! The everything server: results that are not only text.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::eval::work::agent::Agent;
use crate::eval::work::shown_result::ShownResult;
use crate::eval::work::task::{Script, Task, group};

/// The tasks.
pub fn tasks() -> Vec<Task> {
    let scripts: &[(&str, Script)] = &[
        ("echo", |a| {
            a.expect("everything.echo", json!({ "message": "grüß 你好" }), &["grüß 你好"])
        }),
        ("sum", |a| a.expect("everything.get-sum", json!({ "a": 19, "b": 23 }), &["42"])),
        ("image", |a| {
            let shown = a.call_and_expect("everything.get-tiny-image", json!({}), &["MCP logo"])?;
            let image = block(a, &shown, "image")?;
            ensure!(image["mimeType"] == "image/png", "no picture: {image}");
            let data = image["data"].as_str().unwrap_or_default();
            ensure!(data.starts_with("iVBORw0KGgo") && data.len() > 5_000, "not the whole picture");
            Ok(())
        }),
        ("annotations", |a| {
            let arguments = json!({ "messageType": "error", "includeImage": true });
            let shown = a.call_and_expect(
                "everything.get-annotated-message",
                arguments,
                &["Operation failed"],
            )?;
            block(a, &shown, "image").map(drop)
        }),
        ("resource-links", |a| {
            let shown =
                a.call_and_expect("everything.get-resource-links", json!({ "count": 4 }), &[])?;
            let links = shown.blocks.iter().filter(|block| block["type"] == "resource_link");
            let links: Vec<&str> = links.filter_map(|link| link["uri"].as_str()).collect();
            ensure!(links.len() == 4, "links are missing: {links:?}");
            ensure!(links.iter().any(|uri| uri.ends_with("/text/2")), "not the links: {links:?}");
            Ok(())
        }),
        ("embedded-text", |a| {
            let arguments = json!({ "resourceType": "Text", "resourceId": 2 });
            let facts = ["This is a plaintext resource", "demo://resource/dynamic/text/2"];
            let shown =
                a.call_and_expect("everything.get-resource-reference", arguments, &facts)?;
            block(a, &shown, "resource").map(drop)
        }),
        ("embedded-bytes", |a| {
            let arguments = json!({ "resourceType": "Blob", "resourceId": 3 });
            let shown =
                a.call_and_expect("everything.get-resource-reference", arguments, &["Resource 3"])?;
            let resource = block(a, &shown, "resource")?;
            // The bytes are UTF-8 text, so a gateway may show them as text.
            let blob = resource["resource"]["blob"].as_str().unwrap_or_default();
            let is_shown =
                shown.shows("This is a base64 blob") || blob.starts_with("UmVzb3VyY2UgMzog");
            ensure!(is_shown, "no bytes and no text: {resource}");
            Ok(())
        }),
        ("structured-content", |a| {
            let arguments = json!({ "location": "Chicago" });
            let facts = ["temperature", "36", "Light rain / drizzle", "82"];
            a.expect("everything.get-structured-content", arguments, &facts)
        }),
        ("progress", |a| {
            let arguments = json!({ "duration": 1, "steps": 4 });
            a.call_and_expect(
                "everything.trigger-long-running-operation",
                arguments,
                &["completed"],
            )?;
            ensure!(a.progress >= 1, "no progress was told");
            Ok(())
        }),
        ("compressed-file", |a| {
            let arguments = json!({ "name": "a.gz", "data": "data:text/plain,hello", "outputType": "resource" });
            let shown = a.call_and_expect("everything.gzip-file-as-resource", arguments, &[])?;
            let resource = block(a, &shown, "resource")?;
            let blob = resource["resource"]["blob"].as_str().unwrap_or_default();
            ensure!(blob.starts_with("H4sI"), "no compressed bytes: {resource}");
            Ok(())
        }),
    ];
    group("demonstration", scripts)
}

fn block(agent: &mut Agent<'_>, shown: &ShownResult, kind: &str) -> Result<Value> {
    agent.last = shown.clone();
    let found = shown.blocks.iter().find(|block| block["type"] == kind);
    found.cloned().ok_or_else(|| anyhow::anyhow!("no block of type `{kind}` shown"))
}
