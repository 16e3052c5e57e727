//! Quality on sets of tools and queries.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use contextweaver::route::{Hit, Router, TokenTable};
use serde_json::{Value, json};
use weaver_benches::{Failure, measure};

use crate::corpus::{self, Set};
use crate::risk::{self, Ranking};
use crate::score::{DEPTH, Score, mean, rounded};
use crate::{set_variants, walk};

/// Most examples a tool that are tried where none are asked for: few, and many.
const EXAMPLES: [usize; 2] = [5, 30];
/// Queries before the clock counts.
const WARM_UP: usize = 20;

/// What is evaluated.
pub(crate) struct Args {
    dir: PathBuf,
    sets: Vec<String>,
    examples: Vec<usize>,
    table: bool,
}

impl Args {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut args =
            Self { dir: PathBuf::new(), sets: Vec::new(), examples: Vec::new(), table: true };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--set" => args.sets.push(value()?.clone()),
                "--examples" => args.examples.push(value()?.parse()?),
                "--no-table" => args.table = false,
                _ if args.dir.as_os_str().is_empty() => args.dir = PathBuf::from(argument),
                _ => return Err(format!("{argument} is not known").into()),
            }
        }
        Ok(args)
    }
}

/// How one run differs from another: with the table, and examples a tool.
type RunVariant = (bool, usize);

/// The figures of a run by their names.
pub(crate) type Figures = BTreeMap<&'static str, f64>;

/// What all sets together come to.
#[derive(Default)]
struct Sums {
    figures: BTreeMap<RunVariant, Vec<Figures>>,
    rankings: BTreeMap<bool, Vec<(String, Vec<Ranking>)>>,
}

pub(crate) fn run(args: &Args) -> Result<Value, Failure> {
    let table = TokenTable::built_in()?;
    let (mut sets, mut sums) = (Vec::new(), Sums::default());
    for (name, folder) in corpus::folders(&args.dir, &args.sets)? {
        for set in Set::read(name, &folder).parts() {
            sets.push(evaluate(args, set, &table, &mut sums)?);
        }
    }
    let macros = sums.figures.iter().filter(|((_, examples), _)| *examples == 0).map(
        |((table, _), all)| json!({ "table": table, "sets": all.len(), "figures": mean(all) }),
    );
    let macros: Vec<Value> = macros.collect();
    let risks: Vec<Value> =
        sums.rankings.iter().map(|(table, sets)| risk::report(*table, sets)).collect();
    Ok(json!({ "version": 1, "sets": sets, "macro": macros, "risk": risks }))
}

/// Everything about one set. One without tools or queries counts nowhere.
fn evaluate(
    args: &Args,
    mut set: Set,
    table: &Arc<TokenTable>,
    sums: &mut Sums,
) -> Result<Value, Failure> {
    if set.items.is_empty() || set.queries.is_empty() {
        set.notes.push("it has no tools or no queries, and counts nowhere".to_owned());
        return Ok(json!({ "name": set.name, "tools": set.items.len(),
            "queries": set.queries.len(), "notes": set.notes, "runs": [] }));
    }
    let (mut runs, mut walks, mut beyond) = (Vec::new(), Vec::new(), Vec::new());
    for way in ways(args, &set) {
        let (router, build) = router(&set, way, table)?;
        let figures = one(&set, &router);
        runs.push(run_json(way, &figures, build));
        sums.figures.entry(way).or_default().push(figures);
        if way.1 == 0 {
            let rankings = risk::rankings(&set, &router);
            sums.rankings.entry(way.0).or_default().push((set.name.clone(), rankings));
            walks.push(walk::agreement(&set, &router, way.0)?);
            beyond.push(set_variants::runs(&set, &router, way.0)?);
        }
    }
    let known: BTreeSet<&str> = set.items.iter().map(|item| item.source_id()).collect();
    let unknown =
        set.queries.iter().flat_map(|q| &q.gold).filter(|id| !known.contains(id.as_str()));
    Ok(json!({
        "name": set.name, "tools": set.items.len(), "queries": set.queries.len(),
        "gold_not_among_tools": unknown.count(), "notes": set.notes, "runs": runs,
        "graph": walks, "beyond": beyond,
    }))
}

fn run_json((table, examples): RunVariant, figures: &Figures, build: f64) -> Value {
    json!({ "table": table, "examples": examples, "figures": shown(figures),
        "build_ms": rounded(build) })
}

/// Figures with as many digits as they are good for.
pub(crate) fn shown(figures: &Figures) -> BTreeMap<&'static str, f64> {
    figures.iter().map(|(name, figure)| (*name, rounded(*figure))).collect()
}

fn ways(args: &Args, set: &Set) -> Vec<RunVariant> {
    let tables: &[bool] = if args.table { &[false, true] } else { &[false] };
    let mut examples = BTreeSet::from([0]);
    if !set.examples.is_empty() {
        let asked: &[usize] = if args.examples.is_empty() { &EXAMPLES } else { &args.examples };
        examples.extend(asked);
    }
    tables.iter().flat_map(|table| examples.iter().map(|count| (*table, *count))).collect()
}

/// The router of one run, and how long its index took, in milliseconds.
fn router(
    set: &Set,
    (with_table, examples): RunVariant,
    table: &Arc<TokenTable>,
) -> Result<(Router, f64), Failure> {
    let catalog = set.catalog(examples)?;
    let began = measure::now();
    let mut router = Router::new(catalog)?;
    if with_table {
        router = router.with_table(Arc::clone(table));
    }
    Ok((router, (measure::now() - began).as_secs_f64() * 1e3))
}

fn one(set: &Set, router: &Router) -> Figures {
    for query in set.queries.iter().take(WARM_UP) {
        let _ = router.route(&query.text, DEPTH);
    }
    let mut score = Score::default();
    for query in &set.queries {
        let began = measure::now();
        let hits = router.route(&query.text, DEPTH);
        score.took(measure::now().saturating_sub(began));
        score.add(&names(router, &hits), &query.gold, &query.gold_all);
    }
    score.figures()
}

/// The ids of hits as the set writes them.
pub(crate) fn names(router: &Router, hits: &[Hit]) -> Vec<String> {
    let items = hits.iter().filter_map(|hit| router.item(&hit.id));
    items.map(|item| item.source_id().to_owned()).collect()
}
