//! How fast the readers are: writes a CSV file (10 columns) and a LIBSVM file (30 numbers a row) and reads both.
//!
//! `cargo run --release --package sgq-data --example speed [rows] [folder]`: a million rows where none are given, in the
//! machine's folder for temporary files. The files are removed afterwards.
//!
//! On one core of a shared two-core machine (x86-64, November 2026):
//!
//! ```text
//! CSV: 1000000 rows, 12 columns, 100 users: 84 MB in 1.23 s (best of 3), 68 MB/s
//! LIBSVM: 1000000 rows, 1490 columns, 100 users: 392 MB in 2.44 s (best of 3), 161 MB/s
//! ```

use std::{
    error::Error,
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use sgq::Random;
use sgq_data::{Dataset, csv, libsvm};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let rows = arguments.next().map_or(Ok(1_000_000), |rows| rows.parse());
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let Ok(rows) = rows else {
        eprintln!("usage: speed [rows] [folder]");
        return ExitCode::from(2);
    };
    match run(rows, &folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(rows: usize, folder: &Path) -> Result<(), Box<dyn Error>> {
    let name = format!("sgq-speed-{}", std::process::id());
    let table = folder.join(format!("{name}.csv"));
    write_csv(&table, rows)?;
    let options = csv::Options::new("user", "target");
    measure("CSV", &table, || Ok(csv::read(&table, &options)?))?;
    fs::remove_file(&table)?;
    let sparse = folder.join(format!("{name}.svm"));
    write_libsvm(&sparse, rows)?;
    let options = libsvm::Options::new(libsvm::Users::Blocks(100.min(rows)));
    measure("LIBSVM", &sparse, || Ok(libsvm::read(&sparse, &options)?))?;
    fs::remove_file(&sparse)?;
    Ok(())
}

/// A user, a target, seven numbers and a column with five levels.
fn write_csv(path: &Path, rows: usize) -> Result<(), Box<dyn Error>> {
    let mut random = Random::new(1, "csv");
    let mut file = BufWriter::new(File::create(path)?);
    writeln!(file, "user,target,a,b,c,d,e,f,g,kind")?;
    for _ in 0..rows {
        write!(file, "{}", random.index(100))?;
        for _ in 0..8 {
            write!(file, ",{:.6}", 10.0 * random.unit() - 5.0)?;
        }
        writeln!(file, ",{}", ["red", "green", "blue", "white", "black"][random.index(5)])?;
    }
    Ok(file.flush()?)
}

/// Thirty of about a thousand features.
fn write_libsvm(path: &Path, rows: usize) -> Result<(), Box<dyn Error>> {
    let mut random = Random::new(1, "libsvm");
    let mut file = BufWriter::new(File::create(path)?);
    for _ in 0..rows {
        write!(file, "{}", ["-1", "+1"][random.index(2)])?;
        let mut index = 0;
        for _ in 0..30 {
            index += 1 + random.index(66);
            write!(file, " {index}:{:.6}", random.unit())?;
        }
        writeln!(file)?;
    }
    Ok(file.flush()?)
}

fn measure(what: &str, path: &Path, read: impl Fn() -> Result<Dataset, Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
    let megabytes = fs::metadata(path)?.len() as f64 / 1e6;
    let mut best = f64::INFINITY;
    let mut shape = String::new();
    for _ in 0..3 {
        let started = Instant::now();
        let data = read()?;
        best = best.min(started.elapsed().as_secs_f64());
        shape = format!("{} rows, {} columns, {} users", data.rows_total, data.column_names.len(), data.users());
    }
    println!("{what}: {shape}: {megabytes:.0} MB in {best:.2} s (best of 3), {:.0} MB/s", megabytes / best);
    Ok(())
}
