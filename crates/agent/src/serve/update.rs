//! Applies one update. Contents are written to staged files first; when all have arrived, they are renamed to their
//! paths. An earlier failure leaves everything unchanged.

mod commit;
mod mounts;
mod permissions;
mod present_file;
mod removal;
mod staged_file;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use lilt_agent::Digest;
use lilt_agent::chunks;
use lilt_agent::protocol::{Entry, Kind, MissingFile, Piece, PresentContent, Update};

use super::exists;
use super::write_paths::WritePaths;
use super::written_files::WrittenFiles;
use crate::error::{AgentError, WithPath};
use permissions::OpenedDirectories;
use present_file::{PresentFile, digest_of};
use removal::RemovalPlan;
use staged_file::StagedFile;
pub(super) use staged_file::set_time;

pub(super) struct Transaction {
    removals: Vec<PathBuf>,
    /// Paths that will be removed or replaced by another type at the commit.
    removed: HashSet<PathBuf>,
    /// How to remove them: some directories are only emptied.
    removal: RemovalPlan,
    steps: Vec<Step>,
    /// Files whose content will arrive, by the index of the entry. Not opened yet: there may be more of them than the
    /// limit of open files.
    pending: BTreeMap<u32, PendingFile>,
    /// The file whose pieces are arriving: files arrive one after the other.
    open: Option<(u32, StagedFile)>,
    /// The directory for the staged files of each target directory.
    staging_folders: HashMap<PathBuf, PathBuf>,
    /// Big files that will be removed, by their size: a renamed file need not be sent again.
    big_removed_files: HashMap<u64, Vec<PathBuf>>,
    /// The files of the update, to be recorded with their digests.
    files: Vec<(PathBuf, Digest)>,
    /// Directories that were created for staged files, outermost first.
    created_directories: Vec<PathBuf>,
    /// Directories whose permissions were extended.
    opened: OpenedDirectories,
    /// The first error; from then on all pieces are ignored.
    error: Option<AgentError>,
}

/// A file whose content will arrive.
struct PendingFile {
    staging: PathBuf,
    path: PathBuf,
    file: Wanted,
    /// Whether the content reuses parts of the present file.
    reuses_present: bool,
}

impl PendingFile {
    fn open(self) -> Result<StagedFile, AgentError> {
        let staged = StagedFile::create(&self.staging, &self.path, &self.file)?;
        if self.reuses_present { staged.reusing(&self.path) } else { Ok(staged) }
    }
}

/// One change to apply at the commit.
enum Step {
    Directory {
        path: PathBuf,
        mode: u32,
        modified: i64,
    },
    /// Renames a staged file or link.
    Rename {
        staged: PathBuf,
        path: PathBuf,
    },
    /// Sets mode and time of a file whose content is right.
    Adjust {
        path: PathBuf,
        mode: u32,
        modified: i64,
    },
}

impl Step {
    fn staged(&self) -> Option<&Path> {
        match self {
            Self::Rename { staged, .. } => Some(staged),
            Self::Directory { .. } | Self::Adjust { .. } => None,
        }
    }
}

impl Transaction {
    pub(super) fn begin(
        update: &Update,
        paths: &WritePaths,
        written_files: &WrittenFiles,
    ) -> (Self, Vec<MissingFile>) {
        let mut transaction = Self {
            removals: update.removals.iter().map(|path| paths.of(path)).collect(),
            removed: HashSet::new(),
            removal: RemovalPlan::new(),
            steps: Vec::new(),
            pending: BTreeMap::new(),
            open: None,
            staging_folders: HashMap::new(),
            big_removed_files: HashMap::new(),
            files: Vec::new(),
            created_directories: Vec::new(),
            opened: OpenedDirectories::default(),
            error: None,
        };
        let mut missing = Vec::new();
        if let Err(error) = transaction.prepare(update, paths, written_files, &mut missing) {
            transaction.error = Some(error);
            missing.clear();
        }
        (transaction, missing)
    }

    fn prepare(
        &mut self,
        update: &Update,
        paths: &WritePaths,
        written_files: &WrittenFiles,
        missing: &mut Vec<MissingFile>,
    ) -> Result<(), AgentError> {
        let directories: HashSet<PathBuf> =
            update.entries.iter().filter(|entry| !is_leaf(entry)).map(path_of).collect();
        for path in &self.removals {
            self.removal.add(path, directories.contains(path), &mut self.opened)?;
        }
        for entry in &update.entries {
            self.opened.above(&paths.of(&entry.path));
        }
        self.removed.extend(self.removals.iter().cloned());
        // Read only once: there may be thousands of them.
        let paths: Vec<PathBuf> = update.entries.iter().map(|entry| paths.of(&entry.path)).collect();
        let present: Vec<Option<Metadata>> =
            paths.iter().map(|path| fs::symlink_metadata(path).ok()).collect();
        for ((entry, path), metadata) in update.entries.iter().zip(&paths).zip(&present) {
            if let Some(metadata) = metadata.as_ref().filter(|metadata| changes_kind(metadata, &entry.kind)) {
                self.removal.check_removable(path, metadata)?;
                self.removed.insert(path.clone());
            }
        }
        let leaves: HashSet<PathBuf> =
            update.entries.iter().filter(|entry| is_leaf(entry)).map(path_of).collect();
        // Entries below are removed with it; or it is a link that is removed or replaced, whose target is not meant.
        let is_below_removed = |above: &Path| self.removed.contains(above) || leaves.contains(above);
        // But a mounted volume loses its content only if its own path is in the removals.
        let is_removed_mount = |path: &Path| self.removal.is_mounted(path);
        self.removals
            .retain(|path| is_removed_mount(path) || !path.ancestors().skip(1).any(is_below_removed));
        self.big_removed_files = big_files(&self.removals);
        let found = paths.into_iter().zip(present);
        for ((entry, index), (path, metadata)) in update.entries.iter().zip(0..).zip(found) {
            // Nothing is below a file, and entries below a link have another path.
            if Path::new(&entry.path).ancestors().skip(1).any(|above| leaves.contains(above)) {
                continue;
            }
            match &entry.kind {
                Kind::Directory { mode, modified } => {
                    self.steps.push(Step::Directory { path, mode: *mode, modified: *modified });
                }
                Kind::Link { target, modified } => {
                    let staged = self.staged_path(&path)?;
                    staged_file::link(&staged, &path, target, *modified)?;
                    self.steps.push(Step::Rename { staged, path });
                }
                Kind::File { mode, modified, size, digest } => {
                    let file = Wanted { mode: *mode, modified: *modified, size: *size, digest: *digest };
                    let found = present_file::inspect(&path, metadata.as_ref(), &file, written_files);
                    missing.extend(self.prepare_file(path, index, file, found)?);
                }
            }
        }
        Ok(())
    }

    fn prepare_file(
        &mut self,
        path: PathBuf,
        entry: u32,
        file: Wanted,
        found: PresentFile,
    ) -> Result<Option<MissingFile>, AgentError> {
        self.files.push((path.clone(), file.digest));
        // A file whose directory is replaced must be created again.
        let stays = !path.ancestors().any(|above| self.removed.contains(above));
        if stays && matches!(&found, PresentFile::Same { own: true }) {
            self.steps.push(Step::Adjust { path, mode: file.mode, modified: file.modified });
            return Ok(None);
        }
        let staging = self.staged_path(&path)?;
        self.steps.push(Step::Rename { staged: staging.clone(), path: path.clone() });
        let same = match &found {
            PresentFile::Same { .. } => Some(path.clone()),
            PresentFile::Other(_) => self.same_content(&file),
        };
        match (same, found) {
            (Some(same), _) => StagedFile::create(&staging, &path, &file)?.copy_from(&same).map(|()| None),
            (None, PresentFile::Same { .. }) => Ok(None),
            (None, PresentFile::Other(present)) => {
                let reuses_present = present != PresentContent::Nothing;
                self.pending.insert(entry, PendingFile { staging, path, file, reuses_present });
                Ok(Some(MissingFile { entry, present }))
            }
        }
    }

    /// Returns a file with the same content that will be removed.
    fn same_content(&self, file: &Wanted) -> Option<PathBuf> {
        let is_it = |path: &&PathBuf| digest_of(path).is_ok_and(|digest| digest == file.digest);
        self.big_removed_files.get(&file.size)?.iter().find(is_it).cloned()
    }

    /// Returns the path of the staged file for a path. It is in the target directory, so that a rename suffices. If
    /// that cannot be created yet, it is in the nearest existing directory that is kept, which is on the same file
    /// system because mount points are kept.
    fn staged_path(&mut self, path: &Path) -> Result<PathBuf, AgentError> {
        self.removal.check_not_mounted(path)?;
        let folder = path.parent().unwrap_or(Path::new("/"));
        let staging = match self.staging_folders.get(folder) {
            Some(staging) => staging.clone(),
            None => {
                let staging = self.create_staging_folder(folder)?;
                self.staging_folders.insert(folder.to_owned(), staging.clone());
                staging
            }
        };
        Ok(staging.join(staged_file::name(path)))
    }

    fn create_staging_folder(&mut self, folder: &Path) -> Result<PathBuf, AgentError> {
        let mut staging = Path::new("/");
        let mut above: Vec<&Path> = folder.ancestors().collect();
        above.reverse();
        let mut is_removed = false;
        for folder in above {
            is_removed |= self.removed.contains(folder);
            if (is_removed && !self.removal.is_kept(folder)) || (exists(folder) && !folder.is_dir()) {
                break;
            }
            if !folder.is_dir() {
                fs::create_dir(folder).with_path(folder)?;
                self.created_directories.push(folder.to_owned());
            }
            staging = folder;
        }
        Ok(staging.to_owned())
    }

    pub(super) fn take(&mut self, piece: &Piece) {
        if self.error.is_none() {
            self.error = self.write(piece).err();
        }
    }

    fn write(&mut self, piece: &Piece) -> Result<(), AgentError> {
        let (Piece::Data { entry, .. } | Piece::Copy { entry, .. }) = piece;
        if self.open.as_ref().is_none_or(|(open, _)| open != entry) {
            self.finish_open()?;
            let unknown = || AgentError::new("a piece of a file came", "that file was not asked for");
            let staged = self.pending.remove(entry).ok_or_else(unknown)?.open()?;
            self.open = Some((*entry, staged));
        }
        self.open.as_mut().map_or(Ok(()), |(_, staged)| staged.write(piece))
    }

    fn finish_open(&mut self) -> Result<(), AgentError> {
        self.open.take().map_or(Ok(()), |(_, staged)| staged.finish())
    }

    /// Applies all changes, or none. Returns the written files with their digests.
    pub(super) fn commit(mut self) -> Result<Vec<(PathBuf, Digest)>, AgentError> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        self.finish_open()?;
        // Empty files, of which no piece arrived.
        for (_, pending) in std::mem::take(&mut self.pending) {
            pending.open()?.finish()?;
        }
        self.created_directories.clear();
        let steps = std::mem::take(&mut self.steps);
        commit::apply(&self.removals, &self.removal, &steps, &mut self.opened)?;
        Ok(std::mem::take(&mut self.files))
    }
}

impl Drop for Transaction {
    /// Removes staged files that were not committed. Errors are ignored; the next update of the same file uses the same
    /// path.
    fn drop(&mut self) {
        for staged in self.steps.iter().filter_map(Step::staged) {
            let _ = fs::remove_file(staged);
        }
        for directory in self.created_directories.iter().rev() {
            let _ = fs::remove_dir(directory);
        }
        self.opened.close();
    }
}

/// The desired state of a file.
struct Wanted {
    mode: u32,
    modified: i64,
    size: u64,
    digest: Digest,
}

/// Returns the big files at and below some paths by size. Unreadable ones are skipped.
fn big_files(paths: &[PathBuf]) -> HashMap<u64, Vec<PathBuf>> {
    let mut found: HashMap<u64, Vec<PathBuf>> = HashMap::new();
    let mut open = paths.to_vec();
    while let Some(path) = open.pop() {
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if metadata.is_dir() {
            open.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        } else if metadata.is_file() && metadata.len() >= chunks::MIN_SPLIT_SIZE as u64 {
            found.entry(metadata.len()).or_default().push(path);
        }
    }
    found
}

fn is_leaf(entry: &Entry) -> bool {
    !matches!(entry.kind, Kind::Directory { .. })
}

fn path_of(entry: &Entry) -> PathBuf {
    PathBuf::from(&entry.path)
}

/// Returns whether the present entry is of another type and must be removed first.
fn changes_kind(metadata: &Metadata, kind: &Kind) -> bool {
    metadata.is_dir() != matches!(kind, Kind::Directory { .. })
}
