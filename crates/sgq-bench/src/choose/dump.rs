//! The table that a choice is made from, as files that other implementations can read.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::Path,
};

use sgq::{LastGradient, Query};

/// Writes little-endian `f64` files without a header: `gradients` (a row of `dim` numbers for each user), `points` (a row
/// for each distinct one), `places` (the row of `points` for each user, from 0), `mean` and `point` (`dim` numbers),
/// `smoothness` (a number for each user), `step_size` and `chosen` (one number).
pub(super) fn write(
    folder: &Path,
    belief: &LastGradient,
    query: &Query,
    smoothness: &[f64],
    step_size: f64,
) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let create = |name: &str| File::create(folder.join(name).with_extension("f64")).map(BufWriter::new);
    let mut gradients = create("gradients")?;
    let mut points = create("points")?;
    let mut places = Vec::with_capacity(belief.users());
    let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
    for user in 0..belief.users() {
        write_numbers(&mut gradients, &belief.gradient(user))?;
        let point = belief.point(user);
        let bits: Vec<u64> = point.iter().map(|x| x.to_bits()).collect();
        let next = known.len();
        let place = *known.entry(bits).or_insert(next);
        if place == next {
            write_numbers(&mut points, point)?;
        }
        places.push(place as f64);
    }
    gradients.flush()?;
    points.flush()?;
    for (name, numbers) in [
        ("places", &*places),
        ("mean", belief.mean()),
        ("point", &query.point),
        ("smoothness", smoothness),
        ("step_size", &[step_size]),
        ("chosen", &[query.user as f64]),
    ] {
        let mut file = create(name)?;
        write_numbers(&mut file, numbers)?;
        file.flush()?;
    }
    Ok(())
}

fn write_numbers(file: &mut impl Write, numbers: &[f64]) -> io::Result<()> {
    numbers.iter().try_for_each(|number| file.write_all(&number.to_le_bytes()))
}
