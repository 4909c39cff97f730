//! Programs that stand in for those of users.

use std::path::PathBuf;

use lilt_testbed_env::{Project, Testbed};

/// Programs that come first on `PATH`. Each notes how it was called.
pub(crate) struct StandIns {
    folder: Project,
}

impl StandIns {
    /// (name, lines of shell).
    pub(crate) fn new(programs: &[(&str, &str)]) -> StandIns {
        let folder = Project::new(&[]);
        for (name, body) in programs {
            let calls = folder.file("calls");
            let script = format!("#!/bin/sh\necho {name} \"$@\" >> {}\n{body}\n", calls.display());
            folder.write(name, &script);
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(folder.file(name), mode).expect("its own file");
        }
        StandIns { folder }
    }

    /// The whole `PATH`, with these in front.
    pub(crate) fn path(&self) -> std::ffi::OsString {
        let paths = std::iter::once(self.folder.path().to_owned())
            .chain(std::env::split_paths(Testbed::get().path()))
            .collect::<Vec<PathBuf>>();
        std::env::join_paths(paths).expect("no folder has a colon in its name")
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        if !self.folder.exists("calls") {
            return Vec::new();
        }
        self.folder.read("calls").lines().map(str::to_owned).collect()
    }
}
