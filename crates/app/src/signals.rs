//! Ctrl-C and SIGTERM. The first ends the searches, and what is known is written; a later one ends the program at once.
//!
//! `timeout` signals its child and then the group that the child belongs to, so that two signals arrive together, and a
//! terminal may do the same: what comes within a second of the first is taken for a part of it.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Set by the first signal; every search looks at it.
pub(crate) static CANCELLED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Signals so soon after the first are the same request.
#[cfg(unix)]
const TOGETHER: std::time::Duration = std::time::Duration::from_secs(1);

/// The exit code of a program that ends at once.
const AT_ONCE: i32 = 130;

/// From now on signals end the searches and not the program. Flags are set by the handler itself. The thread that lets a
/// second signal through sleeps until there is a first.
pub(crate) fn cancel_on_interrupt() {
    let again = match watch() {
        Some(passed) => passed,
        // No thread, no second: any second signal ends the program.
        None => Arc::clone(&CANCELLED),
    };
    for signal in [SIGINT, SIGTERM] {
        // Without a handler Ctrl-C still works, less politely.
        let _ = flag::register_conditional_shutdown(signal, AT_ONCE, Arc::clone(&again));
        let _ = flag::register(signal, Arc::clone(&CANCELLED));
    }
}

/// A flag that is set a second after the first signal.
#[cfg(unix)]
fn watch() -> Option<Arc<AtomicBool>> {
    use std::io::Read;
    use std::os::unix::net::UnixStream;
    const STACK: usize = 64 << 10;
    let passed: Arc<AtomicBool> = Arc::default();
    let (mut woken, wakes) = UnixStream::pair().ok()?;
    for signal in [SIGINT, SIGTERM] {
        signal_hook::low_level::pipe::register(signal, wakes.try_clone().ok()?).ok()?;
    }
    let set = Arc::clone(&passed);
    let watcher = move || {
        if woken.read_exact(&mut [0]).is_ok() {
            std::thread::sleep(TOGETHER);
            set.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    };
    std::thread::Builder::new().stack_size(STACK).spawn(watcher).ok()?;
    Some(passed)
}

#[cfg(not(unix))]
fn watch() -> Option<Arc<AtomicBool>> {
    None
}
