//! The table that a choice is made from, as files that other implementations can read.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use sgq::{LastGradient, Query};

use crate::output::{Folder, OutputError};

/// The names of the files.
pub const FILES: [&str; 8] = [
    "gradients.f64",
    "points.f64",
    "places.f64",
    "mean.f64",
    "point.f64",
    "smoothness.f64",
    "step_size.f64",
    "chosen.f64",
];

/// Writes little-endian `f64` files without a header: `gradients` (a row of `dim` numbers for each user), `points` (a row
/// for each distinct one), `places` (the row of `points` for each user, from 0), `mean` and `point` (`dim` numbers),
/// `smoothness` (a number for each user), `step_size` and `chosen` (one number).
pub(super) fn write(
    folder: &mut Folder,
    belief: &LastGradient,
    query: &Query,
    smoothness: &[f64],
    step_size: f64,
) -> Result<(), OutputError> {
    let [mut gradients, mut points] = [folder.create("gradients.f64")?, folder.create("points.f64")?];
    let folder_path = folder.path().to_owned();
    let failed = |cause| OutputError::Folder { path: folder_path.clone(), cause };
    let mut places = Vec::with_capacity(belief.users());
    let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
    for user in 0..belief.users() {
        write_numbers(&mut gradients, &belief.gradient(user)).map_err(failed)?;
        let point = belief.point(user);
        let bits: Vec<u64> = point.iter().map(|x| x.to_bits()).collect();
        let next = known.len();
        let place = *known.entry(bits).or_insert(next);
        if place == next {
            write_numbers(&mut points, point).map_err(failed)?;
        }
        places.push(place as f64);
    }
    gradients.flush().and_then(|()| points.flush()).map_err(failed)?;
    for (name, numbers) in [
        ("places.f64", &*places),
        ("mean.f64", belief.mean()),
        ("point.f64", &query.point),
        ("smoothness.f64", smoothness),
        ("step_size.f64", &[step_size]),
        ("chosen.f64", &[query.user as f64]),
    ] {
        let mut file = folder.create(name)?;
        write_numbers(&mut file, numbers).and_then(|()| file.flush()).map_err(failed)?;
    }
    folder.commit()
}

fn write_numbers(file: &mut impl Write, numbers: &[f64]) -> io::Result<()> {
    numbers.iter().try_for_each(|number| file.write_all(&number.to_le_bytes()))
}
