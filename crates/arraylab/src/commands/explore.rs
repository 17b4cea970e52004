//! `explore`: a page on loopback that answers questions about arrays.

use crate::cli::ExploreArgs;
use crate::commands::run::catch_signals;
use crate::failure::Failure;
use crate::output::{print, print_notice};
use diagnostic::Problem;
use explore::Explorer;
use metrics::{AccessScope, MetricsListener, Token};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Time between two looks at whether to end.
const LOOK: Duration = Duration::from_millis(100);

/// `arraylab explore`; the line on stdout is the page's address with its token.
pub fn explore(arguments: &ExploreArgs) -> Result<ExitCode, Failure> {
    let explorer = Explorer::new(&arguments.array).map_err(|error| Failure::Refused(Box::new(error)))?;
    if !arguments.listen.ip().is_loopback() {
        let problem =
            format!("{} can be reached from other hosts, and the page is for this one", arguments.listen);
        return Err(Failure::refused(
            Problem::from(problem)
                .with_hint("`ssh -L 8080:127.0.0.1:PORT` brings a page on 127.0.0.1 elsewhere"),
        ));
    }
    let listener = MetricsListener::bind(arguments.listen, AccessScope::Loopback)
        .map_err(|error| Failure::Refused(Box::new(error)))?;
    let token = Token::random().map_err(Failure::failed_by)?;
    let fragment = token.reveal().to_owned();
    let interrupt = catch_signals()?;
    let server =
        listener.serve(Arc::new(explorer), Some(token)).map_err(|error| Failure::Failed(Box::new(error)))?;
    print(&format!("http://{}/#token={fragment}\n", server.address()))?;
    print_notice("Ctrl-C ends it; whoever has the address with its token can ask");
    while !interrupt.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK);
    }
    Ok(ExitCode::SUCCESS)
}
