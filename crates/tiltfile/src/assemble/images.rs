//! Which images a resource needs built, in which order, and which of them nobody needs.

use lilt_model::files::{FileSet, IgnoreRule};
use lilt_model::image::ImageTarget;
use lilt_model::{Failure, ImageName};

use super::Problems;
use crate::declare::ImageDeclaration;
use crate::dockerfile;
use crate::nearest::nearest;
use lilt_model::reference::Reference;

use crate::image_index::ImageIndex;

pub(super) struct Images<'d> {
    declared: &'d [ImageDeclaration],
    index: ImageIndex,
    /// By position in `declared`: which others its Dockerfile builds on.
    builds_on: Vec<Vec<usize>>,
    used: Vec<bool>,
    /// Names that were looked for, for "did you mean".
    asked: Vec<String>,
    tiltignore: Option<&'d IgnoreRule>,
}

impl<'d> Images<'d> {
    pub(super) fn new(declared: &'d [ImageDeclaration], tiltignore: Option<&'d IgnoreRule>) -> Self {
        let index = ImageIndex::new(declared.iter().map(|image| image.reference.clone()));
        let mut images = Self {
            declared,
            index,
            builds_on: Vec::new(),
            used: vec![false; declared.len()],
            asked: Vec::new(),
            tiltignore,
        };
        for image in declared {
            let bases = dockerfile::images(&image.build.dockerfile, &image.build.build_args);
            let found = images.find_all(&bases);
            images.builds_on.push(found);
        }
        images
    }

    fn find_all(&mut self, references: &[Reference]) -> Vec<usize> {
        let mut found = Vec::new();
        for reference in references {
            self.asked.push(reference.familiar_name());
            if let Some(position) = self.index.find(reference).filter(|position| !found.contains(position)) {
                self.used[position] = true;
                found.push(position);
            }
        }
        found
    }

    /// The images that these references need, each behind those it builds on.
    pub(super) fn targets(&mut self, references: &[Reference], problems: &mut Problems) -> Vec<ImageTarget> {
        let deployed = self.find_all(references);
        let mut order = Vec::new();
        for position in &deployed {
            self.visit(*position, &mut Vec::new(), &mut order, problems);
        }
        for position in deployed {
            self.check_live_update(position, problems);
        }
        order.into_iter().map(|position| self.target(position)).collect()
    }

    fn visit(&self, position: usize, path: &mut Vec<usize>, order: &mut Vec<usize>, problems: &mut Problems) {
        if order.contains(&position) {
            return;
        }
        let name = |position: &usize| self.declared[*position].reference.familiar();
        if let Some(first) = path.iter().position(|other| *other == position) {
            let round: Vec<String> = path[first..].iter().chain([&position]).map(name).collect();
            let message = format!("images build on each other in a circle: {}", round.join(" → "));
            return problems.add(&self.declared[path[first]].place, Failure::user(message));
        }
        path.push(position);
        for base in &self.builds_on[position] {
            self.visit(*base, path, order, problems);
        }
        path.pop();
        order.push(position);
    }

    fn target(&self, position: usize) -> ImageTarget {
        let image = &self.declared[position];
        let name = |position: &usize| ImageName::new(self.declared[*position].reference.familiar());
        let mut ignores = image.watch_ignores.clone();
        ignores.extend(self.tiltignore.cloned());
        ImageTarget {
            name: name(&position),
            build: image.build.clone(),
            files: FileSet { roots: image.build.context.roots.clone(), ignores },
            live_update: image.live_update.clone(),
            depends_on: self.builds_on[position].iter().map(name).collect(),
        }
    }

    /// Changes are seen only below the contexts of the image and of those it builds on.
    fn check_live_update(&self, position: usize, problems: &mut Problems) {
        let image = &self.declared[position];
        let Some(update) = &image.live_update else { return };
        let mut order = Vec::new();
        self.visit(position, &mut Vec::new(), &mut order, problems);
        let watched: Vec<_> =
            order.iter().flat_map(|position| &self.declared[*position].build.context.roots).collect();
        let outside = |path: &&std::path::PathBuf| !watched.iter().any(|root| path.starts_with(root));
        let syncs = update.syncs.iter().map(|sync| &sync.local);
        for path in syncs.chain(&update.stop_paths).filter(outside) {
            let roots: Vec<_> = watched.iter().map(|root| root.display().to_string()).collect();
            let message =
                format!("live_update: {} is outside of what is watched for this image", path.display());
            problems.add(
                &image.place,
                Failure::user(message).hint(format!("it must be below {}", roots.join(" or "))),
            );
        }
    }

    /// A warning for each image that no object and no other image uses.
    pub(super) fn unused(&self, fine: &[String], has_objects: bool) -> Vec<String> {
        let is_fine = |name: &String| fine.iter().any(|fine| fine == "*" || fine == name);
        let unused = self.declared.iter().zip(&self.used).filter(|(_, used)| !**used).map(|(image, _)| image);
        let mut warnings = Vec::new();
        for image in unused {
            let name = image.reference.familiar();
            if is_fine(&name) {
                continue;
            }
            let place = image.place.location();
            let mut warning =
                format!("{place}: Image not used in any Kubernetes config: {name}; it is not built.");
            if !has_objects {
                warning.push_str(" There are no Kubernetes objects: is a k8s_yaml() missing?");
            } else if let Some(near) =
                nearest(&image.reference.familiar_name(), self.asked.iter().map(String::as_str))
            {
                warning.push_str(&format!(" Did you mean {near}?"));
            }
            let silence = format!("update_settings(suppress_unused_image_warnings=[\"{name}\"])");
            warning.push_str(&format!(" If it is meant so: {silence}"));
            warnings.push(warning);
        }
        warnings
    }
}
