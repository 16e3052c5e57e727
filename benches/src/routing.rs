//! Catalogs of many tools, goals that some of them fit, and how fast they are found.

mod bm25;
mod figures;
mod requests;
mod tools;
mod words;

use std::path::Path;

use contextweaver::catalog::{Catalog, SelectableItem};

use crate::Failure;

pub use bm25::Bm25;
pub use figures::{Effort, measure};
pub use requests::requests;
pub use tools::tools;

/// What is measured: tools in any number, and what is asked of them.
#[derive(Debug, Clone)]
pub struct Corpus {
    tools: Vec<SelectableItem>,
    /// The requests.
    pub requests: Vec<String>,
}

impl Corpus {
    /// Made up: the same on every machine.
    ///
    /// # Errors
    /// When an id is malformed.
    pub fn made_up(most: usize) -> Result<Self, Failure> {
        Ok(Self { tools: tools(most)?, requests: requests(400) })
    }

    /// The tools and requests of a folder of sets, each with `tools.jsonl` and `queries.jsonl`; of
    /// each set at most a hundred requests.
    ///
    /// # Errors
    /// When a file cannot be read, or there is no set.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        let mut folders: Vec<_> =
            std::fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
        folders.sort_unstable();
        let (mut tools, mut requests) = (Vec::new(), Vec::new());
        for (number, set) in folders.iter().enumerate() {
            let Ok(lines) = std::fs::read_to_string(set.join("tools.jsonl")) else { continue };
            for item in Catalog::from_jsonl(&lines)?.iter() {
                tools.push(tools::copy(item, &format!("set{number}."))?);
            }
            let lines = std::fs::read_to_string(set.join("queries.jsonl"))?;
            let each = lines.lines().count().div_ceil(100).max(1);
            for line in lines.lines().step_by(each) {
                let query: serde_json::Value = serde_json::from_str(line)?;
                requests.extend(query["query"].as_str().map(str::to_owned));
            }
        }
        if tools.is_empty() || requests.is_empty() {
            return Err(format!("{} holds no set of tools", folder.display()).into());
        }
        // No set is to stand in one place.
        tools.sort_by_cached_key(|item| item.id.as_str().bytes().rev().collect::<Vec<_>>());
        Ok(Self { tools, requests })
    }

    /// So many tools: where there are fewer, each several times, on a server of its own.
    ///
    /// # Errors
    /// When an item is malformed.
    pub fn catalog(&self, size: usize) -> Result<Catalog, Failure> {
        let mut items = Vec::with_capacity(size);
        for round in 0.. {
            let left = size - items.len();
            for item in self.tools.iter().take(left) {
                items.push(match round {
                    0 => item.clone(),
                    _ => tools::copy(item, &format!("server{round}."))?,
                });
            }
            if items.len() >= size {
                break;
            }
        }
        Ok(Catalog::from_items(items)?)
    }
}

/// The bytes of the texts that an index has of a catalog.
#[must_use]
pub fn text_bytes(catalog: &Catalog) -> usize {
    let of = |item: &SelectableItem| {
        let parameters = item.parameters.iter().map(|p| p.name.len() + p.description.len());
        let lists = item.tags.iter().chain(&item.examples).map(String::len);
        let own = item.display_name().len() + item.description.len() + item.namespace.len();
        own + parameters.sum::<usize>() + lists.sum::<usize>()
    };
    catalog.iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use contextweaver::route::Router;

    use super::*;

    #[test]
    fn a_catalog_has_the_tools_that_were_asked_for_and_requests_find_some() {
        let corpus = Corpus::made_up(300).unwrap();
        for size in [83, 300, 700] {
            let catalog = corpus.catalog(size).unwrap();
            assert_eq!(catalog.len(), size);
            let router = Router::new(catalog).unwrap();
            let none = corpus.requests.iter().filter(|r| router.route(r, 5).is_empty()).count();
            assert!(none * 50 <= corpus.requests.len(), "{none} find nothing among {size}");
        }
    }

    #[test]
    fn both_rankers_find_a_tool_by_its_own_words() {
        let catalog = Corpus::made_up(500).unwrap().catalog(500).unwrap();
        let (router, mut plain) = (Router::new(catalog.clone()).unwrap(), Bm25::new(&catalog));
        let mut found = [0, 0];
        for item in catalog.iter() {
            let request = format!("{} {}", item.name, item.description);
            found[0] += usize::from(router.route(&request, 5).iter().any(|hit| hit.id == item.id));
            let best = plain.best(&request, 5);
            found[1] += usize::from(best.iter().any(|(id, _)| *id == item.id.as_str()));
        }
        assert!(found.iter().all(|found| *found > 450), "{found:?}");
    }
}
