//! Whole-program tests of the command: what it shows, the JSON it promises, and how it ends when it
//! is stopped.

#[cfg(unix)]
mod interrupted;
mod json;
mod links;
mod network;
#[cfg(unix)]
mod open_files;
#[cfg(unix)]
mod proxies;
#[cfg(unix)]
mod pseudo_terminal;
mod readme;
#[cfg(unix)]
mod remote;
#[cfg(unix)]
mod sarif;
mod schema;
#[path = "../remote/server/mod.rs"]
mod server;
#[cfg(unix)]
mod streams;
mod terminal;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::LazyLock;

use libtest_mimic::Arguments;

fn main() -> ExitCode {
    if readme::is_tour() {
        return ExitCode::SUCCESS;
    }
    let mut trials = terminal::trials();
    trials.extend(json::trials());
    trials.extend(readme::trials());
    trials.extend(links::trials());
    trials.extend(schema::trials());
    #[cfg(unix)]
    trials.extend(interrupted::trials().into_iter().chain(streams::trials()));
    #[cfg(unix)]
    trials.extend(sarif::trials());
    #[cfg(unix)]
    trials.extend(open_files::trials().into_iter().chain(remote::trials()));
    #[cfg(unix)]
    trials.extend(proxies::trials());
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The command, in a folder where it is called as users call it.
fn program() -> &'static Path {
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
        let built = Path::new(env!("CARGO_BIN_EXE_weigh-tested"));
        let folder = built.with_file_name("tested");
        let program = folder.join("weigh").with_extension(std::env::consts::EXE_EXTENSION);
        std::fs::create_dir_all(&folder).unwrap();
        // A run beside this one may have the old link open: a new one takes its name.
        let new = folder.join(format!("new-{}", std::process::id()));
        let copied = || std::fs::copy(built, &new).map(|_| ());
        std::fs::hard_link(built, &new).or_else(|_| copied()).unwrap();
        std::fs::rename(&new, &program).unwrap();
        program
    });
    &PROGRAM
}

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// Functions as tests under their own names, below the name of their module.
macro_rules! trials {
    ($module:literal: $($function:ident),+ $(,)?) => {
        vec![$(libtest_mimic::Trial::test(concat!($module, "/", stringify!($function)), || {
            $function();
            Ok(())
        })),+]
    };
}
use trials;
