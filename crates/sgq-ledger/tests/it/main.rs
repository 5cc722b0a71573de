//! A ledger as its users see it: what survives, what is refused, what is found.

mod clinics;
mod faults;
mod life;
mod protection;
mod versions;
