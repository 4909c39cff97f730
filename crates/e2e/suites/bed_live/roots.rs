//! The synced directory is deleted and recreated, as in every build of a front end.

use std::fs;
use std::path::Path;

use lilt_e2e::site::Site;
use lilt_testbed_env::{Testbed, eventually};

use crate::edits::are_equal;
use crate::small::{init_containers, lock, restarts, shell, site, with_steps};

/// It is the root of a volume; the rest is read-only.
#[test]
fn synced_volume_directory_is_replaced() {
    let base = format!("{}/distroless/static:nonroot", Testbed::get().registry());
    let site = site("live-root", &base, "65532:65532");
    lock(&site);
    replace(&site, "sync('app/www', '/www')", true);
}

#[test]
fn synced_directory_with_trailing_slash_is_replaced() {
    let site = site("live-root-slash", "scratch", "65532:65532");
    lock(&site);
    replace(&site, "sync('app/www', '/www/')", true);
}

#[test]
fn synced_directory_is_replaced_in_plain_image() {
    let site = site("live-root-plain", "busybox", "0");
    replace(&site, "sync('app/www', '/www')", false);
    assert_eq!(init_containers(&site), "");
}

/// It belongs to the user, but its parent does not.
#[test]
fn synced_directory_is_replaced_in_plain_image_with_user() {
    let site = site("live-root-user", "busybox", "7:7");
    let dockerfile = fs::read_to_string(site.project.file("app/Dockerfile")).expect("it is there");
    site.project.write("app/Dockerfile", &dockerfile.replace("COPY www", "COPY --chown=7:7 www"));
    replace(&site, "sync('app/www', '/www')", true);
    assert_eq!(init_containers(&site), "");
}

/// `stays`: the directory keeps its inode, so that it remains a valid working directory.
fn replace(site: &Site, steps: &str, stays: bool) {
    with_steps(site, steps);
    fill(&site.project.file("app/www"), "one", "first");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let pod = site.only_pod();
    let root = site.project.file("app/www");
    let equal = |when: &str| are_equal(site, &pod, &root, when);

    fs::remove_dir_all(&root).expect("it is ours");
    equal("it was removed");
    fill(&root, "two", "second");
    equal("it was made anew");
    // Immediately, like a build.
    fs::remove_dir_all(&root).expect("it is ours");
    fill(&root, "three", "third");
    equal("it was removed and made anew");
    // Moved away and replaced.
    let next = site.project.file("next");
    fill(&next, "four", "fourth");
    fs::rename(&root, site.project.file("old")).expect("it is ours");
    fs::rename(&next, &root).expect("it is ours");
    equal("another took its place");
    if stays {
        site.serves("four");
    }

    assert_eq!((site.only_pod(), restarts(site, &pod)), (pod.clone(), "0".to_owned()));
    lilt.has_lines("STEP 1/3", 1);
    lilt.quit();
}

/// Creates a directory with two files, one of them deeper and with a unique name.
fn fill(root: &Path, words: &str, name: &str) {
    let deep = root.join(name).join("deep");
    fs::create_dir_all(&deep).expect("there is room");
    fs::write(root.join("index.html"), format!("{words}\n")).expect("it can be written");
    fs::write(deep.join(name), words.repeat(1000)).expect("it can be written");
}

/// Its target contains other files, which do not belong to the sync.
#[test]
fn synced_file_that_becomes_a_directory_leaves_the_files_beside_it() {
    let site = site("live-root-file", "busybox", "0");
    site.project.write("app/page.txt", "a file\n");
    with_steps(&site, "sync('app/page.txt', '/www/')");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let pod = site.only_pod();
    let root = site.project.file("app/page.txt");
    let in_container = || shell(&site, &pod, "cd /www && /busybox find . -type f | /busybox sort");
    fs::write(&root, "another\n").expect("it can be written");
    eventually("the file is there", || in_container().contains("./page.txt").then_some(()));

    fs::remove_file(&root).expect("it is ours");
    fs::create_dir(&root).expect("there is room");
    fs::write(root.join("inner.txt"), "inner\n").expect("it can be written");
    eventually("the directory took its place", || {
        (in_container() == "./index.html\n./inner.txt\n").then_some(())
    });
    site.serves("one");
    assert_eq!(site.only_pod(), pod);
    lilt.has_lines("STEP 1/3", 1);
    lilt.quit();
}

#[test]
fn synced_directory_that_becomes_a_file_takes_its_content_away() {
    let site = site("live-root-became-file", "busybox", "0");
    with_steps(&site, "sync('app/www', '/www/')");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let pod = site.only_pod();
    let root = site.project.file("app/www");
    fs::rename(&root, site.project.file("old")).expect("it is ours");
    fs::write(&root, "a file\n").expect("it can be written");
    eventually("the file took its place", || {
        (shell(&site, &pod, "cd /www && /busybox find . -type f") == "./www\n").then_some(())
    });
    assert_eq!(site.only_pod(), pod);
    lilt.has_lines("STEP 1/3", 1);
    lilt.quit();
}
