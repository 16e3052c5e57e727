//! Explains an answer: the matching terms, what was left out, and where each item is in the graph.

use contextweaver::route::{Hit, RouteAnswer};
use serde_json::{Value, json};
use weaver_text::escape;

use super::output;
use super::shortlist::Shortlist;

/// The explanation as JSON.
pub(super) fn explanation_json(shortlist: &Shortlist, query: &str, answer: &RouteAnswer) -> Value {
    let left_out: serde_json::Map<String, Value> = shortlist
        .left_out()
        .iter()
        .map(|(rule, count)| (rule.as_str().to_owned(), json!(count)))
        .collect();
    let items = answer.hits.iter().filter_map(|hit| {
        let item = shortlist.router().item(&hit.id)?;
        Some(json!({
            "id": item.source_id(),
            "score": hit.points(),
            "copy": hit.is_near_duplicate,
            "page": shortlist.graph_page(&hit.id),
        }))
    });
    json!({
        "query": query,
        "confidence": answer.confidence,
        "ambiguous": answer.ambiguous,
        "question": answer.question,
        "abstained": answer.abstained,
        "left_out": left_out,
        "items": items.collect::<Vec<_>>(),
        "trace": answer.trace,
    })
}

/// The explanation as text.
pub(super) fn explanation_text(shortlist: &Shortlist, query: &str, answer: &RouteAnswer) -> String {
    let mut out = format!("\nquery: {}\n", escape::line(query));
    if answer.abstained {
        out.push_str("nothing fits well enough\n");
    }
    if let Some(question) = &answer.question {
        out.push_str(&format!("to be asked: {}\n", escape::line(question)));
    }
    for (rule, count) in shortlist.left_out() {
        out.push_str(&format!("left out by {}: {count}\n", rule.as_str()));
    }
    for hit in &answer.hits {
        let id = shortlist.router().item(&hit.id).map_or("", |item| item.source_id());
        let mut line = format!("{}: {:.3}", output::bold(&escape::line(id)), hit.points());
        if hit.is_near_duplicate {
            line.push_str(", a near copy of one above");
        }
        if let Some(page) = shortlist.graph_page(&hit.id) {
            line.push_str(&format!(", on the page {}", escape::line(&page)));
        }
        out.push_str(&format!("{line}\n"));
        let candidates = answer.trace.iter().flat_map(|trace| &trace.candidates);
        let own = candidates.filter(|candidate| candidate.id == hit.id.as_str());
        for share in own.flat_map(|candidate| &candidate.terms) {
            let (term, fields) = (escape::line(&share.term), share.fields.join(", "));
            let points =
                Hit { id: hit.id.clone(), score: share.score, is_near_duplicate: false }.points();
            out.push_str(&format!("  {points:>7.3}  {term} ({}) in {fields}\n", share.by));
        }
    }
    out
}
