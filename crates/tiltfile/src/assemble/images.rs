//! Finds the images that resources require, in build order, and the images that nothing uses.

use std::path::PathBuf;

use lilt_model::files::{FileSet, IgnoreRule};
use lilt_model::image::{ImageBuild, ImageTarget};
use lilt_model::reference::Reference;
use lilt_model::{Failure, ImageName, dockerfile};

use super::Problems;
use crate::declarations::ImageDeclaration;
use crate::failure::SourceSpan;
use crate::image_index::ImageIndex;
use lilt_model::nearest::nearest;

pub(super) struct Images<'d> {
    declared: &'d [ImageDeclaration],
    index: ImageIndex,
    /// By position in `declared`: the images it is based on.
    builds_on: Vec<Vec<usize>>,
    used: Vec<bool>,
    /// Names that were searched for, for "did you mean".
    searched_names: Vec<String>,
    /// Rules that apply to every image.
    ignored_everywhere: &'d [IgnoreRule],
}

/// The images of a resource.
pub(super) struct RequiredImages {
    /// In build order: each after those it is based on.
    pub(super) targets: Vec<ImageTarget>,
    /// The images that the resource itself runs, except those that are never built.
    pub(super) deployed: Vec<ImageName>,
}

/// What uses images: decides the warning about an unused image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consumers {
    Nothing,
    /// Objects, but no workloads.
    OtherObjects,
    Kubernetes,
    Compose,
}

impl<'d> Images<'d> {
    pub(super) fn new(
        declared: &'d [ImageDeclaration],
        ignored_everywhere: &'d [IgnoreRule],
        problems: &mut Problems,
    ) -> Self {
        let index = ImageIndex::new(declared.iter().map(|image| image.reference.clone()));
        let used = vec![false; declared.len()];
        let mut images = Self {
            declared,
            index,
            builds_on: Vec::new(),
            used,
            searched_names: Vec::new(),
            ignored_everywhere,
        };
        for image in declared {
            let named = match &image.build {
                ImageBuild::Docker(build) => dockerfile::images(&build.dockerfile, &build.build_args),
                _ => Vec::new(),
            };
            let mut found = images.find_all(&named);
            for needed in &image.image_deps {
                match images.find_all(std::slice::from_ref(needed)).as_slice() {
                    [] => problems.add(&image.span, images.missing(needed)),
                    [position] if !found.contains(position) => found.push(*position),
                    _ => {}
                }
            }
            images.builds_on.push(found);
        }
        images
    }

    /// Returns the failure of an image that the project must build and does not.
    pub(super) fn missing(&self, needed: &Reference) -> Failure {
        let failure = Failure::user(format!("image_deps: nothing builds the image {}", needed.familiar()));
        let known: Vec<String> = self.declared.iter().map(|image| image.reference.familiar()).collect();
        match nearest(&needed.familiar(), known.iter().map(String::as_str)) {
            Some(near) => failure.hint(format!("did you mean {near}?")),
            None => failure,
        }
    }

    /// Whether the project builds this image.
    pub(super) fn builds(&self, reference: &Reference) -> bool {
        self.index.find(reference).is_some()
    }

    fn find_all(&mut self, references: &[Reference]) -> Vec<usize> {
        let mut found = Vec::new();
        for reference in references {
            self.searched_names.push(reference.familiar_name());
            if let Some(position) = self.index.find(reference) {
                self.used[position] = true;
                if !found.contains(&position) {
                    found.push(position);
                }
            }
        }
        found
    }

    pub(super) fn needed(&mut self, references: &[Reference], problems: &mut Problems) -> RequiredImages {
        let deployed = self.find_all(references);
        let mut order = Vec::new();
        for position in &deployed {
            self.visit(*position, &mut Vec::new(), &mut order, problems);
        }
        for position in &deployed {
            self.check_live_update(*position, problems);
        }
        let is_built = |position: &&usize| {
            let declared = &self.declared[**position];
            declared.build.is_built(declared.live_update.as_ref())
        };
        RequiredImages {
            targets: order.into_iter().map(|position| self.target(position)).collect(),
            deployed: deployed.iter().filter(is_built).map(|position| self.name(*position)).collect(),
        }
    }

    fn visit(&self, position: usize, path: &mut Vec<usize>, order: &mut Vec<usize>, problems: &mut Problems) {
        if order.contains(&position) {
            return;
        }
        let name = |position: &usize| self.declared[*position].reference.familiar();
        if let Some(first) = path.iter().position(|other| *other == position) {
            let round: Vec<String> = path[first..].iter().chain([&position]).map(name).collect();
            let message = format!("images build on each other in a circle: {}", round.join(" → "));
            return problems.add(&self.declared[path[first]].span, Failure::user(message));
        }
        path.push(position);
        for base in &self.builds_on[position] {
            self.visit(*base, path, order, problems);
        }
        path.pop();
        order.push(position);
    }

    /// Returns where the image was declared.
    pub(super) fn span(&self, name: &ImageName) -> Option<&SourceSpan> {
        let position = (0..self.declared.len()).find(|position| self.name(*position) == *name)?;
        Some(&self.declared[position].span)
    }

    fn name(&self, position: usize) -> ImageName {
        ImageName::new(self.declared[position].reference.familiar())
    }

    fn target(&self, position: usize) -> ImageTarget {
        let image = &self.declared[position];
        let mut ignores = image.watch_ignores.clone();
        ignores.extend_from_slice(self.ignored_everywhere);
        ImageTarget {
            name: self.name(position),
            build: image.build.clone(),
            files: FileSet::new(image.roots.clone(), ignores),
            live_update: image.live_update.clone(),
            depends_on: self.builds_on[position].iter().map(|base| self.name(*base)).collect(),
            match_exact: self.index.is_exact(position),
            match_in_env_vars: image.match_in_env_vars,
            entrypoint: image.entrypoint.clone(),
            container_args: image.container_args.clone(),
        }
    }

    /// Refuses live updates of paths that are not watched: those outside of the roots of the image and its bases.
    fn check_live_update(&self, position: usize, problems: &mut Problems) {
        let image = &self.declared[position];
        let Some(update) = &image.live_update else { return };
        let mut order = Vec::new();
        self.visit(position, &mut Vec::new(), &mut order, problems);
        let watched: Vec<&PathBuf> =
            order.iter().flat_map(|position| &self.declared[*position].roots).collect();
        let is_outside = |path: &&PathBuf| !watched.iter().any(|root| path.starts_with(root));
        let syncs = update.syncs.iter().map(|sync| &sync.local);
        for path in syncs.chain(&update.stop_paths).filter(is_outside) {
            let roots: Vec<_> = watched.iter().map(|root| root.display().to_string()).collect();
            let message =
                format!("live_update: {} is outside of what is watched for this image", path.display());
            problems.add(
                &image.span,
                Failure::user(message).hint(format!("it must be below {}", roots.join(" or "))),
            );
        }
    }

    /// A warning for each image that no object, no service and no other image uses.
    pub(super) fn unused(&self, suppressed: &[String], consumers: Consumers) -> Vec<String> {
        let is_suppressed =
            |name: &String| suppressed.iter().any(|suppressed| suppressed == "*" || suppressed == name);
        let unused = self.declared.iter().zip(&self.used).filter(|(_, used)| !**used).map(|(image, _)| image);
        let unused: Vec<&ImageDeclaration> =
            unused.filter(|image| !is_suppressed(&image.reference.familiar())).collect();
        let used_by = if consumers == Consumers::Compose { "Docker Compose" } else { "Kubernetes" };
        let mut warnings = Vec::new();
        for image in unused {
            let name = image.reference.familiar();
            let span = image.span.location();
            let mut warning =
                format!("{span}: Image not used in any {used_by} config: {name}; it is not built.");
            match consumers {
                Consumers::Nothing => warning.push_str(
                    " There are no Kubernetes objects and no Docker Compose services: is a k8s_yaml() missing?",
                ),
                Consumers::OtherObjects => warning.push_str(
                    " No object has images: for custom kinds, tell with k8s_kind() where they keep them.",
                ),
                Consumers::Kubernetes | Consumers::Compose => {
                    let searched_names = self.searched_names.iter().map(String::as_str);
                    if let Some(near) = nearest(&image.reference.familiar_name(), searched_names) {
                        warning.push_str(&format!(" Did you mean {near}?"));
                    }
                }
            }
            let silence = format!("update_settings(suppress_unused_image_warnings=[\"{name}\"])");
            warning.push_str(&format!(" If it is meant so: {silence}"));
            warnings.push(warning);
        }
        warnings
    }
}
