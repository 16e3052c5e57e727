//! What a build did, for people: as text, and as one HTML file that needs nothing else.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::compile::{ContextPack, Explanation, Section};

/// Rows of a list of dropped items in a text.
const MAX_LISTED: usize = 20;

impl ContextPack {
    /// The account as lines of text, under the names of the statistics.
    #[must_use]
    pub fn report(&self) -> String {
        let stats = &self.stats;
        let mut out =
            format!("phase: {}\ntoken_estimator: {}\n", stats.phase, stats.token_estimator);
        for (name, number) in stats.numbers() {
            let _ = writeln!(out, "{name}: {number}");
        }
        for (reason, count) in &stats.dropped_reasons {
            let _ = writeln!(out, "dropped_reasons.{}: {count}", reason.as_str());
        }
        for (kind, tokens) in &stats.tokens_per_section {
            let _ = writeln!(out, "tokens_per_section.{}: {tokens}", kind.as_str());
        }
        for warning in &stats.warnings {
            let _ = writeln!(out, "warning: {warning}");
        }
        for dropped in stats.dropped_items.iter().take(MAX_LISTED) {
            let id = weaver_text::escape::line(&dropped.item_id);
            let _ = writeln!(out, "dropped: {id} ({})", dropped.reason.as_str());
        }
        if let Some(more @ 1..) = stats.dropped_items.len().checked_sub(MAX_LISTED) {
            let _ = writeln!(out, "dropped: … and {more} more");
        }
        for line in self.explanations.iter().map(explained) {
            out.push_str(&line);
        }
        out
    }

    /// The whole as JSON: what is shown, the label, the numbers, and under `stats` the statistics.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let section = |section: &Section| json!({ "id": &*section.id, "kind": section.kind.as_str(), "text": &*section.text });
        let mut out = json!({
            "prompt": self.text,
            "messages": self.messages,
            "item_ids": self.item_ids.iter().map(|id| &**id).collect::<Vec<&str>>(),
            "items": self.sections.iter().map(section).collect::<Vec<_>>(),
            "head_bytes": self.head_bytes,
            "label": self.label,
            "stats": self.stats.to_json(),
        });
        if let Value::Object(map) = &mut out {
            map.extend(self.stats.numbers().map(|(name, n)| (name.to_owned(), n.into())));
            if !self.explanations.is_empty() {
                let all: Vec<Value> = self.explanations.iter().map(Explanation::to_json).collect();
                map.insert("explanations".to_owned(), Value::Array(all));
            }
        }
        out
    }

    /// The account as one HTML page, with what was shown and why.
    #[must_use]
    pub fn html(&self) -> String {
        let mut out = String::from(HEAD);
        let _ = write!(out, "<h1>Context for {}</h1>", escaped(&self.stats.phase));
        out.push_str("<table>");
        for (name, number) in self.stats.numbers() {
            let _ = write!(out, "<tr><th>{name}</th><td>{number}</td></tr>");
        }
        let label = &self.label;
        let level = format!("{:?}, {:?}", label.confidentiality, label.integrity).to_lowercase();
        let _ = write!(out, "<tr><th>label</th><td>{}</td></tr></table>", escaped(&level));
        if !self.explanations.is_empty() {
            out.push_str("<h2>Candidates</h2><table><tr><th>item</th><th>kind</th><th>fate</th>");
            out.push_str("<th>tokens</th><th>score</th><th>recency</th><th>match</th>");
            out.push_str("<th>kind score</th><th>cost</th></tr>");
            self.explanations.iter().for_each(|item| out.push_str(&row(item)));
            out.push_str("</table>");
        } else if !self.stats.dropped_items.is_empty() {
            out.push_str("<h2>Left out</h2><table><tr><th>item</th><th>why</th></tr>");
            for dropped in self.stats.dropped_items.iter() {
                let (id, why) = (escaped(&dropped.item_id), dropped.reason.as_str());
                let _ = write!(out, "<tr><td>{id}</td><td>{why}</td></tr>");
            }
            out.push_str("</table>");
        }
        out.push_str("<h2>Sections</h2>");
        for section in self.sections.iter() {
            let (id, text) = (escaped(&section.id), escaped(section.text.trim_end()));
            let _ = write!(out, "<h3>{id}</h3><pre>{text}</pre>");
        }
        out.push_str("</body></html>\n");
        out
    }
}

const HEAD: &str = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
<title>Compiled context</title><style>body{font:14px sans-serif;margin:2em;max-width:70em}\
table{border-collapse:collapse}th,td{border:1px solid #ccc;padding:.2em .6em;text-align:left}\
pre{background:#f5f5f5;padding:.6em;white-space:pre-wrap}.out{color:#888}</style></head><body>";

fn explained(item: &Explanation) -> String {
    let outcome = item.dropped.map_or("included", |reason| reason.as_str());
    format!(
        "explain: {} {} {outcome} tokens={} score={} recency={} match={} kind={} cost={}\n",
        weaver_text::escape::line(&item.item_id),
        item.kind.as_str(),
        item.tokens,
        item.score(),
        item.recency,
        item.matched,
        item.kind_points,
        item.cost,
    )
}

fn row(item: &Explanation) -> String {
    let class = if item.dropped.is_some() { " class=\"out\"" } else { "" };
    let outcome = item.dropped.map_or("included", |reason| reason.as_str());
    let mut out = format!(
        "<tr{class}><td>{}</td><td>{}</td><td>{outcome}</td>",
        escaped(&item.item_id),
        item.kind.as_str()
    );
    let points = [item.recency, item.matched, item.kind_points, item.cost];
    for number in [item.tokens, item.score()].into_iter().chain(points) {
        let _ = write!(out, "<td>{number}</td>");
    }
    out.push_str("</tr>");
    out
}

/// Text as it is, whatever it holds.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in weaver_text::escape::block(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}
