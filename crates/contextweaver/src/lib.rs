//! Shows a model the few tools that fit a request, and compiles its context within a token budget.
//!
//! The crate has two independent engines. The [`Router`](route::Router) ranks the items of a
//! [`Catalog`](catalog::Catalog) for a request and renders short cards, never schemas.
//! [`compile::build`] turns the log of a conversation into a text within a token budget.
//!
//! What this crate deliberately is not: it grants no permission, calls no tool and opens no store of
//! its own. A ranking is advice; whether a call may happen is decided elsewhere. It has no firewall
//! either: tool results enter as frames. The types that its constructors need are re-exported as
//! [`types`] and [`text`].
//!
//! ```
//! use contextweaver::catalog::Catalog;
//! use contextweaver::route::Router;
//!
//! let catalog = Catalog::from_jsonl(
//!     r#"{"id": "tickets.list", "name": "list", "description": "List open support tickets"}
//!        {"id": "files.read", "name": "read", "description": "Read a file from disk"}"#,
//! )?;
//! let router = Router::new(catalog)?;
//! let hits = router.route("which tickets are still open?", 5);
//! assert_eq!(hits[0].id.as_str(), "tickets.list");
//! # Ok::<(), contextweaver::error::CatalogError>(())
//! ```

pub mod bridge;
pub mod card;
pub mod catalog;
pub mod compile;
pub mod error;
pub mod filter;
mod fixed_point;
pub mod graph;
pub mod hydrate;
pub mod memory;
pub mod route;
mod stems;

/// Token counters and other text functions that this crate's constructors take.
pub use weaver_text as text;
/// The types of this crate's interface: ids, labels, frames, clocks.
pub use weaver_types as types;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
