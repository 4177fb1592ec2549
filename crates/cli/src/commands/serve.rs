//! `bentpipe serve`: the page.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use bentpipe_serve::{Options, ServeError, Server, Token, is_built};

use crate::args::Serve;
use crate::commands::sim::show;
use crate::commands::stop::{Stop, in_runtime};
use crate::failure::Failure;

/// Serves the page until it is told to end.
pub(crate) fn serve(args: &Serve) -> Result<(), Failure> {
    if !is_built() {
        let message = "this build has no page: run `make page`, which needs npm, and build again";
        return Err(Failure::System(message.to_owned()));
    }
    let token = args.token_file.as_deref().map(token).transpose()?;
    let folder = args.dir.as_deref().map(folder).transpose()?;
    let gateways = args.gateway.clone();
    let options = Options { token, folder, gateways, ..Options::new(args.listen) };
    in_runtime(async {
        let mut stop = Stop::listen()?;
        let server = Server::bind(options).await.map_err(|error| match error {
            ServeError::NoToken(_) => Failure::Input(format!("--listen: {error}")),
            ServeError::Listen(..) => Failure::System(error.to_string()),
        })?;
        writeln!(std::io::stdout(), "{}", server.url())?;
        if args.open {
            show::show(server.url().as_ref());
        }
        Ok(server.run(stop.wait()).await?)
    })
}

/// The token in a file that nobody else may read.
fn token(path: &Path) -> Result<Token, Failure> {
    let wrong =
        |message: String| Failure::Input(format!("--token-file: {}: {message}", path.display()));
    let mode = fs::metadata(path).map_err(|error| wrong(error.to_string()))?.permissions().mode();
    if mode & 0o077 != 0 {
        let mode = mode & 0o777;
        return Err(wrong(format!(
            "mode {mode:04o} lets others read the token; `chmod 600` makes it right"
        )));
    }
    let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    text.trim_end().parse().map_err(|error: bentpipe_serve::BadToken| wrong(error.to_string()))
}

/// A folder by its full name.
fn folder(path: &Path) -> Result<std::path::PathBuf, Failure> {
    let wrong = |message: &str| Failure::Input(format!("{}: {message}", path.display()));
    let full = path.canonicalize().map_err(|error| wrong(&error.to_string()))?;
    if full.is_dir() {
        Ok(full)
    } else {
        Err(wrong("it is no folder; DIR is one with files that scenarios name"))
    }
}
