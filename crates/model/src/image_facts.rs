//! Properties of an image that determine how its containers take live updates.

/// Read from the image's configuration and files, without starting a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageFacts {
    pub entrypoint: Vec<String>,
    pub command: Vec<String>,
    /// The working directory of the process. Empty: the root directory.
    pub working_directory: String,
    /// The user of its processes, unless a manifest overrides it.
    pub identity: Identity,
    pub has_shell: bool,
    pub has_tar: bool,
    /// Where its live updates write to.
    pub targets: Vec<SyncTarget>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    pub user: u64,
    pub group: u64,
}

/// Where one `sync` writes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncTarget {
    /// The directory that files are written to.
    pub directory: String,
    /// The file, if only one is synced.
    pub file: Option<String>,
    /// Permissions of the directory, or of its nearest existing parent.
    pub access: Access,
    /// Permissions of the directories in it that differ, without duplicates.
    pub inner: Vec<Access>,
}

/// Who may write to something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    pub owner: Identity,
    pub mode: u32,
}

impl Access {
    /// Returns whether a user without root permissions may write.
    pub fn lets_write(&self, who: Identity) -> bool {
        let bit = match who {
            who if who.user == self.owner.user => 0o200,
            who if who.group == self.owner.group => 0o020,
            _ => 0o002,
        };
        self.mode & bit != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_specific_permission_class_counts() {
        let access = Access { owner: Identity { user: 5, group: 7 }, mode: 0o575 };
        assert!(!access.lets_write(Identity { user: 5, group: 7 }), "the owner may less than the group");
        assert!(access.lets_write(Identity { user: 1, group: 7 }));
        assert!(!access.lets_write(Identity { user: 1, group: 1 }));
    }
}
