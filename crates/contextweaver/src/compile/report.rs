//! Reports of a build for people: as text, and as one self-contained HTML file.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::compile::{ContextPack, Explanation, RenderedItem};

/// The most dropped items that the text report lists.
const MAX_LISTED_DROPPED: usize = 20;

impl ContextPack {
    /// The statistics as lines of text.
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
        for dropped in stats.dropped_items.iter().take(MAX_LISTED_DROPPED) {
            let id = weaver_text::escape::line(&dropped.item_id);
            let _ = writeln!(out, "dropped: {id} ({})", dropped.reason.as_str());
        }
        if let Some(more @ 1..) = stats.dropped_items.len().checked_sub(MAX_LISTED_DROPPED) {
            let _ = writeln!(out, "dropped: … and {more} more");
        }
        for line in self.explanations.iter().map(explanation_line) {
            out.push_str(&line);
        }
        out
    }

    /// The complete pack as JSON: prompt, items, label, numbers, and the statistics under `stats`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let item_json = |item: &RenderedItem| json!({ "id": &*item.id, "kind": item.kind.as_str(), "text": &*item.text });
        let mut out = json!({
            "prompt": self.text,
            "messages": self.messages,
            "item_ids": self.item_ids.iter().map(|id| &**id).collect::<Vec<&str>>(),
            "items": self.items.iter().map(item_json).collect::<Vec<_>>(),
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

    /// The report as one HTML page, with the rendered items and the explanations.
    #[must_use]
    pub fn html(&self) -> String {
        let mut out = String::from(HEAD);
        let _ = write!(out, "<h1>Context for {}</h1>", html_escape(&self.stats.phase));
        out.push_str("<table>");
        for (name, number) in self.stats.numbers() {
            let _ = write!(out, "<tr><th>{name}</th><td>{number}</td></tr>");
        }
        let label = &self.label;
        let level = format!("{:?}, {:?}", label.confidentiality, label.integrity).to_lowercase();
        let _ = write!(out, "<tr><th>label</th><td>{}</td></tr></table>", html_escape(&level));
        if !self.explanations.is_empty() {
            out.push_str("<h2>Candidates</h2><table><tr><th>item</th><th>kind</th><th>fate</th>");
            out.push_str("<th>tokens</th><th>score</th><th>recency</th><th>match</th>");
            out.push_str("<th>kind score</th><th>cost</th></tr>");
            self.explanations.iter().for_each(|item| out.push_str(&explanation_row_html(item)));
            out.push_str("</table>");
        } else if !self.stats.dropped_items.is_empty() {
            out.push_str("<h2>Left out</h2><table><tr><th>item</th><th>why</th></tr>");
            for dropped in self.stats.dropped_items.iter() {
                let (id, why) = (html_escape(&dropped.item_id), dropped.reason.as_str());
                let _ = write!(out, "<tr><td>{id}</td><td>{why}</td></tr>");
            }
            out.push_str("</table>");
        }
        out.push_str("<h2>Sections</h2>");
        for section in self.items.iter() {
            let (id, text) = (html_escape(&section.id), html_escape(section.text.trim_end()));
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

fn explanation_line(item: &Explanation) -> String {
    let outcome = item.drop_reason.map_or("included", |reason| reason.as_str());
    format!(
        "explain: {} {} {outcome} tokens={} score={} recency={} match={} kind={} cost={}\n",
        weaver_text::escape::line(&item.item_id),
        item.kind.as_str(),
        item.tokens,
        item.score(),
        item.recency_points,
        item.match_points,
        item.kind_points,
        item.brevity_points,
    )
}

fn explanation_row_html(item: &Explanation) -> String {
    let class = if item.drop_reason.is_some() { " class=\"out\"" } else { "" };
    let outcome = item.drop_reason.map_or("included", |reason| reason.as_str());
    let mut out = format!(
        "<tr{class}><td>{}</td><td>{}</td><td>{outcome}</td>",
        html_escape(&item.item_id),
        item.kind.as_str()
    );
    let points = [item.recency_points, item.match_points, item.kind_points, item.brevity_points];
    for number in [item.tokens, item.score()].into_iter().chain(points) {
        let _ = write!(out, "<td>{number}</td>");
    }
    out.push_str("</tr>");
    out
}

/// Escapes text for HTML.
fn html_escape(text: &str) -> String {
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
