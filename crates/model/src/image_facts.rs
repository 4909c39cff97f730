//! What an image was found to be, as far as it decides how its containers take live updates.

/// Found in its configuration and among its files; nothing was started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageFacts {
    pub entrypoint: Vec<String>,
    pub command: Vec<String>,
    /// Where that is started; empty: in the root directory.
    pub working_directory: String,
    /// Who its processes are, unless a manifest says otherwise.
    pub identity: Identity,
    pub has_shell: bool,
    pub has_tar: bool,
    /// Where its live updates write.
    pub targets: Vec<SyncTarget>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    pub user: u64,
    pub group: u64,
}

/// Where one `sync` writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncTarget {
    /// The directory that files are put into.
    pub directory: String,
    /// The only file that is, if it is one.
    pub file: Option<String>,
    /// Of the directory, or of the nearest one above that the image has.
    pub access: Access,
    /// Of the directories in it, where they differ; each once.
    pub inner: Vec<Access>,
}

/// Who may write to something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    pub owner: Identity,
    pub mode: u32,
}

impl Access {
    /// Whether somebody without the rights of root may.
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
    fn the_nearest_class_decides() {
        let access = Access { owner: Identity { user: 5, group: 7 }, mode: 0o575 };
        assert!(!access.lets_write(Identity { user: 5, group: 7 }), "the owner may less than the group");
        assert!(access.lets_write(Identity { user: 1, group: 7 }));
        assert!(!access.lets_write(Identity { user: 1, group: 1 }));
    }
}
