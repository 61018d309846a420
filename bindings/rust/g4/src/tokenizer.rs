use crate::error::check;
use crate::raw::{c_path, fill, pointer};
use crate::{Chat, Media, Result};
use g4_sys as ffi;
use std::ops::Deref;
use std::path::Path;
use std::ptr::{null_mut, NonNull};

/// Vocabulary and chat format. Borrowed from a session, or from an [`OwnedTokenizer`]. It never changes: share it between threads as
/// you like.
#[repr(transparent)]
pub struct Tokenizer(ffi::g4_tokenizer);

unsafe impl Sync for Tokenizer {}

impl Tokenizer {
    /// The tokenizer of a GGUF file, which may hold no tensors.
    pub fn open(path: impl AsRef<Path>) -> Result<OwnedTokenizer> {
        let path = c_path(path.as_ref())?;
        let mut handle = null_mut();
        check(unsafe { ffi::g4_tokenizer_open(&mut handle, path.as_ptr()) })?;
        Ok(OwnedTokenizer(NonNull::new(handle).expect("g4_tokenizer_open gave a tokenizer")))
    }

    pub(crate) unsafe fn from_raw<'a>(handle: *const ffi::g4_tokenizer) -> Option<&'a Tokenizer> {
        handle.cast::<Tokenizer>().as_ref()
    }

    pub(crate) fn raw(&self) -> *const ffi::g4_tokenizer {
        &self.0
    }

    /// Ids of a text; everything in it is plain text. `bos`: put `<bos>` in front.
    pub fn tokenize(&self, text: &str, bos: bool) -> Result<Vec<i32>> {
        self.tokenize_with(text, if bos { ffi::G4_TOKENIZE_BOS } else { 0 })
    }

    /// [`tokenize`](Self::tokenize), but control tokens written in the text count as such. Not for text of strangers.
    pub fn tokenize_special(&self, text: &str, bos: bool) -> Result<Vec<i32>> {
        self.tokenize_with(text, ffi::G4_TOKENIZE_SPECIAL | if bos { ffi::G4_TOKENIZE_BOS } else { 0 })
    }

    fn tokenize_with(&self, text: &str, flags: u32) -> Result<Vec<i32>> {
        fill(text.len() / 2 + 8, |data, capacity, needed| unsafe {
            ffi::g4_tokenize(data, capacity, needed, &self.0, text.as_ptr().cast(), text.len(), flags)
        })
    }

    /// Text of ids without control tokens. The end of a character that was cut off becomes U+FFFD.
    pub fn detokenize(&self, tokens: &[i32]) -> Result<String> {
        Ok(text(self.detokenize_bytes(tokens, false)?))
    }

    /// The bytes of ids, to be put together when ids come one by one. `special`: write control tokens out as `<…>`.
    pub fn detokenize_bytes(&self, tokens: &[i32], special: bool) -> Result<Vec<u8>> {
        let flags = if special { ffi::G4_DETOKENIZE_SPECIAL } else { 0 };
        fill(tokens.len() * 8 + 8, |data: *mut u8, capacity, needed| unsafe {
            ffi::g4_detokenize(data.cast(), capacity, needed, &self.0, pointer(tokens), tokens.len(), flags)
        })
    }

    pub fn vocab_count(&self) -> usize {
        unsafe { ffi::g4_vocab_count(&self.0) as usize }
    }

    /// Whether this token ends an answer.
    pub fn is_stop(&self, token: i32) -> bool {
        unsafe { ffi::g4_is_stop(&self.0, token) != 0 }
    }

    /// A conversation (JSON, as in OpenAI's chat API) as the text of the official template, for looking at.
    pub fn chat_render(&self, conversation: &str, options: &Chat) -> Result<String> {
        let options = options.raw();
        let bytes = fill(conversation.len() + 256, |data: *mut u8, capacity, needed| unsafe {
            let (text, length) = (conversation.as_ptr().cast(), conversation.len());
            ffi::g4_chat_render(data.cast(), capacity, needed, &self.0, text, length, &options)
        })?;
        Ok(text(bytes))
    }

    /// A conversation (JSON) as the ids to evaluate, `<bos>` included. No message can forge a turn or a tool call.
    pub fn chat_tokenize(&self, conversation: &str, options: &Chat) -> Result<Vec<i32>> {
        self.chat_tokenize_with(conversation, options, &[])
    }

    /// [`chat_tokenize`](Self::chat_tokenize) with one media for each media part of the messages, in order.
    pub fn chat_tokenize_with(&self, conversation: &str, options: &Chat, media: &[&Media]) -> Result<Vec<i32>> {
        let media: Vec<_> = media.iter().map(|media| media.raw() as *const ffi::g4_media).collect();
        let options = ffi::g4_chat_options { media: pointer(&media), media_count: media.len(), ..options.raw() };
        fill(conversation.len() + 64, |data, capacity, needed| unsafe {
            let (text, length) = (conversation.as_ptr().cast(), conversation.len());
            ffi::g4_chat_tokenize(data, capacity, needed, &self.0, text, length, &options)
        })
    }

    /// The ids of an answer as a JSON message, ready to be appended to the conversation.
    pub fn chat_parse(&self, tokens: &[i32]) -> Result<String> {
        let bytes = fill(tokens.len() * 8 + 256, |data: *mut u8, capacity, needed| unsafe {
            ffi::g4_chat_parse(data.cast(), capacity, needed, &self.0, pointer(tokens), tokens.len())
        })?;
        Ok(text(bytes))
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// A tokenizer opened from a file; it is used as a [`Tokenizer`].
pub struct OwnedTokenizer(NonNull<ffi::g4_tokenizer>);

unsafe impl Send for OwnedTokenizer {}
unsafe impl Sync for OwnedTokenizer {}

impl Deref for OwnedTokenizer {
    type Target = Tokenizer;
    fn deref(&self) -> &Tokenizer {
        unsafe { &*self.0.as_ptr().cast::<Tokenizer>() }
    }
}

impl Drop for OwnedTokenizer {
    fn drop(&mut self) {
        unsafe { ffi::g4_tokenizer_free(self.0.as_ptr()) }
    }
}
