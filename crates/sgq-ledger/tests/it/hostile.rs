//! Answers that are meant to do harm.

use crate::{
    clinics::{file, quick_folder},
    flood::flood,
};

#[test]
fn hostile_answers_leave_a_row_each_and_nothing_else() {
    let folder = quick_folder();
    flood(&file(&folder, "study.sgq"), 3000, |_| {});
}
