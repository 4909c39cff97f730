//! Other Docker engines.

use std::os::unix::fs::PermissionsExt as _;

use lilt_e2e::site::Site;
use lilt_testbed_env::Testbed;

/// A test program that is first in `PATH`.
fn program(site: &Site, name: &str, script: &str) -> std::ffi::OsString {
    site.project.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}"));
    let path = site.project.file(&format!("bin/{name}"));
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let mut folders = site.project.file("bin").into_os_string();
    folders.push(":");
    folders.push(Testbed::get().path());
    folders
}

/// `ssh://`: as the docker command does it, through ssh and docker's own dial-stdio over there.
#[test]
fn docker_engine_over_ssh_builds() {
    let site = Site::new("ssh-host");
    let ssh = format!(
        "echo \"$@\" >> {said}\n\
         if [ ! -e {open} ]; then echo 'ssh: connect to host there: refused' >&2; exit 255; fi\n\
         DOCKER_HOST={engine} exec docker system dial-stdio\n",
        said = site.project.file("said").display(),
        open = site.project.file("open").display(),
        engine = Testbed::get().docker_host(),
    );
    let path = program(&site, "ssh", &ssh);
    let lilt = site.up().variable("PATH", path).variable("DOCKER_HOST", "ssh://me@there:2222").start();
    let failure = lilt.wait_for_line("cannot connect to the Docker engine at ssh://me@there:2222");
    assert!(failure.contains("ssh: connect to host there: refused"), "{failure}");
    lilt.wait_until("web", "has failed", |it| it["status"]["updateStatus"] == "error");

    site.project.write("open", "");
    site.project.write("app/words.txt", "again\n");
    lilt.wait_until_ready("web");
    site.serves("one");
    let said = site.project.read("said");
    assert!(said.contains("-l me -p 2222 -- there docker system dial-stdio"), "{said}");
    lilt.quit();
}

/// The same project where BuildKit is switched off.
#[test]
fn docker_engine_without_buildkit_builds() {
    let site = Site::new("classic");
    let lilt = site.up().variable("DOCKER_BUILDKIT", "0").start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let output_end = lilt.output_end();
    site.project.write("app/words.txt", "second\n");
    lilt.wait_for_line_after(output_end, "[2/7] RUN echo this is the build of");
    lilt.wait_for_line_after(output_end, "[3/7] COPY words.txt /www/");
    lilt.wait_until_ready("web");
    lilt.quit();
}
