//! What is published: that every package has its files, and that the oldest compiler we claim is enough.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Component, Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// Looks at every published package without compiling it: the tests have compiled the same code.
pub fn check() -> Result<(), String> {
    let metadata = metadata()?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata has no packages")?;
    let members = metadata["workspace_members"].as_array().ok_or("cargo metadata has no members")?;
    let published: Vec<&Value> = packages
        .iter()
        // `publish = false` is an empty list of registries.
        .filter(|package| members.contains(&package["id"]) && package["publish"].is_null())
        .collect();
    let ours = published.iter().map(|package| text(package, "rust_version")).max().ok_or("nothing is published")?;
    for package in packages {
        let theirs = text(package, "rust_version");
        if version(theirs) > version(ours) {
            let (name, number) = (text(package, "name"), text(package, "version"));
            return Err(format!(
                "{name} {number} needs Rust {theirs}, and we claim {ours}: take an older one (cargo update {name} \
                 --precise …), or raise rust-version in Cargo.toml and in the README"
            ));
        }
    }
    for package in &published {
        let name = text(package, "name");
        let folder = Path::new(text(package, "manifest_path")).parent().ok_or("a manifest without a folder")?;
        let listed = cargo(&["package", "--list", "--allow-dirty", "--offline", "--package", name])?;
        // Cargo writes slashes everywhere but on Windows.
        let files: BTreeSet<PathBuf> = listed.lines().map(|line| PathBuf::from(line.replace('\\', "/"))).collect();
        complete(name, folder, &files)?;
    }
    let mut arguments = vec!["package", "--no-verify", "--allow-dirty", "--offline", "--quiet"];
    for package in &published {
        arguments.extend(["--package", text(package, "name")]);
    }
    cargo(&arguments).map(drop)
}

/// Whether a package has its licences, and everything that its code includes.
fn complete(name: &str, folder: &Path, files: &BTreeSet<PathBuf>) -> Result<(), String> {
    for file in ["LICENSE-APACHE", "LICENSE-MIT", "Cargo.lock"] {
        if !files.contains(Path::new(file)) {
            return Err(format!("the package {name} has no {file}"));
        }
    }
    for file in files.iter().filter(|file| file.extension().is_some_and(|it| it == "rs")) {
        let code = fs::read_to_string(folder.join(file)).map_err(|error| format!("{}: {error}", file.display()))?;
        for included in includes(&code) {
            let path = normal(&file.with_file_name(included));
            if !path.as_ref().is_some_and(|path| files.contains(path)) {
                return Err(format!("{name}: {} includes {included}, which is not in the package", file.display()));
            }
        }
    }
    Ok(())
}

/// The paths in `include_str!` and `include_bytes!`.
fn includes(code: &str) -> impl Iterator<Item = &str> {
    let after = ["include_str!(\"", "include_bytes!(\""].into_iter().flat_map(|start| code.split(start).skip(1));
    after.filter_map(|rest| rest.split('"').next()).filter(|path| !path.is_empty())
}

/// The path without `.` and `..`; none if it leaves the folder.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => normal.pop().then_some(())?,
            Component::CurDir => {}
            component => normal.push(component),
        }
    }
    Some(normal)
}

/// `1.88` or `1.88.1`, to compare.
fn version(text: &str) -> Vec<u64> {
    let mut numbers: Vec<u64> = text.split('.').map_while(|number| number.parse().ok()).collect();
    numbers.resize(3, 0);
    numbers
}

fn text<'a>(package: &'a Value, key: &str) -> &'a str {
    package[key].as_str().unwrap_or_default()
}

/// All packages that are compiled on this kind of machine: others need not have been downloaded.
fn metadata() -> Result<Value, String> {
    let rustc = run(Command::new(env::var("RUSTC").unwrap_or_else(|_| "rustc".into())).arg("-vV"))?;
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("rustc -vV names no host")?;
    let metadata = cargo(&["metadata", "--format-version", "1", "--locked", "--filter-platform", host])?;
    serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))
}

fn cargo(arguments: &[&str]) -> Result<String, String> {
    run(Command::new(env::var("CARGO").unwrap_or_else(|_| "cargo".into())).args(arguments))
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    if !output.status.success() {
        let name = command.get_program().display();
        return Err(format!("{name} ({}): {}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_included_must_be_inside() {
        let code =
            r#"const A: &str = include_str!("../a.toml"); #[doc = include_str!("../../b.md")] include_bytes!("c")"#;
        let included: Vec<_> =
            includes(code).map(|path| normal(&Path::new("src/lib.rs").with_file_name(path))).collect();
        assert_eq!(included, [Some("a.toml".into()), None, Some("src/c".into())]);
    }

    #[test]
    fn incomplete_packages_are_refused() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let files = |names: &[&str]| names.iter().map(PathBuf::from).collect();
        let all = ["LICENSE-APACHE", "LICENSE-MIT", "Cargo.lock", "src/main.rs"];
        assert_eq!(complete("it", folder, &files(&all)), Ok(()));
        assert_eq!(complete("it", folder, &files(&all[1..])), Err("the package it has no LICENSE-APACHE".into()));
        // The test above includes three files that are nowhere.
        let refusal = complete("it", folder, &files(&[&all[..], &["src/package.rs"]].concat())).unwrap_err();
        assert!(refusal.ends_with("includes ../a.toml, which is not in the package"), "{refusal}");
    }

    #[test]
    fn versions_are_numbers() {
        assert!(version("1.100") > version("1.88") && version("1.88") == version("1.88.0"));
        assert!(version("1.88.1") > version("1.88") && version("") < version("1.0"));
    }
}
