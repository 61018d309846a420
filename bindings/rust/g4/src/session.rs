use crate::error::check;
use crate::handle::{Canceller, Handle};
use crate::media::encode;
use crate::raw::{c_path, fill, init, on_event, pointer, Callback};
use crate::{
    Cache, Cached, Event, Generate, Generated, Image, Info, KvLayer, Media, Options, Result, Sampling, Sound, Stats, Stream,
    Tokenizer,
};
use g4_sys as ffi;
use std::ops::ControlFlow;
use std::path::Path;
use std::ptr::null_mut;
use std::slice;
use std::time::Duration;

/// One conversation: weights (shared with forks), KV cache, position.
///
/// It may move between threads but serves one call at a time, so it is [`Send`] and not [`Sync`]:
///
/// ```compile_fail,E0277
/// fn shared<T: Sync>() {}
/// shared::<g4::Session>();
/// ```
pub struct Session {
    handle: Handle,
    _not_sync: std::marker::PhantomData<std::cell::Cell<()>>,
}

impl Session {
    /// Opens a Gemma 4 GGUF file at position 0. The file must stay unchanged while it is in use.
    pub fn open(path: impl AsRef<Path>) -> Result<Session> {
        Session::open_with(path, &Options::default(), |_| ControlFlow::Continue(()))
    }

    /// [`open`](Self::open) with options; sends [`Event::Load`].
    pub fn open_with(
        path: impl AsRef<Path>,
        options: &Options,
        mut callback: impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Session> {
        let path = c_path(path.as_ref())?;
        let mut options = options.raw()?;
        let mut events = Callback::new(&mut callback);
        options.c.callback = Some(on_event);
        options.c.payload = events.payload();
        let mut session = null_mut();
        let status = unsafe { ffi::g4_session_open(&mut session, path.as_ptr(), &options.c) };
        let opened = if session.is_null() { None } else { Some(Session::from_raw(session)) };
        events.finish(status)?;
        Ok(opened.expect("g4_session_open gave a session"))
    }

    fn from_raw(session: *mut ffi::g4_session) -> Session {
        Session { handle: Handle::new(session), _not_sync: std::marker::PhantomData }
    }

    pub(crate) fn raw(&self) -> *mut ffi::g4_session {
        self.handle.raw()
    }

    /// A second session of the same model that starts as an exact copy of this one. Costs no computation and little memory.
    pub fn fork(&mut self) -> Result<Session> {
        let mut session = null_mut();
        check(unsafe { ffi::g4_session_fork(&mut session, self.raw()) })?;
        Ok(Session::from_raw(session))
    }

    pub fn tokenizer(&self) -> &Tokenizer {
        unsafe { Tokenizer::from_raw(ffi::g4_session_tokenizer(self.raw())) }.expect("a session has a tokenizer")
    }

    /// Something that ends the running call from another thread.
    pub fn canceller(&self) -> Canceller {
        self.handle.canceller()
    }

    /// Appends tokens; afterwards [`logits`](Self::logits) gives those after the last of them. All or nothing.
    pub fn prefill(&mut self, tokens: &[i32]) -> Result<()> {
        self.prefill_with(tokens, |_| ControlFlow::Continue(()))
    }

    /// [`prefill`](Self::prefill) that sends [`Event::Prefill`]; Break ends it with [`Status::Cancelled`](crate::Status::Cancelled).
    pub fn prefill_with(&mut self, tokens: &[i32], mut callback: impl FnMut(Event<'_>) -> ControlFlow<()>) -> Result<()> {
        self.prefill_into(&mut [], tokens, &mut callback)
    }

    /// [`prefill`](Self::prefill) that returns the logits after every token, \[tokens, vocabulary\] row by row.
    pub fn prefill_all(&mut self, tokens: &[i32]) -> Result<Vec<f32>> {
        let mut logits = vec![0.0; tokens.len() * self.tokenizer().vocab_count()];
        self.prefill_into(&mut logits, tokens, &mut |_| ControlFlow::Continue(()))?;
        Ok(logits)
    }

    fn prefill_into(
        &mut self,
        logits: &mut [f32],
        tokens: &[i32],
        callback: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut events = Callback::new(callback);
        let options = ffi::g4_prefill_options {
            all_logits: if logits.is_empty() { null_mut() } else { logits.as_mut_ptr() },
            all_logits_count: logits.len(),
            callback: Some(on_event),
            payload: events.payload(),
            ..init()
        };
        let status = unsafe { ffi::g4_prefill(self.raw(), pointer(tokens), tokens.len(), &options) };
        events.finish(status)
    }

    /// [`prefill`](Self::prefill) of several forks in one pass, which reads the weights once for all. All or nothing.
    pub fn prefill_batch(parts: &mut [(&mut Session, &[i32])]) -> Result<()> {
        let sessions: Vec<_> = parts.iter().map(|(session, _)| session.raw()).collect();
        let tokens: Vec<_> = parts.iter().map(|(_, tokens)| pointer(tokens)).collect();
        let counts: Vec<_> = parts.iter().map(|(_, tokens)| tokens.len()).collect();
        check(unsafe { ffi::g4_prefill_batch(sessions.as_ptr(), tokens.as_ptr(), counts.as_ptr(), parts.len()) })
    }

    /// The logits after the last position, \[vocabulary\].
    pub fn logits(&self) -> Result<&[f32]> {
        let (mut logits, mut count) = (std::ptr::null(), 0);
        check(unsafe { ffi::g4_logits(&mut logits, &mut count, self.raw()) })?;
        Ok(unsafe { slice::from_raw_parts(logits, count) })
    }

    /// The next token, not evaluated.
    pub fn sample(&self, sampling: &Sampling) -> Result<i32> {
        let mut token = 0;
        check(unsafe { ffi::g4_sample(&mut token, self.raw(), &sampling.raw().c) })?;
        Ok(token)
    }

    /// The next token, evaluated; it may be one that ends the answer ([`Tokenizer::is_stop`]).
    pub fn decode(&mut self, sampling: &Sampling) -> Result<i32> {
        let mut token = 0;
        check(unsafe { ffi::g4_decode(&mut token, self.raw(), &sampling.raw().c) })?;
        Ok(token)
    }

    /// Evaluates the prompt (none: goes on from the current logits), then generates until something ends it, and says what. Events come
    /// on this thread; Break ends the answer. See [`stream`](Self::stream) for an iterator.
    pub fn generate(
        &mut self,
        prompt: &[i32],
        options: &Generate,
        mut callback: impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Generated> {
        let options = options.raw(prompt)?;
        let mut events = Callback::new(&mut callback);
        let mut result: ffi::g4_generate_result = init();
        let status = unsafe { ffi::g4_generate(&mut result, self.raw(), &options.c, Some(on_event), events.payload()) };
        events.finish(status)?;
        Ok(Generated::from_raw(&result))
    }

    /// [`generate`](Self::generate) as an iterator: evaluates the prompt now, each step makes one token. Drop it at any of them: the session
    /// holds the tokens seen so far.
    ///
    /// ```no_run
    /// # fn main() -> g4::Result<()> {
    /// let mut session = g4::Session::open("model.gguf")?;
    /// let prompt = session.tokenizer().chat_tokenize(r#"[{"role": "user", "content": "Hello"}]"#, &Default::default())?;
    /// for piece in session.stream(&prompt, &Default::default()) {
    ///     print!("{}", piece?.text);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream(&mut self, prompt: &[i32], options: &Generate) -> Stream<'_> {
        Stream::begin(self, prompt, options)
    }

    /// Tokens held.
    pub fn position(&self) -> usize {
        unsafe { ffi::g4_position(self.raw()) }
    }

    /// The tokens held, in order.
    pub fn tokens(&self) -> Result<Vec<i32>> {
        fill(self.position(), |data, capacity, needed| unsafe { ffi::g4_tokens(data, capacity, needed, self.raw()) })
    }

    /// Back to position 0; the weights stay loaded.
    pub fn reset(&mut self) -> Result<()> {
        check(unsafe { ffi::g4_reset(self.raw()) })
    }

    /// [`truncate`](Self::truncate) is exact at every position from this one on.
    pub fn rewind_min(&self) -> usize {
        unsafe { ffi::g4_rewind_min(self.raw()) }
    }

    /// Forgets all from `position` on; going on gives exactly what it would have given the first time. Fails with
    /// [`Status::State`](crate::Status::State) where that is not exact.
    pub fn truncate(&mut self, position: usize) -> Result<()> {
        check(unsafe { ffi::g4_truncate(self.raw(), position, 0) })
    }

    /// [`truncate`](Self::truncate) that evaluates tokens again where it could not be exact otherwise.
    pub fn truncate_reevaluate(&mut self, position: usize) -> Result<()> {
        check(unsafe { ffi::g4_truncate(self.raw(), position, ffi::G4_TRUNCATE_REEVALUATE) })
    }

    /// Makes the session hold exactly these tokens, a whole conversation, and evaluates only what is new of it. Returns how many
    /// positions were kept.
    pub fn extend(&mut self, tokens: &[i32]) -> Result<usize> {
        let mut reused = 0;
        check(unsafe { ffi::g4_extend(&mut reused, self.raw(), pointer(tokens), tokens.len(), std::ptr::null()) })?;
        Ok(reused)
    }

    /// [`extend`](Self::extend) with a cache on disk, which finds prompts again by content. A cache that cannot be used makes the call
    /// slower but never fail; the result tells.
    pub fn extend_cached(&mut self, tokens: &[i32], cache: &Cache) -> Result<Cached> {
        let path = c_path(&cache.path)?;
        let options = ffi::g4_cache_options {
            flags: if cache.single_file { ffi::G4_CACHE_FILE } else { 0 },
            path: path.as_ptr(),
            limit_bytes: cache.limit_bytes,
            ..init()
        };
        let mut result: ffi::g4_cache_result = init();
        let (data, count, no_options) = (pointer(tokens), tokens.len(), std::ptr::null());
        check(unsafe { ffi::g4_extend_cached(&mut result, self.raw(), data, count, &options, no_options) })?;
        Ok(Cached {
            reused_count: result.reused_count,
            written_bytes: result.written_bytes,
            problem: check(result.cache_status).err(),
        })
    }

    /// Encodes a picture. `token_budget`: the most tokens it may take, 70, 140, 280, 560 or 1120; 0: 280.
    pub fn encode_image(&mut self, image: &Image<'_>, token_budget: u32) -> Result<Media> {
        let image = image.raw()?;
        encode(|out| unsafe { ffi::g4_encode_image(out, self.raw(), &image, token_budget) })
    }

    /// Encodes frames of a video and the times they are of. `token_budget`: of a frame; 0: 70.
    pub fn encode_video(&mut self, frames: &[(Image<'_>, Duration)], token_budget: u32) -> Result<Media> {
        let images = frames.iter().map(|(image, _)| image.raw()).collect::<Result<Vec<_>>>()?;
        let images: Vec<_> = images.iter().map(|image| image as *const ffi::g4_image).collect();
        let times: Vec<_> = frames.iter().map(|(_, time)| time.as_nanos() as u64).collect();
        encode(|out| unsafe {
            ffi::g4_encode_video(out, self.raw(), pointer(&images), pointer(&times), frames.len(), token_budget)
        })
    }

    /// Encodes a sound. `split`: cut one of more than 30 s into clips.
    pub fn encode_sound(&mut self, sound: &Sound<'_>, split: bool) -> Result<Media> {
        let sound = sound.raw();
        let flags = if split { ffi::G4_SOUND_SPLIT } else { 0 };
        encode(|out| unsafe { ffi::g4_encode_sound(out, self.raw(), &sound, flags) })
    }

    /// Writes the session's state to a file and returns its bytes. If it fails, an old file of this name stays whole.
    pub fn save_kv(&mut self, path: impl AsRef<Path>) -> Result<u64> {
        let path = c_path(path.as_ref())?;
        let mut bytes = 0;
        check(unsafe { ffi::g4_save_kv(&mut bytes, self.raw(), path.as_ptr()) })?;
        Ok(bytes)
    }

    /// Takes over the state of a file; going on from it gives the same bits as never having saved. Returns the positions restored.
    pub fn load_kv(&mut self, path: impl AsRef<Path>) -> Result<usize> {
        self.load_kv_for(path, &[])
    }

    /// [`load_kv`](Self::load_kv) of the longest common prefix with a prompt that is exact; 0 if nothing fits.
    pub fn load_kv_for(&mut self, path: impl AsRef<Path>, prompt: &[i32]) -> Result<usize> {
        let path = c_path(path.as_ref())?;
        let mut restored = 0;
        check(unsafe { ffi::g4_load_kv(&mut restored, self.raw(), path.as_ptr(), pointer(prompt), prompt.len()) })?;
        Ok(restored)
    }

    /// Tells the model apart from others: configuration and samples of the weights.
    pub fn model_fingerprint(&self) -> Result<[u8; 16]> {
        let mut bytes = [0; 16];
        check(unsafe { ffi::g4_model_fingerprint(bytes.as_mut_ptr(), self.raw()) })?;
        Ok(bytes)
    }

    pub fn info(&self) -> Result<Info> {
        let mut info: ffi::g4_info = init();
        check(unsafe { ffi::g4_session_info(&mut info, self.raw()) })?;
        Ok(unsafe { Info::from_raw(&info) })
    }

    /// One row of the KV registry.
    pub fn kv_layer(&self, layer: u32) -> Result<KvLayer> {
        let mut row: ffi::g4_kv_layer = init();
        check(unsafe { ffi::g4_kv_layer_info(&mut row, self.raw(), layer) })?;
        Ok(KvLayer::from_raw(&row))
    }

    pub fn stats(&self) -> Result<Stats> {
        let mut stats: ffi::g4_stats = init();
        check(unsafe { ffi::g4_session_stats(&mut stats, self.raw()) })?;
        Ok(stats)
    }

    /// How many token rows each layer has run in full: shows what prefill pruning saves.
    pub fn layer_rows(&self) -> Result<Vec<u64>> {
        fill(64, |data, capacity, needed| unsafe { ffi::g4_layer_rows(data, capacity, needed, self.raw()) })
    }
}
