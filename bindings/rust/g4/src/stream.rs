use crate::error::check;
use crate::raw::{init, translate};
use crate::{Channel, Error, Event, FinishReason, Generate, Generated, Result, Session};
use g4_sys as ffi;
use std::ptr::{null_mut, NonNull};

/// One token of an answer, and the whole characters to show with it, perhaps none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub token: i32,
    pub channel: Channel,
    pub text: String,
}

/// An answer, token by token, see [`Session::stream`]: each step of the iterator evaluates one.
pub struct Stream<'a> {
    session: &'a mut Session,
    /// None: the prompt could not be evaluated.
    generation: Option<NonNull<ffi::g4_generation>>,
    /// What `next` has yet to tell.
    error: Option<Error>,
}

// Like the session that it holds on to.
unsafe impl Send for Stream<'_> {}

impl<'a> Stream<'a> {
    pub(crate) fn begin(session: &'a mut Session, prompt: &[i32], options: &Generate) -> Stream<'a> {
        let mut generation = null_mut();
        let begun = Generate { logits_events: false, ..options.clone() }.raw(prompt).and_then(|options| {
            check(unsafe { ffi::g4_generation_begin(&mut generation, session.raw(), &options.c, None, null_mut()) })
        });
        Stream { session, generation: NonNull::new(generation), error: begun.err() }
    }

    /// The session, to look at between two tokens.
    pub fn session(&self) -> &Session {
        self.session
    }

    /// What came of it, once the iterator has ended well.
    pub fn generated(&self) -> Option<Generated> {
        let mut result: ffi::g4_generate_result = init();
        check(unsafe { ffi::g4_generation_result(&mut result, self.generation?.as_ptr()) }).ok()?;
        let generated = Generated::from_raw(&result);
        (generated.finish_reason != FinishReason::Other(ffi::G4_FINISH_NONE)).then_some(generated)
    }

    fn free(&mut self) {
        if let Some(generation) = self.generation.take() {
            unsafe { ffi::g4_generation_free(generation.as_ptr()) }
        }
    }
}

impl Iterator for Stream<'_> {
    type Item = Result<Piece>;

    fn next(&mut self) -> Option<Result<Piece>> {
        if let Some(error) = self.error.take() {
            return Some(Err(error));
        }
        let mut event: ffi::g4_event = init();
        if let Err(error) = check(unsafe { ffi::g4_generation_next(&mut event, self.generation?.as_ptr()) }) {
            self.free();
            return Some(Err(error));
        }
        match unsafe { translate(&event) } {
            Some(Event::Token { token, channel, text }) => Some(Ok(Piece { token, channel, text: text.to_string() })),
            _ => None,
        }
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        self.free();
    }
}
