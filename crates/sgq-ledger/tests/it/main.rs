//! A ledger as its users see it: what survives, what is refused, what is found.

mod clinics;
mod faults;
mod killing;
mod kills;
mod life;
mod protection;
mod versions;
