use g4_sys as ffi;
use std::ffi::CStr;
use std::fmt;

/// What kind of failure it was: the `G4_ERR_…` numbers of the C interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// An argument is wrong; the message says which and why.
    Argument,
    /// A buffer is too small.
    Buffer,
    /// The call does not fit the session's state: no logits yet, another call running.
    State,
    /// A file cannot be read or written.
    Io,
    /// A file is damaged or inconsistent.
    Format,
    /// A file or option is valid but g4 does not support it.
    Unsupported,
    /// A KV file of another model, KV type or geometry.
    Mismatch,
    /// Not enough memory.
    Memory,
    /// The tokens do not fit the rest of the context.
    ContextFull,
    /// Ended by [`Canceller::cancel`](crate::Canceller::cancel) or by a callback.
    Cancelled,
    /// A fault of g4 itself; please report it.
    Internal,
    /// A number of a newer library.
    Other(i32),
}

impl Status {
    fn from_raw(status: ffi::g4_status) -> Status {
        match status {
            ffi::G4_ERR_ARGUMENT => Status::Argument,
            ffi::G4_ERR_BUFFER => Status::Buffer,
            ffi::G4_ERR_STATE => Status::State,
            ffi::G4_ERR_IO => Status::Io,
            ffi::G4_ERR_FORMAT => Status::Format,
            ffi::G4_ERR_UNSUPPORTED => Status::Unsupported,
            ffi::G4_ERR_MISMATCH => Status::Mismatch,
            ffi::G4_ERR_MEMORY => Status::Memory,
            ffi::G4_ERR_CONTEXT_FULL => Status::ContextFull,
            ffi::G4_ERR_CANCELLED => Status::Cancelled,
            ffi::G4_ERR_INTERNAL => Status::Internal,
            other => Status::Other(other),
        }
    }
}

/// A failed call: its kind, and a message for people that names the thing, the value and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    status: Status,
    message: String,
}

impl Error {
    pub(crate) fn argument(message: String) -> Error {
        Error { status: Status::Argument, message }
    }
    pub fn status(&self) -> Status {
        self.status
    }
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

pub type Result<T> = std::result::Result<T, Error>;

/// The outcome of a C call that was made on this thread just now.
pub(crate) fn check(status: ffi::g4_status) -> Result<()> {
    if status == ffi::G4_OK {
        return Ok(());
    }
    let message = unsafe { CStr::from_ptr(ffi::g4_last_error()) }.to_string_lossy().into_owned();
    Err(Error { status: Status::from_raw(status), message })
}
