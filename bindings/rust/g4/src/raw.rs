//! What the safe types share at the boundary: strings and paths, buffers, option structs, callbacks.
use crate::{Channel, Error, Event, Result};
use g4_sys as ffi;
use std::any::Any;
use std::ffi::{CStr, CString};
use std::mem::{size_of, zeroed};
use std::ops::ControlFlow;
use std::os::raw::{c_char, c_void};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::Path;
use std::slice;

pub(crate) fn c_string(text: &str, what: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::argument(format!("{what} {text:?} has a zero byte in it")))
}

pub(crate) fn c_path(path: &Path) -> Result<CString> {
    #[cfg(unix)]
    let bytes = std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str());
    #[cfg(not(unix))]
    let bytes = path.to_str().ok_or_else(|| Error::argument(format!("the path {path:?} is not Unicode")))?.as_bytes();
    CString::new(bytes).map_err(|_| Error::argument(format!("the path {path:?} has a zero byte in it")))
}

/// An owned copy of a string of the library; "" for NULL.
pub(crate) unsafe fn owned(text: *const c_char) -> String {
    if text.is_null() {
        String::new()
    } else {
        CStr::from_ptr(text).to_string_lossy().into_owned()
    }
}

/// The library wants NULL for nothing; Rust's empty slices point somewhere.
pub(crate) fn pointer<T>(values: &[T]) -> *const T {
    if values.is_empty() {
        std::ptr::null()
    } else {
        values.as_ptr()
    }
}

/// The structs that begin with their size. All their fields may be zero.
pub(crate) trait Sized32: Copy {
    fn set_size(&mut self, bytes: u32);
}
macro_rules! sized {
    ($($name:ident)*) => { $(impl Sized32 for ffi::$name { fn set_size(&mut self, bytes: u32) { self.struct_size = bytes; } })* };
}
sized! { g4_image g4_sound g4_media_part g4_session_options g4_memory_estimate g4_chat_options g4_prefill_options g4_sampling g4_generate_options g4_generate_result
g4_event g4_cache_options g4_cache_result g4_kv_probe_result g4_info g4_kv_layer g4_stats }

/// All zero, with its size.
pub(crate) fn init<T: Sized32>() -> T {
    let mut value: T = unsafe { zeroed() };
    value.set_size(size_of::<T>() as u32);
    value
}

/// A result of variable length: with room for `guess` elements first, once more if that was too little.
pub(crate) fn fill<T: Copy + Default>(
    guess: usize,
    mut call: impl FnMut(*mut T, usize, *mut usize) -> ffi::g4_status,
) -> Result<Vec<T>> {
    let mut values = vec![T::default(); guess];
    let mut needed = 0;
    let mut status = call(values.as_mut_ptr(), values.len(), &mut needed);
    if status == ffi::G4_ERR_BUFFER || (status == ffi::G4_OK && needed > values.len()) {
        values.resize(needed, T::default());
        status = call(values.as_mut_ptr(), values.len(), &mut needed);
    }
    crate::error::check(status)?;
    values.truncate(needed);
    Ok(values)
}

/// A closure on its way through the C interface. A panic in it ends the call and goes on once the C function has returned.
pub(crate) struct Callback<'a> {
    function: &'a mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
    panic: Option<Box<dyn Any + Send>>,
}

impl<'a> Callback<'a> {
    pub(crate) fn new(function: &'a mut dyn FnMut(Event<'_>) -> ControlFlow<()>) -> Callback<'a> {
        Callback { function, panic: None }
    }
    pub(crate) fn payload(&mut self) -> *mut c_void {
        (self as *mut Callback<'a>).cast()
    }
    pub(crate) fn finish(self, status: ffi::g4_status) -> Result<()> {
        let result = crate::error::check(status);
        match self.panic {
            Some(panic) => resume_unwind(panic),
            None => result,
        }
    }
}

pub(crate) unsafe extern "C" fn on_event(event: *const ffi::g4_event, payload: *mut c_void) -> i32 {
    let callback = &mut *payload.cast::<Callback<'_>>();
    let event = match translate(&*event) {
        Some(event) if callback.panic.is_none() => event,
        Some(_) => return 1,
        None => return 0,
    };
    match catch_unwind(AssertUnwindSafe(|| (callback.function)(event))) {
        Ok(ControlFlow::Continue(())) => 0,
        Ok(ControlFlow::Break(())) => 1,
        Err(panic) => {
            callback.panic = Some(panic);
            1
        }
    }
}

/// None for an event that says nothing: of a newer library, or the end of a generation.
pub(crate) unsafe fn translate(event: &ffi::g4_event) -> Option<Event<'_>> {
    Some(match event.kind {
        ffi::G4_EVENT_LOAD => Event::Load { done_bytes: event.done_count, total_bytes: event.total_count },
        ffi::G4_EVENT_PREFILL => Event::Prefill { done_count: event.done_count, total_count: event.total_count },
        ffi::G4_EVENT_TOKEN => Event::Token {
            token: event.token,
            channel: Channel::from_raw(event.channel),
            text: std::str::from_utf8(slice::from_raw_parts(event.text.cast(), event.text_bytes)).unwrap_or("\u{fffd}"),
        },
        ffi::G4_EVENT_LOGITS => Event::Logits(slice::from_raw_parts_mut(event.logits, event.logits_count)),
        _ => return None,
    })
}
