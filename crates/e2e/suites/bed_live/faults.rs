//! Faults during a sync, in one pod after the other.

use lilt_e2e::page::get;
use lilt_e2e::seeded_random::SeededRandom;
use lilt_testbed_env::{Testbed, eventually};

use crate::small::{lock, restarts, shell, site, with_steps};

const MANY: usize = 1000;

#[test]
fn files_are_synced_despite_faults() {
    let base = format!("{}/distroless/static:nonroot", Testbed::get().registry());
    let site = site("live-faults", &base, "65532:65532");
    lock(&site);
    // A small volume that fills up.
    let yaml = std::fs::read_to_string(site.project.file("web.yaml")).expect("it is there");
    let mounted =
        yaml.replace("{name: main,", "{name: main, volumeMounts: [{name: small, mountPath: /small}],");
    let volume = "      volumes: [{name: small, emptyDir: {medium: Memory, sizeLimit: 1Mi}}]\n";
    site.project.write("web.yaml", &format!("{mounted}{volume}"));
    site.project.write("app/small/file", "small\n");
    with_steps(&site, "sync('app/www', '/www'), sync('app/small', '/small')");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let pod = site.only_pod();

    // Many files at once.
    for number in 0..MANY {
        let text = format!("{number}\n").repeat(number % 97);
        std::fs::create_dir_all(site.project.file(&format!("app/www/many/{}", number % 10)))
            .expect("a directory");
        site.project.write(&format!("app/www/many/{}/{number}.txt", number % 10), &text);
    }
    eventually("all are there", || {
        let count = shell(&site, &pod, "/busybox find /www/many -type f | /busybox wc -l");
        (count.trim() == MANY.to_string()).then_some(())
    });
    let sum = "cd /www/many && /busybox find . -type f | /busybox sort | /busybox xargs /busybox cat | /busybox md5sum";
    let there = shell(&site, &pod, sum);
    let here = std::process::Command::new("sh")
        .args(["-c", "find . -type f | LC_ALL=C sort | xargs cat | md5sum"])
        .current_dir(site.project.file("app/www/many"))
        .output()
        .expect("it runs");
    assert_eq!(there, String::from_utf8(here.stdout).expect("it is text"));

    // All of it went through one connection, which is still open.
    let serving = |command: &str| {
        let line = format!(
            "for p in /proc/[0-9]*; do case \"$(/busybox tr '\\0' ' ' < $p/cmdline)\" in */agent' 'serve*) \
             {command} ${{p#/proc/}};; esac; done"
        );
        shell(&site, &pod, &line)
    };
    let channel = serving("echo");
    assert_eq!(channel.lines().count(), 1, "{channel}");
    site.project.write("app/www/index.html", "by the same\n");
    site.serves("by the same");
    assert_eq!(serving("echo"), channel);

    // The agent's process in the container is killed; the server is not.
    serving("/busybox kill -9");
    site.project.write("app/www/index.html", "after the agent\n");
    site.serves("after the agent");
    assert_eq!((site.only_pod(), restarts(&site, &pod)), (pod.clone(), "0".to_owned()));

    // The pod is deleted during a transfer: the next one gets everything, without a build.
    let mut random = SeededRandom::new(3);
    let content: Vec<u8> = (0..20 << 20).map(|_| random.below(256) as u8).collect();
    let output_end = lilt.output_end();
    std::fs::write(site.project.file("app/www/big.bin"), &content).expect("it can be written");
    lilt.wait_for_line_after(output_end, "app/www/big.bin' --> '/www/big.bin'");
    site.namespace.kubectl(&["delete", "pod", &pod, "--wait=false"]);
    let next = eventually("another pod is there", || site.pods().into_iter().find(|other| *other != pod));
    eventually("it has everything", || {
        let count = "/busybox wc -c < /www/big.bin && /busybox find /www/many -type f | /busybox wc -l";
        let line = ["exec", &next, "-c", "main", "--", "/busybox", "sh", "-c", count];
        let said = site.namespace.try_kubectl(&line).ok()?;
        (said.split_whitespace().collect::<Vec<_>>() == [content.len().to_string(), MANY.to_string()])
            .then_some(())
    });
    site.serves("after the agent");
    lilt.wait_until_ready("web");
    lilt.has_lines("STEP 1/3", 1);

    // A full disk: no file of the burst is copied, it is reported, and the image is built.
    let output_end = lilt.output_end();
    std::fs::write(site.project.file("app/small/big.bin"), &content[..3 << 20]).expect("it can be written");
    lilt.wait_for_line_after(output_end, "No space left on device");
    lilt.wait_for_line_after(output_end, "the container's disk is full");
    lilt.wait_for_line_after(output_end, "STEP 1/3");
    site.project.remove("app/small/big.bin");
    lilt.wait_until_ready("web");
    site.serves("after the agent");
    assert!(get(site.port, "/many/1/1.txt").is_some());
    lilt.quit();
}
