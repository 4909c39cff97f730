//! A temporary project folder for one test.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::creator::Creator;

const PREFIX: &str = "lilt-test-";

/// A temporary folder that is removed with all its files when the value is dropped. What a killed test left is
/// removed by the next process that creates one.
#[derive(Debug)]
pub struct Project {
    path: PathBuf,
}

impl Project {
    /// Creates a folder with these files: (path in the folder, content).
    ///
    /// # Panics
    /// If a file cannot be written, as all of this type's functions do.
    pub fn new(files: &[(&str, &str)]) -> Project {
        static SWEPT: Once = Once::new();
        SWEPT.call_once(sweep);
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let this = Creator::this();
        let name =
            format!("{PREFIX}{}-{}-{}", this.pid, this.started, NUMBER.fetch_add(1, Ordering::Relaxed));
        // Real names, so that a test can compare them with what a file watcher or a Tiltfile reports.
        let parent = std::env::temp_dir().canonicalize().expect("there is a folder for temporary files");
        let project = Project { path: parent.join(name) };
        fs::create_dir(&project.path).unwrap_or_else(|error| panic!("{}: {error}", project.path.display()));
        for (file, content) in files {
            project.write(file, content);
        }
        project
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the absolute path of a file, whether it exists or not.
    pub fn file(&self, file: &str) -> PathBuf {
        self.path.join(file)
    }

    /// Writes a file, and creates its parent folders.
    pub fn write(&self, file: &str, content: &str) {
        let path = self.file(file);
        let folder = path.parent().expect("a file of the project is in a folder");
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, content));
        written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    pub fn read(&self, file: &str) -> String {
        let path = self.file(file);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub fn exists(&self, file: &str) -> bool {
        self.file(file).exists()
    }

    /// Removes a file, or a folder with its content.
    pub fn remove(&self, file: &str) {
        let path = self.file(file);
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        // If a program still writes into it, the next sweep removes it.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes the folders of processes that have ended.
fn sweep() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(marks) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else { continue };
        let mut marks = marks.split('-');
        let creator = marks.next().zip(marks.next()).and_then(|(pid, started)| Creator::parse(pid, started));
        if creator.is_some_and(|creator| !creator.is_alive()) {
            // Another process may sweep it at the same time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_read_and_removed() {
        let project = Project::new(&[("Tiltfile", "print(1)"), ("web/index.html", "hello")]);
        assert_eq!(project.read("web/index.html"), "hello");
        project.write("web/index.html", "changed");
        assert_eq!(fs::read_to_string(project.path().join("web/index.html")).unwrap(), "changed");
        project.remove("Tiltfile");
        assert!(!project.exists("Tiltfile"));
        project.remove("web");
        assert!(!project.exists("web/index.html"));
        assert_eq!(project.path().canonicalize().unwrap(), project.path());
    }

    #[test]
    fn projects_are_separate_and_removed_on_drop() {
        let (first, second) = (Project::new(&[("a", "1")]), Project::new(&[("a", "2")]));
        assert_ne!(first.path(), second.path());
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists());
        assert_eq!(second.read("a"), "2");
    }

    #[test]
    fn panic_removes_the_folder() {
        let mut path = PathBuf::new();
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let project = Project::new(&[("a", "1")]);
            project.path().clone_into(&mut path);
            project.read("no such file");
        }));
        assert!(result.is_err());
        assert!(path.is_absolute() && !path.exists());
    }

    #[test]
    fn folders_of_ended_processes_are_swept() {
        let ours = Project::new(&[]);
        let this = Creator::this();
        let dead = std::env::temp_dir().join(format!("{PREFIX}{}-{}-77", this.pid, this.started + 1));
        fs::create_dir_all(dead.join("inner")).unwrap();
        sweep();
        assert!(!dead.exists());
        assert!(ours.path().exists());
    }
}
