//! A guardian for tests: this very program, told to run one test only, which is the guardian.

use lilt_host::process::Guardian;

const NAME: &str = "guarded::be_the_guardian";

pub(crate) fn guardian() -> Guardian {
    let program = std::env::current_exe().expect("this program");
    Guardian::new(program, [NAME, "--exact", "--nocapture", "-q"].map(str::to_owned).to_vec())
}

#[test]
fn be_the_guardian() {
    // Among all the others there is nothing for it to do.
    if std::env::args().nth(1).as_deref() == Some(NAME) {
        lilt_host::process::guard().expect("it guards");
    }
}
