//! The files that published figures are made of: taken from a run's folder, kept in docs/results.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use super::random;

/// What is kept; nothing of a run that was not taken in yet.
pub struct Kept {
    pub benchmark: Option<Files>,
    /// The summary of the ablation's run.
    pub ablation: Option<String>,
}

impl Kept {
    pub fn read(folder: &Path) -> Result<Self, String> {
        let ablation = folder.join(ABLATION_FILE);
        let ablation = if ablation.exists() { Some(read(&ablation)?) } else { None };
        Ok(Self { benchmark: Files::kept(folder)?, ablation })
    }

    /// What to write into the folder, by name.
    pub fn to_keep(&self) -> Vec<(String, &str)> {
        let ablation = self.ablation.iter().map(|text| (ABLATION_FILE.to_owned(), &**text));
        self.benchmark.iter().flat_map(Files::to_keep).chain(ablation).collect()
    }
}

pub const ABLATION_FILE: &str = "ablation.csv";

/// The texts of the benchmark's files, by what they hold.
pub struct Files {
    pub summary: String,
    pub tuning: String,
    pub limit: String,
    /// What the sets are, from `scripts/datasets.py`.
    pub sets: String,
    /// The summaries of runs of `sgq bench random`, by name.
    pub random: BTreeMap<String, String>,
}

impl Files {
    /// Those that are kept; none where no run was taken in yet.
    fn kept(folder: &Path) -> Result<Option<Self>, String> {
        if !folder.join("summary.csv").exists() {
            return Ok(None);
        }
        let mut random = BTreeMap::new();
        for entry in fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
            let path = entry.map_err(|error| format!("{}: {error}", folder.display()))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if let Some(name) = name.strip_prefix("random-").and_then(|name| name.strip_suffix(".json")) {
                random.insert(name.to_owned(), read(&path)?);
            }
        }
        let text = |name: &str| read(&folder.join(name));
        let (summary, tuning, limit) = (text("summary.csv")?, text("tuning.csv")?, text("limit.csv")?);
        Ok(Some(Self { summary, tuning, limit, sets: text("sets.json")?, random }))
    }

    /// Those of a run of the benchmark. Runs on random problems stay as they were kept.
    pub fn of_run(run: &Path, index: &Path, kept: Option<Self>) -> Result<Self, String> {
        let text = |name: &str| read(&run.join(name));
        Ok(Self {
            summary: text("summary.csv")?,
            tuning: text("tuning.csv")?,
            limit: text("limit.csv")?,
            sets: read(index).map_err(|error| format!("{error}: python3 scripts/datasets.py makes it"))?,
            random: kept.map(|kept| kept.random).unwrap_or_default(),
        })
    }

    /// Takes in a run of `sgq bench random`.
    pub fn add_random(&mut self, name: &str, run: &Path) -> Result<(), String> {
        let file = run.join("summary.json");
        let small = random::without_cells(&read(&file)?).map_err(|error| format!("{}: {error}", file.display()))?;
        self.random.insert(name.to_owned(), small);
        Ok(())
    }

    fn to_keep(&self) -> Vec<(String, &str)> {
        let named = [("summary.csv", &self.summary), ("tuning.csv", &self.tuning), ("limit.csv", &self.limit)];
        let named = named.into_iter().chain([("sets.json", &self.sets)]).map(|(name, text)| (name.to_owned(), &**text));
        named.chain(self.random.iter().map(|(name, text)| (format!("random-{name}.json"), &**text))).collect()
    }
}

pub fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Replaces a file whole or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    fs::write(&new, bytes).and_then(|()| fs::rename(&new, path)).map_err(|error| format!("{}: {error}", path.display()))
}
