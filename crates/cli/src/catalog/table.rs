//! Prints ranked items as a table.

use contextweaver::card::EffectsNotice;
use contextweaver::catalog::SelectableItem;
use contextweaver::route::Hit;
use weaver_text::escape;

use super::output;

/// The widest column of ids, in characters.
const MAX_ID_CHARS: usize = 40;
/// The width of a line if the terminal does not tell its own.
const DEFAULT_WIDTH: usize = 100;

/// One line per item: rank, score, id, effects, description.
pub(crate) fn ranking_table<'a>(
    hits: &[Hit],
    item: impl Fn(&Hit) -> Option<&'a SelectableItem>,
) -> String {
    let found: Vec<(&Hit, &SelectableItem)> =
        hits.iter().filter_map(|hit| Some((hit, item(hit)?))).collect();
    if found.is_empty() {
        return "nothing fits; try other words\n".to_owned();
    }
    let id = |item: &SelectableItem| -> String {
        escape::shorten(&escape::line(item.source_id()), MAX_ID_CHARS).into_owned()
    };
    let id_width = found.iter().map(|(_, item)| id(item).chars().count()).max().unwrap_or(0).max(2);
    let text_width = terminal_width().saturating_sub(id_width + 34).max(20);
    let mut out =
        output::dim(&format!("  # {:>8}  {:<id_width$}  {:<18}  what", "score", "id", "effects"));
    out.push('\n');
    for (rank, (hit, item)) in found.iter().enumerate() {
        let text = item.description.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = escape::shorten(&escape::line(&text), text_width).into_owned();
        let shown = id(item);
        let pad = " ".repeat(id_width - shown.chars().count());
        let effects = EffectsNotice::from_effects(item.effects).as_str();
        let copy =
            if hit.is_near_duplicate { output::dim(" (a near copy)") } else { String::new() };
        out.push_str(&format!(
            "{:>3} {:>8.3}  {}{pad}  {effects:<18}  {text}{copy}\n",
            rank + 1,
            hit.points(),
            output::bold(&shown)
        ));
    }
    out
}

fn terminal_width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    columns.map_or(DEFAULT_WIDTH, |columns: usize| columns.clamp(60, 240))
}
