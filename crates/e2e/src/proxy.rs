//! A TCP proxy to the API server that a test can open, block and close.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use lilt_testbed_env::{Namespace, Project, Testbed, free_port};

/// Forwards connections of its own port to another one.
#[derive(Debug)]
pub struct Proxy {
    own: SocketAddr,
    held: Arc<AtomicBool>,
    closed: Arc<AtomicBool>,
    /// How often all connections were closed.
    cuts: Arc<AtomicU32>,
}

impl Proxy {
    /// Starts a proxy from a port to the test bed's API server.
    pub fn open(port: u16) -> Proxy {
        Proxy::to(port, api_server())
    }

    /// Starts a proxy from a port to another one.
    pub fn to(port: u16, target: String) -> Proxy {
        let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
        let proxy = Proxy {
            own: listener.local_addr().expect("a bound listener has an address"),
            held: Arc::default(),
            closed: Arc::default(),
            cuts: Arc::default(),
        };
        let (held, closed) = (Arc::clone(&proxy.held), Arc::clone(&proxy.closed));
        let cuts = Arc::clone(&proxy.cuts);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if closed.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(server) = TcpStream::connect(&target) else { continue };
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (from, to) = (from.try_clone(), to.try_clone());
                    let (Ok(from), Ok(to)) = (from, to) else { continue };
                    let (held, closed, cuts) = (Arc::clone(&held), Arc::clone(&closed), Arc::clone(&cuts));
                    let age = cuts.load(Ordering::Relaxed);
                    let is_over =
                        move || closed.load(Ordering::Relaxed) || cuts.load(Ordering::Relaxed) != age;
                    std::thread::spawn(move || pass_on(from, to, &held, is_over));
                }
            }
        });
        proxy
    }

    /// Drops all bytes from now on, without closing connections.
    pub fn hold(&self) {
        self.held.store(true, Ordering::Relaxed);
    }

    /// Closes every open connection; new ones are accepted.
    pub fn cut(&self) {
        self.cuts.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
        // Wakes the accepting thread.
        let _ = TcpStream::connect(self.own);
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, held: &AtomicBool, is_over: impl Fn() -> bool) {
    // Short, so that the thread notices the end of the proxy.
    let _ = from.set_read_timeout(Some(Duration::from_millis(20)));
    let _ = to.set_nodelay(true);
    let mut buffer = [0; 16 * 1024];
    while !is_over() {
        let length = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error)
                if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) =>
            {
                continue;
            }
            Err(_) => break,
        };
        while held.load(Ordering::Relaxed) && !is_over() {
            std::thread::sleep(Duration::from_millis(20));
        }
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// Returns the address of the API server from the test bed's kubeconfig.
fn api_server() -> String {
    let address = Testbed::get().kubectl(&[
        "config",
        "view",
        "--minify",
        "-o",
        "jsonpath={.clusters[0].cluster.server}",
    ]);
    address.trim().trim_start_matches("https://").to_owned()
}

/// Returns a kubeconfig of this namespace whose API server is on a port where nothing listens yet.
pub fn detour(namespace: &Namespace, project: &Project) -> u16 {
    let port = free_port();
    let kubeconfig = std::fs::read_to_string(namespace.kubeconfig()).expect("a namespace has a kubeconfig");
    let changed = kubeconfig.replace(&api_server(), &format!("127.0.0.1:{port}"));
    assert_ne!(changed, kubeconfig, "the kubeconfig names the API server");
    project.write("kubeconfig", &changed);
    port
}

/// Drops all packets from and to a port of this machine until it is dropped.
#[derive(Debug)]
pub struct Blackout {
    port: String,
}

impl Blackout {
    pub fn of(port: u16) -> Blackout {
        let blackout = Blackout { port: port.to_string() };
        blackout.rules("-I");
        blackout
    }

    fn rules(&self, action: &str) {
        for side in ["--dport", "--sport"] {
            let rule = ["-w", action, "INPUT", "-i", "lo", "-p", "tcp", side, &self.port, "-j", "DROP"];
            let done = std::process::Command::new("iptables").args(rule).status();
            assert!(done.is_ok_and(|status| status.success()), "iptables {}", rule.join(" "));
        }
    }
}

impl Drop for Blackout {
    fn drop(&mut self) {
        self.rules("-D");
    }
}
