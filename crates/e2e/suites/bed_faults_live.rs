//! Live updates through lilt's agent during outages. Sequential, after all other tests.
#![allow(clippy::disallowed_methods, reason = "tests start processes, read files and wait for facts")]

#[path = "bed_live/small.rs"]
#[allow(dead_code, reason = "every target uses its part of it")]
mod small;

use lilt_testbed_env::Testbed;

/// Saves during an outage are synced to the same pod, and the process is restarted.
#[test]
fn agent_reconnects_after_api_server_restart() {
    let testbed = Testbed::get();
    let _exclusive = testbed.lock_exclusively();
    let site = small::site("faults-agent", "scratch", "1234");
    small::lock(&site);
    small::with_steps(&site, "sync('app/www', '/www'), restart_process()");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let pod = site.only_pod();

    let stopped = testbed.stop("apiserver");
    site.project.write("app/www/index.html", "written while nobody listened\n");
    lilt.wait_for_log_line("web", "1 File Changed: [app/www/index.html]");
    lilt.wait_for_line("  → Waiting to update container ");
    site.project.write("app/www/other.html", "another\n");
    drop(stopped);

    site.serves("written while nobody listened");
    lilt.wait_for_log_line("web", "  → Process started anew");
    lilt_testbed_env::eventually("the later save is served", || {
        lilt_e2e::page::get(site.port, "/other.html")
    });
    lilt.wait_until_ready("web");
    assert_eq!((site.only_pod(), small::restarts(&site, &pod)), (pod, "0".to_owned()));
    assert_eq!(lilt.count("STEP 1/3"), 1, "nothing was built again");
    lilt.quit();
}

/// A save each second while the API server refuses connections for a minute: each is synced to the running pod.
#[test]
fn saves_during_api_server_outage_are_live_updated() {
    let testbed = Testbed::get();
    let _exclusive = testbed.lock_exclusively();
    let site = small::site("faults-minute", "scratch", "1234");
    small::lock(&site);
    small::with_steps(&site, "sync('app/www', '/www')");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let pod = site.only_pod();

    let stopped = testbed.stop("apiserver");
    for number in 0..60 {
        site.project.write(&format!("app/www/{number}.html"), &format!("save {number}\n"));
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
    drop(stopped);

    for number in 0..60 {
        lilt_testbed_env::eventually(&format!("save {number} is served"), || {
            lilt_e2e::page::get(site.port, &format!("/{number}.html"))
                .filter(|page| *page == format!("save {number}\n"))
        });
    }
    lilt.wait_until_ready("web");
    assert_eq!((site.only_pod(), small::restarts(&site, &pod)), (pod, "0".to_owned()));
    assert_eq!(lilt.count("STEP 1/3"), 1, "nothing was built again");
    lilt.quit();
}

/// Connections that died silently, as after suspend or a VPN change.
#[test]
fn save_is_synced_after_connections_died_silently() {
    let testbed = Testbed::get();
    let _exclusive = testbed.lock_exclusively();
    let site = small::site("faults-silent", "scratch", "1234");
    small::lock(&site);
    small::with_steps(&site, "sync('app/www', '/www'), restart_process()");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    let pod = site.only_pod();
    site.project.write("app/www/index.html", "two\n");
    lilt.wait_for_log_line("web", "  → Process started anew");

    let silenced = Silenced::connections_of(lilt.pid(), api_port(testbed));
    site.project.write("app/www/index.html", "three\n");
    lilt_testbed_env::eventually("the save is in the pod", || {
        (small::shell(&site, &pod, "/busybox cat /www/index.html") == "three\n").then_some(())
    });
    lilt.wait_until_ready("web");
    drop(silenced);
    assert_eq!((site.only_pod(), small::restarts(&site, &pod)), (pod, "0".to_owned()));
    assert_eq!(lilt.count("Full Build"), 0);
    lilt.quit();
}

fn api_port(testbed: &Testbed) -> u16 {
    let text = std::fs::read_to_string(testbed.kubeconfig()).expect("the bed has one");
    let server =
        text.lines().find_map(|line| line.trim().strip_prefix("server: ")).expect("it names the server");
    server.rsplit(':').next().and_then(|port| port.parse().ok()).expect("with its port")
}

/// Blocks all packets of connections, in both directions.
struct Silenced(Vec<u16>);

impl Silenced {
    fn connections_of(process: i32, to: u16) -> Self {
        let ports = local_ports(process, to);
        assert!(!ports.is_empty(), "lilt speaks with the API server");
        ports.iter().for_each(|port| drop_packets("-I", *port));
        Self(ports)
    }
}

impl Drop for Silenced {
    fn drop(&mut self) {
        self.0.iter().for_each(|port| drop_packets("-D", *port));
    }
}

fn drop_packets(change: &str, port: u16) {
    for side in ["--sport", "--dport"] {
        let rule = [change, "OUTPUT", "-o", "lo", "-p", "tcp", side, &port.to_string(), "-j", "DROP"];
        let status =
            std::process::Command::new("iptables").args(rule).status().expect("the bed needs it, too");
        assert!(status.success() || std::thread::panicking(), "{rule:?}");
    }
}

/// Returns the local ports of a process's connections to a port.
fn local_ports(process: i32, to: u16) -> Vec<u16> {
    let open = std::fs::read_dir(format!("/proc/{process}/fd")).expect("it runs").flatten();
    let links = open.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let sockets: Vec<String> = links.map(|link| link.display().to_string()).collect();
    let table = std::fs::read_to_string(format!("/proc/{process}/net/tcp")).expect("Linux");
    let port = |address: &str| u16::from_str_radix(address.rsplit(':').next()?, 16).ok();
    let ours = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (local, remote) = (port(words.get(1)?)?, port(words.get(2)?)?);
        let is_open = sockets.contains(&format!("socket:[{}]", words.get(9)?));
        (remote == to && is_open).then_some(local)
    };
    table.lines().skip(1).filter_map(ours).collect()
}
