use crate::raw::{c_path, c_string, init, pointer};
use crate::Result;
use g4_sys as ffi;
use std::ffi::CString;
use std::os::raw::c_char;
use std::path::PathBuf;
use std::ptr::null;

/// How the KV cache stores its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum KvType {
    #[default]
    Default,
    F16,
    F32,
    /// 8 bits, a scale per 32 values: half the memory of F16.
    Q8_0,
    Other(i32),
}

impl KvType {
    pub(crate) fn from_raw(kind: ffi::g4_kv_type) -> KvType {
        match kind {
            ffi::G4_KV_DEFAULT => KvType::Default,
            ffi::G4_KV_F16 => KvType::F16,
            ffi::G4_KV_F32 => KvType::F32,
            ffi::G4_KV_Q8_0 => KvType::Q8_0,
            other => KvType::Other(other),
        }
    }
    fn raw(self) -> ffi::g4_kv_type {
        match self {
            KvType::Default => ffi::G4_KV_DEFAULT,
            KvType::F16 => ffi::G4_KV_F16,
            KvType::F32 => ffi::G4_KV_F32,
            KvType::Q8_0 => ffi::G4_KV_Q8_0,
            KvType::Other(kind) => kind,
        }
    }
}

/// How a session is opened. More fields may come: begin with `..Default::default()`.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Positions the session may hold; 0: the model's maximum, at most 32768. Memory is taken as it fills.
    pub context_count: u32,
    /// 0: the physical cores.
    pub thread_count: u32,
    pub kv_type: KvType,
    /// float32 activations everywhere: slower, for comparisons.
    pub precise: bool,
    /// A name of [`cpus`](crate::cpus); None: the best.
    pub cpu: Option<String>,
    /// A GGUF file that holds `per_layer_token_embd.weight`; None: the model file.
    pub ple_path: Option<PathBuf>,
    /// Read the per-layer embeddings with plain reads instead of a mapping: for media where a mapping may fault.
    pub ple_read: bool,
    /// Keep each worker thread on a core of its own.
    pub pin_threads: bool,
    /// Tokens a prefill step takes at most; 0: 256. Does not change results.
    pub chunk_count: u32,
    /// Positions that sliding layers keep beyond their window, for exact rewinds; 0: 256.
    pub rewind_count: u32,
    /// A GGUF file with the vision and audio towers that go with the model; None: it neither sees nor hears.
    pub mmproj_path: Option<PathBuf>,
}

/// A C struct with what it points at.
pub(crate) struct Raw<T, Kept> {
    pub(crate) c: T,
    _kept: Kept,
}

impl Options {
    pub(crate) fn raw(&self) -> Result<Raw<ffi::g4_session_options, [Option<CString>; 3]>> {
        let cpu = self.cpu.as_deref().map(|name| c_string(name, "cpu")).transpose()?;
        let ple_path = self.ple_path.as_deref().map(c_path).transpose()?;
        let mmproj_path = self.mmproj_path.as_deref().map(c_path).transpose()?;
        let c = ffi::g4_session_options {
            context_count: self.context_count,
            thread_count: self.thread_count,
            flags: (u32::from(self.ple_read) * ffi::G4_SESSION_PLE_READ) | (u32::from(self.pin_threads) * ffi::G4_SESSION_PIN),
            kv_type: self.kv_type.raw(),
            precision: if self.precise { ffi::G4_PRECISION_F32 } else { ffi::G4_PRECISION_DEFAULT },
            cpu: cpu.as_ref().map_or(null(), |text| text.as_ptr()),
            ple_path: ple_path.as_ref().map_or(null(), |text| text.as_ptr()),
            chunk_count: self.chunk_count,
            rewind_count: self.rewind_count,
            mmproj_path: mmproj_path.as_ref().map_or(null(), |text| text.as_ptr()),
            ..init()
        };
        Ok(Raw { c, _kept: [cpu, ple_path, mmproj_path] })
    }
}

/// How the next token is picked. A field of 0 means its default, except where 0 is said to mean something.
#[derive(Debug, Clone, Default)]
pub struct Sampling {
    /// Always the best token; the other fields but penalties and biases are ignored.
    pub greedy: bool,
    /// Default 1.
    pub temperature: f32,
    /// Default 64; -1: all.
    pub top_k: i32,
    /// Default 0.95; 1: all.
    pub top_p: f32,
    /// Default 0: off.
    pub min_p: f32,
    /// Default 1: off. Over all tokens of the session.
    pub repetition_penalty: f32,
    /// Default 0. Over the tokens generated since the last prefill.
    pub presence_penalty: f32,
    /// Default 0. Likewise, per occurrence.
    pub frequency_penalty: f32,
    /// Same seed and same history, same token.
    pub seed: u64,
    /// (token, what is added to its logit); negative infinity forbids the token.
    pub biases: Vec<(i32, f32)>,
}

impl Sampling {
    /// Always the best token.
    pub fn greedy() -> Sampling {
        Sampling { greedy: true, ..Sampling::default() }
    }
    pub(crate) fn raw(&self) -> Raw<ffi::g4_sampling, Vec<ffi::g4_logit_bias>> {
        let biases: Vec<_> = self.biases.iter().map(|&(token, bias)| ffi::g4_logit_bias { token, bias }).collect();
        let c = ffi::g4_sampling {
            flags: if self.greedy { ffi::G4_SAMPLING_GREEDY } else { 0 },
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            min_p: self.min_p,
            repetition_penalty: self.repetition_penalty,
            presence_penalty: self.presence_penalty,
            frequency_penalty: self.frequency_penalty,
            seed: self.seed,
            biases: pointer(&biases),
            bias_count: biases.len(),
            ..init()
        };
        Raw { c, _kept: biases }
    }
}

/// How an answer is generated. More fields may come: begin with `..Default::default()`.
#[derive(Debug, Clone, Default)]
pub struct Generate {
    pub sampling: Sampling,
    /// 0: as many as the context holds.
    pub max_token_count: usize,
    /// Strings that end the answer; they are not part of it.
    pub stops: Vec<String>,
    /// The prompt is the whole conversation: only what is new of it is evaluated.
    pub extend: bool,
    /// Go on after tokens that end an answer.
    pub ignore_stop: bool,
    /// Send [`Event::Logits`](crate::Event::Logits) before each token.
    pub logits_events: bool,
}

/// What [`Generate`] becomes, and what that points at: the sampling is boxed so that it stays where it is.
pub(crate) type RawGenerate =
    Raw<ffi::g4_generate_options, (Box<Raw<ffi::g4_sampling, Vec<ffi::g4_logit_bias>>>, Vec<CString>, Vec<*const c_char>)>;

impl Generate {
    pub(crate) fn raw(&self, prompt: &[i32]) -> Result<RawGenerate> {
        let sampling = Box::new(self.sampling.raw());
        let stops = self.stops.iter().map(|text| c_string(text, "stop string")).collect::<Result<Vec<_>>>()?;
        let pointers: Vec<_> = stops.iter().map(|text| text.as_ptr()).collect();
        let flag = |on, bit| if on { bit } else { 0 };
        let c = ffi::g4_generate_options {
            flags: flag(self.ignore_stop, ffi::G4_GENERATE_IGNORE_STOP)
                | flag(self.logits_events, ffi::G4_GENERATE_LOGITS_EVENTS)
                | flag(self.extend, ffi::G4_GENERATE_EXTEND),
            prompt: pointer(prompt),
            prompt_count: prompt.len(),
            max_token_count: self.max_token_count,
            stops: pointer(&pointers),
            stop_count: pointers.len(),
            sampling: &sampling.c,
            ..init()
        };
        Ok(Raw { c, _kept: (sampling, stops, pointers) })
    }
}

/// Where [`Session::extend_cached`](crate::Session::extend_cached) keeps prompts.
#[derive(Debug, Clone, Default)]
pub struct Cache {
    /// A folder, made if it is missing; any number of processes may share it.
    pub path: PathBuf,
    /// `path` is one KV file, of the last prompt, instead of a folder.
    pub single_file: bool,
    /// Of a folder: the files that were unused for longest go when all take more; 0: 4 GiB.
    pub limit_bytes: u64,
}

/// Which of the two chat formats is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChatTemplate {
    /// What the file carries, else plain.
    #[default]
    Auto,
    Plain,
    /// Thoughts between tool calls are kept.
    Interleaved,
}

/// How a conversation becomes a prompt.
#[derive(Debug, Clone, Copy, Default)]
pub struct Chat {
    /// Ask the model to think first.
    pub thinking: bool,
    /// Do not open the model's turn at the end.
    pub no_generation_prompt: bool,
    pub template: ChatTemplate,
}

impl Chat {
    pub(crate) fn raw(&self) -> ffi::g4_chat_options {
        let flag = |on, bit| if on { bit } else { 0 };
        ffi::g4_chat_options {
            flags: flag(self.thinking, ffi::G4_CHAT_THINKING) | flag(self.no_generation_prompt, ffi::G4_CHAT_NO_GENERATION_PROMPT),
            chat_template: match self.template {
                ChatTemplate::Auto => ffi::G4_TEMPLATE_AUTO,
                ChatTemplate::Plain => ffi::G4_TEMPLATE_PLAIN,
                ChatTemplate::Interleaved => ffi::G4_TEMPLATE_INTERLEAVED,
            },
            ..init()
        }
    }
}
