//! `local_git_repo`: not a fixture, because git keeps no repository inside of another.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod support;

use std::fs;

use lilt_model::image::ImageBuild;
use lilt_model::resource::Body;
use support::Machine;

#[test]
fn local_git_repo_is_accepted_as_a_path() {
    let machine = Machine::new();
    let repo = machine.path("project/repo");
    fs::create_dir_all(&repo).unwrap();
    machine.git(&repo, &["init", "-q"]);
    machine.write("project/repo/sub/file", "content");
    let tiltfile = machine.write(
        "project/Tiltfile",
        "repo = local_git_repo('repo')\n\
         print(repo, type(repo), bool(repo), dir(repo))\n\
         print(repo.paths('sub/../sub/file'), repo.paths('.'), repo.paths('/sub'))\n\
         print(read_file(repo.paths('sub/file')), listdir(repo))\n\
         local_resource('watcher', 'true', deps=[repo, repo.paths('sub')])\n\
         docker_build('image', repo, dockerfile_contents='FROM scratch')\n\
         k8s_yaml(encode_yaml({'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'p'},\n\
             'spec': {'containers': [{'name': 'c', 'image': 'image'}]}}))\n",
    );
    let (loaded, printed) = machine.load(&tiltfile, "up");
    let project = loaded.project.unwrap();
    let here = repo.display().to_string();
    let expected = format!(
        "[git.Repo] '{here}' git.Repo True [\"paths\"]\n\
         {here}/sub/file {here} {here}/sub\n\
         content []\n"
    );
    assert_eq!(printed, expected);
    let body = |name: &str| &project.resources.iter().find(|found| found.name.as_str() == name).unwrap().body;
    let Body::Local(watcher) = body("watcher") else { panic!("another kind") };
    assert_eq!(watcher.files.roots, [repo.clone(), repo.join("sub")]);
    let Body::Kubernetes(pod) = body("p") else { panic!("another kind") };
    let ImageBuild::Docker(build) = &pod.images[0].build else { panic!("another kind") };
    assert_eq!(build.context.roots, [repo]);
}
