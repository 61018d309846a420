use crate::error::check;
use crate::raw::{fill, init};
use crate::{Error, Result, Tokenizer};
use g4_sys as ffi;
use std::ptr::{null, null_mut, NonNull};
use std::slice;
use std::time::Duration;

/// A picture: 8 bits a channel, rows from the top, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Image<'a> {
    pub width: u32,
    pub height: u32,
    /// 3: RGB; 4: RGBA, alpha is ignored.
    pub channel_count: u32,
    pub pixels: &'a [u8],
}

impl Image<'_> {
    pub(crate) fn raw(&self) -> Result<ffi::g4_image> {
        let needed = u128::from(self.width) * u128::from(self.height) * u128::from(self.channel_count);
        if needed != self.pixels.len() as u128 {
            let Image { width, height, channel_count, pixels } = self;
            let given = pixels.len();
            return Err(Error::argument(format!(
                "{width} x {height} x {channel_count} bytes make the image, but {given} are given"
            )));
        }
        Ok(ffi::g4_image {
            width: self.width,
            height: self.height,
            channel_count: self.channel_count,
            pixels: self.pixels.as_ptr(),
            ..init()
        })
    }
}

/// The numbers of a sound.
#[derive(Debug, Clone, Copy)]
pub enum Samples<'a> {
    /// -1 to 1.
    F32(&'a [f32]),
    I16(&'a [i16]),
}

/// A sound; its channels stand side by side, and their mean is heard.
#[derive(Debug, Clone, Copy)]
pub struct Sound<'a> {
    pub samples: Samples<'a>,
    /// Instants a second.
    pub rate: u32,
    pub channel_count: u32,
}

impl Sound<'_> {
    pub(crate) fn raw(&self) -> ffi::g4_sound {
        let (sample_type, samples, count) = match self.samples {
            Samples::F32(values) => (ffi::G4_SAMPLE_F32, values.as_ptr().cast(), values.len()),
            Samples::I16(values) => (ffi::G4_SAMPLE_I16, values.as_ptr().cast(), values.len()),
        };
        let instant_count = count as u64 / u64::from(self.channel_count.max(1));
        ffi::g4_sound { sample_type, rate: self.rate, channel_count: self.channel_count, samples, instant_count, ..init() }
    }
}

/// A picture, sound or video, encoded by a [`Session`](crate::Session). Keep it until its tokens are evaluated, in any session of the model.
pub struct Media(NonNull<ffi::g4_media>);

// It never changes.
unsafe impl Send for Media {}
unsafe impl Sync for Media {}

/// A picture, a clip of a sound, or a frame of a video.
#[derive(Debug, Clone, Copy)]
pub struct MediaPart<'a> {
    pub begin: Duration,
    pub end: Duration,
    /// \[tokens, row_width\], as the network takes them.
    pub rows: &'a [f32],
    pub row_width: usize,
}

impl Media {
    pub(crate) unsafe fn from_raw(media: *mut ffi::g4_media) -> Media {
        Media(NonNull::new(media).expect("g4 gave a media"))
    }

    /// Its tokens as they stand in a prompt: begin, rows, end.
    pub fn tokens(&self, tokenizer: &Tokenizer) -> Result<Vec<i32>> {
        self.tokens_with(tokenizer.raw(), 0)
    }

    /// The tokens of its rows alone.
    pub fn row_tokens(&self) -> Result<Vec<i32>> {
        self.tokens_with(null(), ffi::G4_MEDIA_ROWS_ONLY)
    }

    fn tokens_with(&self, tokenizer: *const ffi::g4_tokenizer, flags: u32) -> Result<Vec<i32>> {
        fill(300, |data, capacity, needed| unsafe { ffi::g4_media_tokens(data, capacity, needed, self.raw(), tokenizer, flags) })
    }

    /// One, or the clips of a sound, or the frames of a video.
    pub fn parts(&self) -> Result<Vec<MediaPart<'_>>> {
        let count = unsafe { ffi::g4_media_part_count(self.raw()) };
        (0..count).map(|index| self.part(index)).collect()
    }

    fn part(&self, index: usize) -> Result<MediaPart<'_>> {
        let mut part: ffi::g4_media_part = init();
        check(unsafe { ffi::g4_media_get_part(&mut part, self.raw(), index) })?;
        Ok(MediaPart {
            begin: Duration::from_nanos(part.begin_ns),
            end: Duration::from_nanos(part.end_ns),
            rows: unsafe { slice::from_raw_parts(part.rows, part.row_count * part.row_width) },
            row_width: part.row_width,
        })
    }

    pub(crate) fn raw(&self) -> *mut ffi::g4_media {
        self.0.as_ptr()
    }
}

impl Drop for Media {
    fn drop(&mut self) {
        unsafe { ffi::g4_media_free(self.raw()) }
    }
}

/// A call that encodes something.
pub(crate) fn encode(call: impl FnOnce(*mut *mut ffi::g4_media) -> ffi::g4_status) -> Result<Media> {
    let mut media = null_mut();
    check(call(&mut media))?;
    Ok(unsafe { Media::from_raw(media) })
}

/// Tokens that the rows of a picture of this size will take. `token_budget`: 70, 140, 280, 560 or 1120; 0: 280.
pub fn image_tokens(width: u32, height: u32, token_budget: u32) -> Result<u64> {
    let mut count = 0;
    check(unsafe { ffi::g4_image_tokens(&mut count, width, height, token_budget) })?;
    Ok(count)
}

/// Tokens that the rows of a sound of this length will take. `split`: it may be cut into clips.
pub fn sound_tokens(instant_count: u64, rate: u32, split: bool) -> Result<u64> {
    let mut count = 0;
    check(unsafe { ffi::g4_sound_tokens(&mut count, instant_count, rate, if split { ffi::G4_SOUND_SPLIT } else { 0 }) })?;
    Ok(count)
}
