use g4_sys as ffi;
use std::ptr::{null_mut, NonNull};
use std::sync::{Arc, Mutex, PoisonError};

/// The one owner of a C session.
pub(crate) struct Handle {
    session: NonNull<ffi::g4_session>,
    canceller: Canceller,
}

// A C session may move between threads.
unsafe impl Send for Handle {}

impl Handle {
    pub(crate) fn new(session: *mut ffi::g4_session) -> Handle {
        let session = NonNull::new(session).expect("g4 gave a session");
        Handle { session, canceller: Canceller(Arc::new(Mutex::new(Target(session.as_ptr())))) }
    }
    pub(crate) fn raw(&self) -> *mut ffi::g4_session {
        self.session.as_ptr()
    }
    pub(crate) fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.canceller.forget();
        unsafe { ffi::g4_session_free(self.raw()) }
    }
}

struct Target(*mut ffi::g4_session);

// g4_cancel may come from any thread.
unsafe impl Send for Target {}

/// Ends the call that runs on a session, from any thread and at any time. Without a running call, or without the session, it does
/// nothing.
#[derive(Clone)]
pub struct Canceller(Arc<Mutex<Target>>);

impl Canceller {
    /// Within 100 ms a prefill fails with [`Status::Cancelled`](crate::Status::Cancelled), its position unchanged, and a generation ends
    /// with [`FinishReason::Cancelled`](crate::FinishReason::Cancelled). The session stays usable.
    pub fn cancel(&self) {
        let target = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !target.0.is_null() {
            unsafe { ffi::g4_cancel(target.0) }
        }
    }

    fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0 = null_mut();
    }
}
