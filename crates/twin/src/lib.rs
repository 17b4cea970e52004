//! (being laid)

pub mod drive;
