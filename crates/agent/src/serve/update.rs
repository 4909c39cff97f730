//! One burst of changes. Contents are written aside first; when all are there, they are put in their places by renames.
//! What fails before that leaves everything as it was.

mod aside;
mod going;
mod look;
mod mounts;
mod reach;
mod settle;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use lilt_agent::Digest;
use lilt_agent::chunks;
use lilt_agent::protocol::{Entry, Has, Kind, Piece, Update, Want};

use super::exists;
use super::memory::Memory;
use super::place::Places;
use crate::problem::{About, Problem};
use aside::Aside;
pub(super) use aside::set_time;
use going::Going;
use look::{Found, digest_of};
use reach::Reach;

pub(super) struct Transaction {
    removals: Vec<PathBuf>,
    /// What will not be there any more, or not as what it is, when everything is put in its place.
    vanishing: HashSet<PathBuf>,
    /// Of which some only become empty.
    going: Going,
    steps: Vec<Step>,
    /// Files whose content is to come, by their place among the entries. Not open yet: there may be more of them than
    /// files may be open.
    coming: BTreeMap<u32, Coming>,
    /// The one whose content is coming: pieces come file by file.
    open: Option<(u32, Aside)>,
    /// Where what is for a directory can be written aside.
    rooms: HashMap<PathBuf, PathBuf>,
    /// Big files that will be removed, by their size: one that only gets another name need not travel again.
    leaving: HashMap<u64, Vec<PathBuf>>,
    /// Files that will be there, worth remembering.
    files: Vec<(PathBuf, Digest)>,
    /// Directories that were made for what is written aside, outermost first.
    made: Vec<PathBuf>,
    /// Directories that were opened for it.
    reach: Reach,
    /// What went wrong first; from then on everything is ignored.
    problem: Option<Problem>,
}

/// A file that is awaited.
struct Coming {
    room: PathBuf,
    path: PathBuf,
    file: Wanted,
    /// Whether parts of what is there now are parts of it.
    builds_on_old: bool,
}

impl Coming {
    fn open(self) -> Result<Aside, Problem> {
        let aside = Aside::create(&self.room, &self.path, &self.file)?;
        if self.builds_on_old { aside.building_on(&self.path) } else { Ok(aside) }
    }
}

/// One entry, ready to be put in its place.
enum Step {
    Directory {
        path: PathBuf,
        mode: u32,
        modified: i64,
    },
    /// A file or a link lies aside.
    Rename {
        aside: PathBuf,
        path: PathBuf,
    },
    /// The content is right.
    Adjust {
        path: PathBuf,
        mode: u32,
        modified: i64,
    },
}

impl Step {
    fn aside(&self) -> Option<&Path> {
        match self {
            Self::Rename { aside, .. } => Some(aside),
            Self::Directory { .. } | Self::Adjust { .. } => None,
        }
    }
}

impl Transaction {
    pub(super) fn begin(update: &Update, places: &Places, memory: &Memory) -> (Self, Vec<Want>) {
        let mut transaction = Self {
            removals: update.removals.iter().map(|path| places.of(path)).collect(),
            vanishing: HashSet::new(),
            going: Going::new(),
            steps: Vec::new(),
            coming: BTreeMap::new(),
            open: None,
            rooms: HashMap::new(),
            leaving: HashMap::new(),
            files: Vec::new(),
            made: Vec::new(),
            reach: Reach::default(),
            problem: None,
        };
        let mut wants = Vec::new();
        if let Err(problem) = transaction.prepare(update, places, memory, &mut wants) {
            transaction.problem = Some(problem);
            wants.clear();
        }
        (transaction, wants)
    }

    fn prepare(
        &mut self,
        update: &Update,
        places: &Places,
        memory: &Memory,
        wants: &mut Vec<Want>,
    ) -> Result<(), Problem> {
        let directories: HashSet<PathBuf> =
            update.entries.iter().filter(|entry| !is_leaf(entry)).map(path_of).collect();
        for path in &self.removals {
            self.going.add(path, directories.contains(path), &mut self.reach)?;
        }
        for entry in &update.entries {
            self.reach.above(&places.of(&entry.path));
        }
        self.vanishing.extend(self.removals.iter().cloned());
        // Looked at once: there may be thousands of them.
        let places: Vec<PathBuf> = update.entries.iter().map(|entry| places.of(&entry.path)).collect();
        let there: Vec<Option<Metadata>> =
            places.iter().map(|path| fs::symlink_metadata(path).ok()).collect();
        for ((entry, path), about) in update.entries.iter().zip(&places).zip(&there) {
            if let Some(about) = about.as_ref().filter(|about| changes_kind(about, &entry.kind)) {
                self.going.may_make_room(path, about)?;
                self.vanishing.insert(path.clone());
            }
        }
        let leaves: HashSet<PathBuf> =
            update.entries.iter().filter(|entry| is_leaf(entry)).map(path_of).collect();
        // What is below goes with it; or it is a link that goes or becomes another, and what it leads to is not meant.
        let settled = |above: &Path| self.vanishing.contains(above) || leaves.contains(above);
        // But what is mounted there is somebody's own, and loses its content only if that was told.
        let told = |path: &Path| self.going.is_mounted(path);
        self.removals.retain(|path| told(path) || !path.ancestors().skip(1).any(settled));
        self.leaving = big_files(&self.removals);
        let found = places.into_iter().zip(there);
        for ((entry, index), (path, about)) in update.entries.iter().zip(0..).zip(found) {
            // Below a file there is nothing, and what is below a link has another path, too.
            if Path::new(&entry.path).ancestors().skip(1).any(|above| leaves.contains(above)) {
                continue;
            }
            match &entry.kind {
                Kind::Directory { mode, modified } => {
                    self.steps.push(Step::Directory { path, mode: *mode, modified: *modified });
                }
                Kind::Link { target, modified } => {
                    let aside = self.room_for(&path)?;
                    aside::link(&aside, &path, target, *modified)?;
                    self.steps.push(Step::Rename { aside, path });
                }
                Kind::File { mode, modified, size, digest } => {
                    let file = Wanted { mode: *mode, modified: *modified, size: *size, digest: *digest };
                    let found = look::look(&path, about.as_ref(), &file, memory);
                    wants.extend(self.prepare_file(path, index, file, found)?);
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
        found: Found,
    ) -> Result<Option<Want>, Problem> {
        self.files.push((path.clone(), file.digest));
        // One that goes with its directory must come back with the other.
        let stays = !path.ancestors().any(|above| self.vanishing.contains(above));
        if stays && matches!(&found, Found::Same { own: true }) {
            self.steps.push(Step::Adjust { path, mode: file.mode, modified: file.modified });
            return Ok(None);
        }
        let room = self.room_for(&path)?;
        self.steps.push(Step::Rename { aside: room.clone(), path: path.clone() });
        let same = match &found {
            Found::Same { .. } => Some(path.clone()),
            Found::Other(_) => self.same_content(&file),
        };
        match (same, found) {
            (Some(same), _) => Aside::create(&room, &path, &file)?.copy_from(&same).map(|()| None),
            (None, Found::Same { .. }) => Ok(None),
            (None, Found::Other(has)) => {
                let builds_on_old = has != Has::Nothing;
                self.coming.insert(entry, Coming { room, path, file, builds_on_old });
                Ok(Some(Want { entry, has }))
            }
        }
    }

    /// A file with this content that is on its way out.
    fn same_content(&self, file: &Wanted) -> Option<PathBuf> {
        let is_it = |path: &&PathBuf| digest_of(path).is_ok_and(|digest| digest == file.digest);
        self.leaving.get(&file.size)?.iter().find(is_it).cloned()
    }

    /// Where something for this path can be written aside: in the directory it will be in, so that a rename does it. If
    /// that cannot be made yet, because something is in its way, in the nearest one that is there and stays: that is of the same
    /// file system, for what is mounted stays.
    fn room_for(&mut self, path: &Path) -> Result<PathBuf, Problem> {
        self.going.may_be_renamed_to(path)?;
        let folder = path.parent().unwrap_or(Path::new("/"));
        let room = match self.rooms.get(folder) {
            Some(room) => room.clone(),
            None => {
                let room = self.make_room(folder)?;
                self.rooms.insert(folder.to_owned(), room.clone());
                room
            }
        };
        Ok(room.join(aside::name(path)))
    }

    fn make_room(&mut self, folder: &Path) -> Result<PathBuf, Problem> {
        let mut room = Path::new("/");
        let mut above: Vec<&Path> = folder.ancestors().collect();
        above.reverse();
        let mut goes = false;
        for folder in above {
            goes |= self.vanishing.contains(folder);
            if (goes && !self.going.stays(folder)) || (exists(folder) && !folder.is_dir()) {
                break;
            }
            if !folder.is_dir() {
                fs::create_dir(folder).about(folder)?;
                self.made.push(folder.to_owned());
            }
            room = folder;
        }
        Ok(room.to_owned())
    }

    pub(super) fn take(&mut self, piece: &Piece) {
        if self.problem.is_none() {
            self.problem = self.write(piece).err();
        }
    }

    fn write(&mut self, piece: &Piece) -> Result<(), Problem> {
        let (Piece::Fresh { entry, .. } | Piece::Old { entry, .. }) = piece;
        if self.open.as_ref().is_none_or(|(open, _)| open != entry) {
            self.finish_open()?;
            let unknown = || Problem::new("a piece of a file came", "that file was not asked for");
            let aside = self.coming.remove(entry).ok_or_else(unknown)?.open()?;
            self.open = Some((*entry, aside));
        }
        self.open.as_mut().map_or(Ok(()), |(_, aside)| aside.write(piece))
    }

    fn finish_open(&mut self) -> Result<(), Problem> {
        self.open.take().map_or(Ok(()), |(_, aside)| aside.finish())
    }

    /// Puts everything in its place, or nothing. Gives the files that are there now, worth remembering.
    pub(super) fn commit(mut self) -> Result<Vec<(PathBuf, Digest)>, Problem> {
        if let Some(problem) = self.problem.take() {
            return Err(problem);
        }
        self.finish_open()?;
        // Those without content, of which no piece came.
        for (_, coming) in std::mem::take(&mut self.coming) {
            coming.open()?.finish()?;
        }
        self.made.clear();
        let steps = std::mem::take(&mut self.steps);
        settle::settle(&self.removals, &self.going, &steps, &mut self.reach)?;
        Ok(std::mem::take(&mut self.files))
    }
}

impl Drop for Transaction {
    /// What was not committed leaves nothing behind. There is nobody left to tell what cannot be removed; the next update
    /// of the same file writes to the same place.
    fn drop(&mut self) {
        for aside in self.steps.iter().filter_map(Step::aside) {
            let _ = fs::remove_file(aside);
        }
        for directory in self.made.iter().rev() {
            let _ = fs::remove_dir(directory);
        }
        self.reach.close();
    }
}

/// How a file shall be.
struct Wanted {
    mode: u32,
    modified: i64,
    size: u64,
    digest: Digest,
}

/// The files at and below some paths that are worth some effort, by their size. What cannot be read is of no use.
fn big_files(paths: &[PathBuf]) -> HashMap<u64, Vec<PathBuf>> {
    let mut found: HashMap<u64, Vec<PathBuf>> = HashMap::new();
    let mut open = paths.to_vec();
    while let Some(path) = open.pop() {
        let Ok(about) = fs::symlink_metadata(&path) else { continue };
        if about.is_dir() {
            open.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        } else if about.is_file() && about.len() >= chunks::WORTH_CUTTING as u64 {
            found.entry(about.len()).or_default().push(path);
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

/// Whether something else lies there, which must go first.
fn changes_kind(about: &Metadata, kind: &Kind) -> bool {
    about.is_dir() != matches!(kind, Kind::Directory { .. })
}
