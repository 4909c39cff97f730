//! The owner of a session's token: accepts each code once, and replaces the token.

use std::collections::BTreeMap;
use std::sync::Arc;

use lilt_model::auth::{AuthKeys, CodeLifetime, Nonce, new_token};
use lilt_model::{Failure, Timestamp};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// How many requests may wait for the owner, which handles each within microseconds.
const MAX_PENDING: usize = 16;

/// Saves a new token for other processes of the user.
pub type SaveToken = Box<dyn Fn(&str) -> Result<(), Failure> + Send>;

/// Shows the user of the session a warning.
pub type Warn = Box<dyn Fn(&str) + Send>;

const REUSED_LINK: &str = "A link that lilt made for one browser was opened a second time, by a browser that is not signed \
     in. If that was not you, another user may have opened it first: `lilt token --rotate` signs every browser out.";

/// Why a code is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodeRefusal {
    /// It was created with another token, or is not a code.
    Unknown,
    Used,
    Expired,
}

/// Who opens a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visitor {
    /// A browser without a valid cookie.
    Unknown,
    SignedIn,
}

enum Command {
    Redeem { code: String, visitor: Visitor, reply: oneshot::Sender<Result<(), CodeRefusal>> },
    Rotate { reply: oneshot::Sender<Result<Arc<str>, Failure>> },
}

/// The keys of a valid token.
#[derive(Clone, Debug)]
pub(crate) struct IssuedKeys {
    pub(crate) keys: Arc<AuthKeys>,
    /// Cancelled when the token is replaced, which ends everything that was opened with it.
    pub(crate) revoked: CancellationToken,
}

impl IssuedKeys {
    fn new(token: Arc<str>) -> Self {
        Self { keys: Arc::new(AuthKeys::new(token)), revoked: CancellationToken::new() }
    }
}

/// Access to a session's token, for the routes and for creating links.
#[derive(Clone, Debug)]
pub struct Auth {
    issued: watch::Receiver<IssuedKeys>,
    commands: mpsc::Sender<Command>,
    is_kept: bool,
}

impl Auth {
    /// Returns whether later sessions have the same token, so that a browser should keep its cookie.
    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Returns the valid keys.
    pub fn keys(&self) -> Arc<AuthKeys> {
        Arc::clone(&self.issued.borrow().keys)
    }

    /// Returns the valid keys with the token that is cancelled when they are replaced.
    pub(crate) fn issued(&self) -> IssuedKeys {
        self.issued.borrow().clone()
    }

    /// Accepts a valid code once.
    pub(crate) async fn redeem(&self, code: &str, visitor: Visitor) -> Result<(), CodeRefusal> {
        let (reply, answer) = oneshot::channel();
        // After the owner has ended, no code is accepted.
        let sent = self.commands.send(Command::Redeem { code: code.to_owned(), visitor, reply }).await;
        sent.map_err(|_| CodeRefusal::Unknown)?;
        answer.await.unwrap_or(Err(CodeRefusal::Unknown))
    }

    /// Replaces the token and returns the new one.
    pub(crate) async fn rotate(&self) -> Result<Arc<str>, Failure> {
        let ending = || Failure::environment("the session is ending");
        let (reply, answer) = oneshot::channel();
        self.commands.send(Command::Rotate { reply }).await.map_err(|_| ending())?;
        answer.await.map_err(|_| ending())?
    }
}

/// Owns the token while the session runs.
pub struct AuthOwner {
    auth: Auth,
    issued: watch::Sender<IssuedKeys>,
    incoming: mpsc::Receiver<Command>,
    clock: fn() -> Timestamp,
    save: SaveToken,
    warn: Warn,
    /// Earlier codes belong to a previous session with the same token.
    started: Timestamp,
    /// Accepted codes, with the time at which they expire.
    used: BTreeMap<Nonce, Option<Timestamp>>,
}

impl std::fmt::Debug for AuthOwner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthOwner").finish_non_exhaustive()
    }
}

impl AuthOwner {
    pub fn new(token: Arc<str>, clock: fn() -> Timestamp, save: SaveToken) -> Self {
        let (issued, current) = watch::channel(IssuedKeys::new(token));
        let (commands, incoming) = mpsc::channel(MAX_PENDING);
        let auth = Auth { issued: current, commands, is_kept: false };
        Self {
            auth,
            issued,
            incoming,
            clock,
            save,
            warn: Box::new(|_| {}),
            started: clock(),
            used: BTreeMap::new(),
        }
    }

    /// Sets whether later sessions have the same token. Call it before [`Self::auth`].
    #[must_use]
    pub fn with_kept_token(mut self, is_kept: bool) -> Self {
        self.auth.is_kept = is_kept;
        self
    }

    /// Sets how the user is warned of a possible attack.
    #[must_use]
    pub fn with_warnings(self, warn: Warn) -> Self {
        Self { warn, ..self }
    }

    pub fn auth(&self) -> Auth {
        self.auth.clone()
    }

    /// Handles requests. Never ends.
    pub(crate) async fn run(mut self) {
        while let Some(command) = self.incoming.recv().await {
            // The sender may no longer wait.
            match command {
                Command::Redeem { code, visitor, reply } => drop(reply.send(self.redeem(&code, visitor))),
                Command::Rotate { reply } => drop(reply.send(self.rotate())),
            }
        }
    }

    fn redeem(&mut self, text: &str, visitor: Visitor) -> Result<(), CodeRefusal> {
        let now = (self.clock)();
        let is_over = |expires: Option<Timestamp>| expires.is_some_and(|at| at <= now);
        self.used.retain(|_, expires| !is_over(*expires));
        let code = self.issued.borrow().keys.read_code(text).ok_or(CodeRefusal::Unknown)?;
        if code.issued < self.started || is_over(code.expires()) {
            return Err(CodeRefusal::Expired);
        }
        match self.used.insert(code.nonce, code.expires()) {
            None => Ok(()),
            Some(_) => {
                // The link was in the command line of a browser, which other users can read.
                if visitor == Visitor::Unknown && code.lifetime != CodeLifetime::UntilSessionEnds {
                    (self.warn)(REUSED_LINK);
                }
                Err(CodeRefusal::Used)
            }
        }
    }

    fn rotate(&mut self) -> Result<Arc<str>, Failure> {
        let token = new_token()?;
        (self.save)(&token)?;
        let old = self.issued.send_replace(IssuedKeys::new(Arc::clone(&token)));
        self.used.clear();
        old.revoked.cancel();
        Ok(token)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const STARTED: Timestamp = Timestamp(1_000_000_000);

    fn owner() -> AuthOwner {
        AuthOwner::new(Arc::from("token"), || STARTED, Box::new(|_| Ok(())))
    }

    fn code(owner: &AuthOwner, issued: Timestamp, lifetime: CodeLifetime) -> String {
        owner.auth().keys().mint_code(issued, lifetime).unwrap()
    }

    #[test]
    fn code_is_accepted_once() {
        let mut owner = owner();
        for lifetime in [CodeLifetime::UntilSessionEnds, CodeLifetime::Limited(Duration::from_secs(60))] {
            let code = code(&owner, STARTED, lifetime);
            assert_eq!(owner.redeem(&code, Visitor::Unknown), Ok(()));
            assert_eq!(owner.redeem(&code, Visitor::Unknown), Err(CodeRefusal::Used));
        }
        assert_eq!(owner.redeem("wrong", Visitor::Unknown), Err(CodeRefusal::Unknown));
    }

    #[test]
    fn code_expires() {
        let mut owner = owner();
        let limited = CodeLifetime::Limited(Duration::from_secs(60));
        let fresh = code(&owner, STARTED, limited);
        assert_eq!(owner.redeem(&fresh, Visitor::Unknown), Ok(()));
        let other = code(&owner, STARTED, limited);
        owner.clock = || STARTED.plus(Duration::from_secs(60));
        assert_eq!(owner.redeem(&other, Visitor::Unknown), Err(CodeRefusal::Expired));
        assert_eq!(owner.redeem(&fresh, Visitor::Unknown), Err(CodeRefusal::Expired));
        assert!(owner.used.is_empty(), "expired codes are not remembered");
    }

    #[test]
    fn code_of_an_earlier_session_is_refused() {
        let mut owner = owner();
        let earlier = code(&owner, Timestamp(STARTED.0 - 1), CodeLifetime::UntilSessionEnds);
        assert_eq!(owner.redeem(&earlier, Visitor::Unknown), Err(CodeRefusal::Expired));
    }

    #[test]
    fn rotation_revokes_token_and_codes() {
        let mut owner = owner();
        let old = owner.auth().issued();
        let code = code(&owner, STARTED, CodeLifetime::UntilSessionEnds);
        let token = owner.rotate().unwrap();
        assert!(old.revoked.is_cancelled() && !owner.auth().issued().revoked.is_cancelled());
        assert_eq!(*owner.auth().keys().token(), token);
        assert_eq!(owner.redeem(&code, Visitor::Unknown), Err(CodeRefusal::Unknown));
    }

    #[test]
    fn token_stays_if_the_new_one_cannot_be_saved() {
        let mut owner = owner();
        owner.save = Box::new(|_| Err(Failure::environment("no space")));
        assert!(owner.rotate().is_err());
        assert_eq!(&**owner.auth().keys().token(), "token");
    }

    #[test]
    fn second_use_of_a_browser_link_warns() {
        let warned = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let count = Arc::clone(&warned);
        let mut owner = owner().with_warnings(Box::new(move |_| {
            count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }));
        let mut warnings_of = |lifetime: CodeLifetime, second: Visitor| {
            let before = warned.load(std::sync::atomic::Ordering::Relaxed);
            let code = code(&owner, STARTED, lifetime);
            assert_eq!(owner.redeem(&code, Visitor::Unknown), Ok(()));
            assert_eq!(owner.redeem(&code, second), Err(CodeRefusal::Used));
            warned.load(std::sync::atomic::Ordering::Relaxed) - before
        };
        let limited = CodeLifetime::Limited(Duration::from_secs(60));
        assert_eq!(warnings_of(limited, Visitor::Unknown), 1);
        assert_eq!(warnings_of(limited, Visitor::SignedIn), 0, "the back button");
        assert_eq!(warnings_of(CodeLifetime::UntilSessionEnds, Visitor::Unknown), 0, "the user has the link");
    }
}
