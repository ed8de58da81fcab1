//! Ctrl-C and SIGTERM. The first ends the searches, and what is known is written; a later one ends the program at once.
//!
//! `timeout` signals its child and then the group that the child belongs to, so that two signals arrive together, and a
//! terminal may do the same: what comes within a second of the first is taken for a part of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Once};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Set by the first signal; every search looks at it.
pub(crate) static CANCELLED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Signals so soon after the first are the same request.
#[cfg(unix)]
const TOGETHER: std::time::Duration = std::time::Duration::from_secs(1);

/// The exit code of a program that ends at once.
const AT_ONCE: i32 = 130;

/// From now on signals end the searches and not the program; only the first call does something.
pub(crate) fn cancel_on_interrupt() {
    static ONCE: Once = Once::new();
    ONCE.call_once(register);
}

fn register() {
    if watch().is_some() {
        return;
    }
    // No thread, no second: any second signal ends the program.
    for signal in [SIGINT, SIGTERM] {
        // Without a handler Ctrl-C still works, less politely.
        let _ = flag::register_conditional_shutdown(signal, AT_ONCE, Arc::clone(&CANCELLED));
        let _ = flag::register(signal, Arc::clone(&CANCELLED));
    }
}

/// A thread that sleeps until there is a signal. To register what the handler itself does costs more than to start a small
/// check, so it does one thing: it wakes the thread.
#[cfg(unix)]
fn watch() -> Option<()> {
    use std::io::Read;
    use std::os::unix::net::UnixStream;
    const STACK: usize = 64 << 10;
    let (mut woken, wakes) = UnixStream::pair().ok()?;
    let again = wakes.try_clone().ok()?;
    let watcher = move || {
        if woken.read_exact(&mut [0]).is_err() {
            return;
        }
        CANCELLED.store(true, Ordering::Relaxed);
        std::thread::sleep(TOGETHER);
        // Those that came together with the first.
        if woken.set_nonblocking(true).is_ok() {
            while woken.read(&mut [0; 64]).is_ok_and(|read| read > 0) {}
        }
        if woken.set_nonblocking(false).is_ok() && woken.read_exact(&mut [0]).is_ok() {
            std::process::exit(AT_ONCE);
        }
    };
    std::thread::Builder::new().stack_size(STACK).spawn(watcher).ok()?;
    signal_hook::low_level::pipe::register(SIGINT, wakes).ok()?;
    // Without this one SIGTERM ends the program at once.
    let _ = signal_hook::low_level::pipe::register(SIGTERM, again);
    Some(())
}

#[cfg(not(unix))]
fn watch() -> Option<()> {
    None
}
