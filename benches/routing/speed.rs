//! Speed at the sizes at which the peer answers, and what it gets.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use weaver_benches::Failure;
use weaver_benches::routing::{Corpus, Effort, measure};

/// The numbers of tools where none are asked for.
const SIZES: [usize; 2] = [83, 1_000];
/// Requests that the peer answers.
const REQUESTS: usize = 100;

/// What is measured.
pub(crate) struct Args {
    data: Option<PathBuf>,
    sizes: Vec<usize>,
    smoke: bool,
}

impl Args {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut args = Self { data: None, sizes: Vec::new(), smoke: false };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--smoke" => args.smoke = true,
                "--data" => {
                    args.data = Some(arguments.next().ok_or("--data needs a folder")?.into())
                }
                "--size" => {
                    args.sizes.push(arguments.next().ok_or("--size needs a number")?.parse()?)
                }
                _ => return Err(format!("{argument} is not known").into()),
            }
        }
        if args.sizes.is_empty() {
            args.sizes.extend(SIZES);
        }
        Ok(args)
    }

    fn corpus(&self) -> Result<Corpus, Failure> {
        match &self.data {
            Some(folder) => Corpus::read(folder),
            None => Corpus::made_up(self.sizes.iter().copied().max().unwrap_or(0)),
        }
    }
}

/// The figures of each size.
pub(crate) fn run(args: &Args) -> Result<Value, Failure> {
    let corpus = args.corpus()?;
    let rounds = if args.smoke { 1 } else { 20 };
    let mut found = Map::new();
    for size in &args.sizes {
        let figures = measure(&corpus, *size, Effort { rounds, requests: REQUESTS })?;
        found.insert(size.to_string(), figures);
    }
    Ok(Value::Object(found))
}

/// Writes the catalogs and requests for the peer.
pub(crate) fn workloads(folder: &Path, args: &Args) -> Result<Value, Failure> {
    std::fs::create_dir_all(folder)?;
    let corpus = args.corpus()?;
    let requests = if args.smoke { 3 } else { REQUESTS };
    for size in &args.sizes {
        let catalog = corpus.catalog(*size)?;
        let tool = |item: &contextweaver::catalog::SelectableItem| {
            let properties = item.parameters.iter().map(|parameter| {
                (parameter.name.clone(), json!({ "description": parameter.description }))
            });
            let schema =
                json!({ "type": "object", "properties": properties.collect::<Map<_, _>>() });
            let tool = json!({
                "id": item.id, "kind": "tool", "name": item.display_name(),
                "description": item.description, "tags": item.tags,
                "namespace": item.namespace, "args_schema": schema,
            });
            format!("{tool}\n")
        };
        let lines: String = catalog.iter().map(tool).collect();
        std::fs::write(folder.join(format!("tools_{size}.jsonl")), lines)?;
        let asked = corpus.requests.iter().take(requests).map(|text| format!("{}\n", json!(text)));
        std::fs::write(folder.join(format!("requests_{size}.jsonl")), asked.collect::<String>())?;
    }
    Ok(json!({ "sizes": args.sizes }))
}
