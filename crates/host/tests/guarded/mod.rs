//! A guardian for tests: the test binary itself, called to run only one test, which is the guardian.

use lilt_host::process::Guardian;

const NAME: &str = "guarded::run_as_guardian";

pub(crate) fn guardian() -> Guardian {
    let program = std::env::current_exe().expect("this program");
    Guardian::new(program, [NAME, "--exact", "--nocapture", "-q"].map(str::to_owned).to_vec())
}

#[test]
fn run_as_guardian() {
    // Does nothing in a normal run of all tests.
    if std::env::args().nth(1).as_deref() == Some(NAME) {
        lilt_host::process::run_guardian().expect("it guards");
    }
}
