//! The budget of a session: how many tokens its frames may come to, over all of its calls.

mod meter;
mod reservation;
mod session;

pub use reservation::Reservation;
pub use session::{Session, SessionBudget};
