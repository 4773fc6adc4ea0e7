//! The house in order: dependencies point one way, nothing is called by a grab-bag name, no file grows out of sight,
//! every module says what it is for, and nothing unfinished is left standing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Which crates of ours each crate may use. A new edge belongs here first, with a reason.
const EDGES: [(&str, &[&str]); 9] = [
    ("kernel", &[]),
    ("flow", &["kernel"]),
    ("store", &["kernel"]),
    ("engine", &["kernel", "flow", "store"]),
    ("doors", &["kernel", "flow", "store", "engine"]),
    ("workers", &["kernel", "flow", "store", "engine"]),
    ("sim", &["kernel", "flow", "store", "engine"]),
    ("bench", &["kernel", "flow", "store", "engine", "doors"]),
    ("cli", &["kernel", "flow", "store", "engine", "doors", "workers", "bench"]),
];

/// The kernel asks nobody: no async runtime, no database, no clock, no randomness can come in by a dependency.
const KERNEL_DEPENDENCIES: [&str; 5] = ["rustc-hash", "serde", "serde_json", "slab", "thiserror"];
const KERNEL_FORBIDDEN: [&str; 7] =
    ["std::time::", "SystemTime", "Instant::now", "std::fs", "std::net", "std::thread", "async fn"];

const GRAB_BAGS: [&str; 9] = ["utils", "util", "common", "helpers", "helper", "services", "service", "manager", "misc"];
const FILE_LINES_MAX: usize = 800;
// Put together here, so that this file does not find itself.
const UNFINISHED: [&str; 5] =
    [concat!("FIX", "ME"), concat!("TO", "DO"), concat!("dbg", "!("), concat!("todo", "!("), concat!("unimplemented", "!(")];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace is there")
}

fn rust_files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a folder of the workspace can be read") {
        let path = entry.expect("its entries too").path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
}

/// Dependencies by crate: (name, is it a dev-dependency).
fn dependencies() -> BTreeMap<String, Vec<(String, bool)>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let packages = metadata["packages"].as_array().expect("it lists packages");
    let dependency =
        |dep: &serde_json::Value| (dep["name"].as_str().expect("a dependency has a name").to_owned(), dep["kind"] == "dev");
    let of_package = |package: &serde_json::Value| {
        let deps = package["dependencies"].as_array().expect("a package lists dependencies");
        (package["name"].as_str().expect("a package has a name").to_owned(), deps.iter().map(dependency).collect())
    };
    packages.iter().map(of_package).collect()
}

#[test]
fn dependencies_point_one_way() {
    let found = dependencies();
    let known: Vec<&str> = EDGES.iter().map(|(name, _)| *name).collect();
    let mut wrong: Vec<String> = found
        .keys()
        .filter(|name| !known.contains(&name.as_str()))
        .map(|name| format!("crate {name} is not in the table"))
        .collect();
    for (name, allowed) in EDGES {
        for (dep, dev) in found.get(name).into_iter().flatten() {
            let ours = known.contains(&dep.as_str());
            if ours && !*dev && !allowed.contains(&dep.as_str()) {
                wrong.push(format!("{name} may not use {dep}"));
            }
            if name == "kernel" && !*dev && !KERNEL_DEPENDENCIES.contains(&dep.as_str()) {
                wrong.push(format!("the kernel may not use {dep}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_tree_reads_well() {
    let mut files = Vec::new();
    rust_files(&root().join("crates"), &mut files);
    assert!(files.len() > 50, "the tree was found");
    let mut wrong = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a source file is text");
        let shown = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        if shown.split('/').any(|part| GRAB_BAGS.contains(&part)) || GRAB_BAGS.contains(&stem) {
            wrong.push(format!("{shown}: says nothing about what is in it"));
        }
        let lines = text.lines().count();
        if lines > FILE_LINES_MAX {
            wrong.push(format!("{shown}: {lines} lines, more than {FILE_LINES_MAX}"));
        }
        // The tests of a module stand beside it and need no words of their own.
        if !text.starts_with("//!") && stem != "tests" {
            wrong.push(format!("{shown}: does not open with //! and what it is for"));
        }
        for mark in UNFINISHED.iter().filter(|mark| text.contains(**mark)) {
            wrong.push(format!("{shown}: holds `{mark}`"));
        }
        if shown.starts_with("crates/kernel/src") {
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for asks in KERNEL_FORBIDDEN.iter().filter(|asks| code.contains(**asks)) {
                wrong.push(format!("{shown}: the kernel asks the world by `{asks}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
