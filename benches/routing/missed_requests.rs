//! The requests that no right tool answers, and recall by set: what one looks at while tuning.

use std::path::PathBuf;
use std::sync::Arc;

use contextweaver::route::{Router, TokenTable};
use serde_json::{Value, json};
use weaver_benches::Failure;

use crate::corpus::{self, Set};
use crate::evaluate::names;
use crate::score::{Score, rounded};

/// How many places of a ranking count.
const PLACES: usize = 5;

/// What is looked at.
pub(crate) struct Args {
    dir: PathBuf,
    sets: Vec<String>,
    /// A table in the place of the built-in one: the path of its safetensors file, with a file
    /// `.vocab.txt` of the same name beside it.
    table: Option<PathBuf>,
    /// How many of the requests that found nothing are listed for each set.
    listed: usize,
    /// Whether what a language model searched for stands in the place of the request; requests
    /// without it are left out.
    searches: bool,
}

impl Args {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut args =
            Self { dir: PathBuf::new(), sets: Vec::new(), table: None, listed: 0, searches: false };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--set" => args.sets.push(value()?.clone()),
                "--word-table" => args.table = Some(PathBuf::from(value()?)),
                "--searches" => args.searches = true,
                "--list" => args.listed = value()?.parse()?,
                _ if args.dir.as_os_str().is_empty() => args.dir = PathBuf::from(argument),
                _ => return Err(format!("{argument} is not known").into()),
            }
        }
        Ok(args)
    }

    fn table(&self) -> Result<Arc<TokenTable>, Failure> {
        let Some(path) = &self.table else { return Ok(TokenTable::built_in()?) };
        let vocabulary = std::fs::read_to_string(path.with_extension("vocab.txt"))?;
        Ok(Arc::new(TokenTable::read(&std::fs::read(path)?, &vocabulary)?))
    }
}

pub(crate) fn run(args: &Args) -> Result<Value, Failure> {
    let table = args.table()?;
    let mut sets = Vec::new();
    for (name, folder) in corpus::folders(&args.dir, &args.sets)? {
        let mut set = Set::read(name, &folder);
        if args.searches {
            set = set.of_searches();
        }
        let words = Router::new(set.catalog(0)?)?;
        for part in set.parts().into_iter().filter(|part| !part.queries.is_empty()) {
            let meaning = words.clone().with_table(Arc::clone(&table));
            sets.push(json!({ "name": part.name, "queries": part.queries.len(),
                "words": one(args, &part, &words), "table": one(args, &part, &meaning) }));
        }
    }
    Ok(json!({ "sets": sets }))
}

fn one(args: &Args, set: &Set, router: &Router) -> Value {
    let (mut score, mut missed) = (Score::default(), Vec::new());
    for query in &set.queries {
        let found = names(router, &router.route(&query.text, PLACES));
        score.add(&found, &query.gold, &[]);
        if missed.len() < args.listed && !found.iter().any(|id| query.gold.contains(id)) {
            missed.push(json!({ "query": query.text, "gold": query.gold, "found": found }));
        }
    }
    let figures = score.figures();
    let figure = |name: &str| figures.get(name).copied().map(rounded);
    json!({ "recall@5": figure("recall@5"), "any_gold@5": figure("any_gold@5"), "missed": missed })
}
