//! A session after another, of the same user: what is unchanged is neither built nor pushed nor deployed again.

use lilt_e2e::site::Site;
use lilt_testbed_env::{Project, Testbed};

const BUILD_SKIPPED: &str = "     Skipping build: nothing has changed since it was built";
const PUSH_SKIPPED: &str = "     Skipping push: the registry has it already";

/// Runs a session to its end, with what those before it have remembered.
fn session(site: &Site, cache: &Project) -> String {
    site.ci().variable("XDG_CACHE_HOME", cache.path()).run().expect_clean_exit(0).output()
}

#[test]
fn unchanged_image_is_not_rebuilt_by_next_session() {
    let site = Site::new("again");
    let testbed = Testbed::get();
    let cache = Project::new(&[]);
    // A base image of our own, so that it can become another.
    let base = format!("{}-base", site.image());
    let name_base =
        |image: &str| testbed.docker(&["tag", &format!("{}/library/{image}", testbed.registry()), &base]);
    name_base("busybox");
    let dockerfile = site.project.read("app/Dockerfile").replace("FROM busybox", &format!("FROM {base}"));
    site.project.write("app/Dockerfile", &dockerfile);
    let first = session(&site, &cache);
    assert!(!first.contains(BUILD_SKIPPED) && !first.contains(PUSH_SKIPPED), "{first}");
    let (pod, image) = (site.only_pod(), deployed(&site));

    let again = session(&site, &cache);
    assert!(again.contains(BUILD_SKIPPED) && again.contains(PUSH_SKIPPED), "{again}");
    assert!(!again.contains("] COPY www /www"), "no step is even looked up: {again}");
    assert_eq!((site.only_pod(), deployed(&site)), (pod, image.clone()), "what runs goes on");

    // A file with another content, and back.
    let words = site.project.read("app/words.txt");
    site.project.write("app/words.txt", "others\n");
    let changed = session(&site, &cache);
    assert!(!changed.contains(BUILD_SKIPPED), "{changed}");
    assert_ne!(deployed(&site), image);
    site.project.write("app/words.txt", &words);
    let back = session(&site, &cache);
    assert!(back.contains(BUILD_SKIPPED), "{back}");
    assert_eq!(deployed(&site), image);

    // Another base image under the same name.
    name_base("nginx");
    let moved = session(&site, &cache);
    assert!(!moved.contains(BUILD_SKIPPED), "{moved}");
    assert_ne!(deployed(&site), image);

    // An engine that has lost it builds it.
    testbed.docker(&["image", "rm", "--force", &deployed(&site)]);
    let lost = session(&site, &cache);
    assert!(!lost.contains(BUILD_SKIPPED), "{lost}");
}

#[test]
fn build_cache_covers_large_contexts_secrets_and_builders() {
    let site = Site::new("again-large");
    let cache = Project::new(&[]);
    let large = "0123456789abcdef".repeat(1024 * 1024 + 1);
    site.project.write("app/large", &large);
    site.project.write("key", "one\n");
    let first = "RUN --mount=type=secret,id=key wc -c </run/secrets/key >/size";
    let dockerfile = site.project.read("app/Dockerfile");
    site.project.write("app/Dockerfile", &dockerfile.replacen("RUN ", &format!("{first}\nRUN "), 1));
    let plain = site.tiltfile();
    site.project.write("Tiltfile", &plain.replace("'app', ", "'app', secret='id=key,src=key', "));

    session(&site, &cache);
    let again = session(&site, &cache);
    assert!(again.contains(BUILD_SKIPPED) && again.contains(PUSH_SKIPPED), "{again}");
    // Of the same size, written anew.
    site.project.write("app/large", &large.replace('0', "1"));
    let written = session(&site, &cache);
    assert!(!written.contains(BUILD_SKIPPED), "{written}");
    assert!(session(&site, &cache).contains(BUILD_SKIPPED));
    site.project.write("key", "another\n");
    let other_key = session(&site, &cache);
    assert!(!other_key.contains(BUILD_SKIPPED), "{other_key}");

    // A builder that tells no digests.
    site.project.write("app/Dockerfile", &dockerfile);
    site.project.write("Tiltfile", &plain);
    let classic = || {
        let start = site.ci().variable("XDG_CACHE_HOME", cache.path()).variable("DOCKER_BUILDKIT", "0");
        start.run().expect_clean_exit(0).output()
    };
    let first = classic();
    assert!(!first.contains(BUILD_SKIPPED), "{first}");
    let again = classic();
    assert!(again.contains(BUILD_SKIPPED), "{again}");
}

fn deployed(site: &Site) -> String {
    site.read("deployment/web", ".spec.template.spec.containers[0].image")
}
