//! The token budget of a session, shared by all frames of all its calls.

mod meter;
mod reservation;
mod session;

pub use reservation::Reservation;
pub use session::{Session, SessionBudget};
