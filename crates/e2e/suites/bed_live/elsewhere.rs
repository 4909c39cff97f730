//! Images that come from elsewhere, and those that others are built on.

use lilt_e2e::bed::Site;
use lilt_e2e::page::get;
use lilt_testbed_env::{Bed, eventually};

use crate::small::{restarts, site};

/// Builds the image of a site and brings it to the registry. What it is called there, without a tag.
fn pushed(site: &Site) -> String {
    let bed = Bed::get();
    let image = format!("{}/{}", bed.registry(), site.image());
    let context = site.project.file("app");
    bed.docker(&["build", "-q", "-t", &format!("{image}:v1"), context.to_str().expect("a plain path")]);
    bed.docker(&["push", "-q", &format!("{image}:v1")]);
    image
}

/// lilt applies the pods, and that is enough.
#[test]
fn an_image_that_is_never_built_takes_changes() {
    let site = site("live-elsewhere", "scratch", "1234");
    let image = pushed(&site);
    site.project.write("web.yaml", &site.yaml("web", &format!("{image}:v1")));
    let tiltfile = format!(
        "custom_build('{image}', ':', deps=['app'], live_update=[sync('app/www', '/www'), restart_process()])\n\
         k8s_yaml('web.yaml')\nk8s_resource('web', port_forwards='{}:8080')\n",
        site.port
    );
    site.project.write("Tiltfile", &tiltfile);
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    lilt.wait_for_line("Live updates of the container main go through lilt's agent");
    site.serves("one");
    let pod = site.only_pod();
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    lilt.wait_for_words("web", "  → Process started anew");
    lilt.wait_until_ready("web");
    assert_eq!((site.only_pod(), restarts(&site, &pod)), (pod, "0".to_owned()));
    lilt.quit();
}

/// The command that builds needs no engine, and neither do updates of an image that has a shell.
#[test]
fn an_engine_that_is_away_keeps_nothing_from_being_deployed() {
    let site = Site::new("live-engineless");
    let image = pushed(&site);
    site.project.write("web.yaml", &site.yaml("web", &image));
    let tiltfile = format!(
        "custom_build('{image}', 'true', deps=['app'], tag='v1', skips_local_docker=True, \
         live_update=[sync('app/www', '/www')])\nk8s_yaml('web.yaml')\n\
         k8s_resource('web', port_forwards='{}:8080')\n",
        site.port
    );
    site.project.write("Tiltfile", &tiltfile);
    let lilt = site.up().variable("DOCKER_HOST", "unix:///nowhere/docker.sock").start();
    lilt.wait_for_line("are made with the programs of its image, if it has them: ");
    lilt.wait_until_ready("web");
    site.serves("one");
    let pod = site.only_pod();
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    assert_eq!(site.only_pod(), pod);
    lilt.quit();
}

#[test]
fn files_of_a_base_image_go_into_what_is_built_on_it() {
    let site = Site::new("live-base");
    let base = format!("{}-base", site.image());
    site.project
        .write("base/Dockerfile", &format!("FROM busybox\nLABEL test={base}\nCOPY words /www/words\n"));
    site.project.write("base/words/list.txt", "first\n");
    let dockerfile = std::fs::read_to_string(site.project.file("app/Dockerfile")).expect("it is there");
    site.project.write("app/Dockerfile", &dockerfile.replace("FROM busybox", &format!("FROM {base}")));
    let tiltfile = site.tiltfile().replace("sync(", "sync('base/words', '/www/words'), sync(");
    site.project.write("Tiltfile", &format!("docker_build('{base}', 'base')\n{tiltfile}"));
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let list = || get(site.port, "/words/list.txt");
    assert_eq!(list().as_deref(), Some("first\n"));
    let pod = site.only_pod();
    site.project.write("base/words/list.txt", "second\n");
    eventually("it is there", || list().filter(|page| page == "second\n"));
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    lilt.wait_until_ready("web");
    assert_eq!(site.only_pod(), pod);
    lilt.has_lines("STEP 1/5", 1);
    lilt.quit();
}

/// Helm makes the pods: changes go into them all the same.
#[test]
fn pods_of_a_chart_take_changes() {
    let site = Site::new("live-helm");
    let image = site.image();
    site.project.write("chart/Chart.yaml", "apiVersion: v2\nname: site\nversion: 0.1.0\n");
    site.project.write("chart/values.yaml", "image: {repository: none, tag: none}\n");
    let template = site.yaml("web", "'{{ .Values.image.repository }}:{{ .Values.image.tag }}'");
    site.project.write("chart/templates/web.yaml", &template);
    let tiltfile = format!(
        "load('ext://helm_resource', 'helm_resource')\n\
         docker_build('{image}', 'app', live_update=[sync('app/www', '/www'), run('echo ran as $(id -u)')])\n\
         helm_resource('web', 'chart', image_deps=['{image}'], image_keys=[('image.repository', 'image.tag')], \
         port_forwards=['{}:8080'])\n",
        site.port
    );
    site.project.write("Tiltfile", &tiltfile);
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let pod = site.only_pod();
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    lilt.wait_for_words("web", "ran as 0");
    lilt.wait_until_ready("web");
    assert_eq!(site.only_pod(), pod);
    lilt.quit();
    site.down().run().clean(0);
}
