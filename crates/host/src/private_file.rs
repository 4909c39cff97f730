//! Reads files that hold secrets of the user.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use lilt_model::Failure;

use crate::error::Error;

/// The permission bits of other users.
const OTHERS: u32 = 0o077;

/// Reads a file that only the user may read and write; `None` if there is no such file. A file that others can read or
/// write is refused: its content may be known to them, or written by them.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let read_failure = |cause| Error::PrivateFile { path: path.to_owned(), cause };
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(read_failure(error).into()),
    };
    // Checks the open file: its path could lead to another file by now.
    let metadata = file.metadata().map_err(read_failure)?;
    check(path, metadata.uid(), metadata.mode(), rustix::process::geteuid().as_raw())?;
    let mut content = Vec::new();
    file.read_to_end(&mut content).map_err(read_failure)?;
    Ok(Some(content))
}

fn check(path: &Path, owner: u32, mode: u32, user: u32) -> Result<(), Error> {
    if owner != user {
        return Err(Error::ForeignFile { path: path.to_owned(), owner });
    }
    if mode & OTHERS != 0 {
        return Err(Error::OpenFile { path: path.to_owned(), mode: mode & 0o777 });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn file_with_user_only_mode_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        assert_eq!(read(&path), Ok(None));
        crate::files::save_private(&path, b"secret").unwrap();
        assert_eq!(read(&path), Ok(Some(b"secret".to_vec())));
    }

    #[test]
    fn file_open_to_others_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "secret").unwrap();
        for mode in [0o644, 0o640, 0o620, 0o602] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let failure = read(&path).unwrap_err().to_string();
            assert!(failure.contains(&format!("{} is open to other users (mode {mode:o})", path.display())));
            assert!(failure.contains(&format!("chmod 600 {}", path.display())), "{failure}");
        }
    }

    #[test]
    fn file_of_another_user_is_refused() {
        let path = Path::new("/home/me/token");
        let failure = Failure::from(check(path, 1001, 0o100_600, 1000).unwrap_err()).to_string();
        assert!(failure.contains("/home/me/token belongs to another user (id 1001)"), "{failure}");
        assert!(failure.contains("rm /home/me/token"), "{failure}");
        assert!(check(path, 1000, 0o100_600, 1000).is_ok());
    }
}
