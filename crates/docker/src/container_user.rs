//! Resolves the user of a container: numbers, or names in the container's own files. The engine's host knows other
//! users.

use http::{HeaderMap, Method};
use lilt_model::Failure;
use lilt_model::image_facts::Identity;
use serde::Deserialize;

use crate::engine::{Engine, encode_path, refusal};
use crate::image_reader::ImageReader;

/// The size of a tar header, and the unit to which content is padded.
const BLOCK: usize = 512;

impl ImageReader<'_> {
    /// Resolves the user of an image or a container, such as `node`, `1234` or `node:staff`; none if its files do not
    /// contain the name.
    pub async fn identity(&self, user: &str) -> Result<Option<Identity>, Failure> {
        let (user, group) = user.split_once(':').unwrap_or((user, ""));
        let users = match user.parse::<u64>() {
            Ok(_) if !group.is_empty() => String::new(),
            _ if user.is_empty() => String::new(),
            _ => self.read("/etc/passwd").await?.unwrap_or_default(),
        };
        let groups = match group.parse::<u64>() {
            Err(_) if !group.is_empty() => self.read("/etc/group").await?.unwrap_or_default(),
            _ => String::new(),
        };
        Ok(resolve(user, group, &users, &groups))
    }
}

impl Engine {
    /// Returns the user that a container runs as.
    pub(crate) async fn container_user(&self, container: &str) -> Result<Identity, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Inspected {
            config: Config,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Config {
            #[serde(default)]
            user: String,
        }
        let path = format!("/containers/{}/json", encode_path(container));
        let response = self.request(Method::GET, &path, HeaderMap::new()).await?;
        if !response.status.is_success() {
            return Err(refusal(response, "the Docker engine cannot tell as whom a container runs").await);
        }
        let Inspected { config: Config { user } } = self.read(&path, response).await?;
        let identity = ImageReader::at(self, container).identity(&user).await?;
        identity.ok_or_else(|| {
            Failure::user(format!("the container runs as {user}, which its /etc/passwd or /etc/group lacks"))
                .hint("name its user by numbers, such as USER 1000:1000 or runAsUser and runAsGroup")
        })
    }
}

fn resolve(user: &str, group: &str, users: &str, groups: &str) -> Option<Identity> {
    let entry = |line: &str| {
        let fields: Vec<&str> = line.split(':').collect();
        let numbers =
            (fields.get(2)?.parse::<u64>().ok()?, fields.get(3).and_then(|it| it.parse::<u64>().ok()));
        Some((fields[0].to_owned(), numbers))
    };
    let known = users
        .lines()
        .filter_map(entry)
        .find(|(name, (number, _))| name == user || user.parse::<u64>().is_ok_and(|user| user == *number));
    let number = match (user, &known) {
        ("", _) => 0,
        (_, Some((_, (number, _)))) => *number,
        (user, None) => user.parse().ok()?,
    };
    let named =
        || groups.lines().filter_map(entry).find(|(name, _)| name == group).map(|(_, (number, _))| number);
    let group = match group {
        "" => known.and_then(|(_, (_, group))| group).unwrap_or(0),
        group => group.parse().ok().or_else(named)?,
    };
    Some(Identity { user: number, group })
}

/// Sets the owner of everything in an archive.
pub(crate) fn set_owner(archive: &mut [u8], owner: Identity) -> Result<(), Failure> {
    let broken =
        |error: &dyn std::fmt::Display| Failure::internal(format!("an archive is malformed: {error}"));
    let mut rest = archive;
    while let Some((block, following)) = rest.split_at_mut_checked(BLOCK) {
        // An empty header marks the end.
        if block.iter().all(|byte| *byte == 0) {
            break;
        }
        let mut header = tar::Header::new_old();
        header.as_mut_bytes().copy_from_slice(block);
        let size = header.entry_size().map_err(|error| broken(&error))?;
        header.set_uid(owner.user);
        header.set_gid(owner.group);
        header.set_cksum();
        block.copy_from_slice(header.as_bytes());
        let size = usize::try_from(size).unwrap_or(usize::MAX).checked_next_multiple_of(BLOCK);
        let content = size.and_then(|size| following.split_at_mut_checked(size));
        rest = content.ok_or_else(|| broken(&"it ends too early"))?.1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_is_resolved_by_number_or_name() {
        let users =
            "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65533:nonroot:/home:/sbin/nologin\n";
        let groups = "root:x:0:\nstaff:x:50:\n";
        let who = |user: &str, group: &str| {
            resolve(user, group, users, groups).map(|Identity { user, group }| (user, group))
        };
        assert_eq!(who("", ""), Some((0, 0)));
        assert_eq!(who("65532", ""), Some((65532, 65533)));
        assert_eq!(who("1234", ""), Some((1234, 0)));
        assert_eq!(who("nonroot", ""), Some((65532, 65533)));
        assert_eq!(who("nonroot", "staff"), Some((65532, 50)));
        assert_eq!(who("1234", "7"), Some((1234, 7)));
        assert_eq!(who("stranger", ""), None);
        assert_eq!(who("nonroot", "strangers"), None);
    }

    #[test]
    fn owner_is_set_for_the_whole_archive() {
        let mut builder = tar::Builder::new(Vec::new());
        // The long one has a header more, and the second fills its blocks to the last byte.
        let (long, full) = ("a/".repeat(120), "x".repeat(2 * BLOCK));
        for (path, text) in [(format!("{long}one"), "1"), ("two".to_owned(), &full), ("three".to_owned(), "")]
        {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o640);
            builder.append_data(&mut header, path, text.as_bytes()).unwrap();
        }
        let mut archive = builder.into_inner().unwrap();
        set_owner(&mut archive, Identity { user: 3_000_000, group: 99 }).unwrap();
        let mut archive = tar::Archive::new(archive.as_slice());
        let entries = archive.entries().unwrap().map(Result::unwrap).map(|entry| {
            let header = entry.header();
            let path = entry.path().unwrap().to_string_lossy().into_owned();
            (path, header.uid().unwrap(), header.gid().unwrap(), header.mode().unwrap())
        });
        let expected = [format!("{long}one"), "two".to_owned(), "three".to_owned()];
        assert_eq!(entries.collect::<Vec<_>>(), expected.map(|path| (path, 3_000_000, 99, 0o640)));
        assert!(set_owner(&mut [1; BLOCK], Identity::default()).is_err());
    }
}
