//! The command of a worker, looked for before any task is: one that cannot be started would take tasks for nothing.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Says what is wrong with a program that is not there or cannot be executed.
pub fn check(program: &OsStr) -> Result<(), &'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    look(Path::new(program), &std::env::split_paths(&path).collect::<Vec<_>>())
}

fn look(program: &Path, path: &[PathBuf]) -> Result<(), &'static str> {
    let named = program.components().count() > 1 || program.is_absolute();
    let places = if named { vec![program.to_owned()] } else { path.iter().map(|folder| folder.join(program)).collect() };
    let files: Vec<_> = places.iter().filter_map(|place| std::fs::metadata(place).ok()).filter(|found| !found.is_dir()).collect();
    if files.iter().any(|file| file.permissions().mode() & 0o111 != 0) {
        return Ok(());
    }
    match (files.is_empty(), named) {
        (false, _) => Err("may not be executed; make it so with chmod +x"),
        (true, true) if program.is_dir() => Err("is a folder, not a program"),
        (true, true) => Err("is not there"),
        (true, false) => Err("is not on PATH"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_or_it_is_said_why_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (name, mode) in [("yes", 0o755), ("no", 0o644)] {
            std::fs::write(at(name), "").unwrap();
            std::fs::set_permissions(at(name), std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let path = [PathBuf::from("/nowhere"), folder.path().to_owned()];
        for (program, found) in [
            (PathBuf::from("yes"), "found"),
            (at("yes"), "found"),
            (PathBuf::from("no"), "may not be executed; make it so with chmod +x"),
            (at("no"), "may not be executed; make it so with chmod +x"),
            (PathBuf::from("nosuchcmd"), "is not on PATH"),
            (at("nosuchcmd"), "is not there"),
            (folder.path().to_owned(), "is a folder, not a program"),
            (PathBuf::from("./nosuchcmd"), "is not there"),
        ] {
            assert_eq!(look(&program, &path).err().unwrap_or("found"), found, "{}", program.display());
        }
    }
}
