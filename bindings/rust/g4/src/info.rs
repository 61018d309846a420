use crate::error::check;
use crate::raw::{c_path, fill, init, on_event, owned, Callback};
use crate::{Event, KvType, Options, Result};
use g4_sys as ffi;
use std::ops::ControlFlow;
use std::path::Path;
use std::ptr::null_mut;

/// What a session will need, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryEstimate {
    /// Mapped and read: resident once used.
    pub weights_bytes: u64,
    /// The per-layer embeddings, which stay on disk.
    pub ple_disk_bytes: u64,
    /// The KV cache when the context is full.
    pub kv_bytes: u64,
    /// Activations of the largest prefill step, and tables.
    pub scratch_bytes: u64,
    /// Weights, KV cache and scratch: what must fit in memory.
    pub total_bytes: u64,
}

/// The memory a session with these options will need, from the file's header alone.
pub fn estimate(path: impl AsRef<Path>, options: &Options) -> Result<MemoryEstimate> {
    let path = c_path(path.as_ref())?;
    let options = options.raw()?;
    let mut out: ffi::g4_memory_estimate = init();
    check(unsafe { ffi::g4_estimate(&mut out, path.as_ptr(), &options.c) })?;
    Ok(MemoryEstimate {
        weights_bytes: out.weights_bytes,
        ple_disk_bytes: out.ple_disk_bytes,
        kv_bytes: out.kv_bytes,
        scratch_bytes: out.scratch_bytes,
        total_bytes: out.total_bytes,
    })
}

/// Writes the model at `path` to `out` as a prepared file, which opens at once on this machine; sends [`Event::Load`].
/// Of the options count `cpu`, `thread_count` and `ple_path`.
pub fn prepare(
    path: impl AsRef<Path>,
    out: impl AsRef<Path>,
    options: &Options,
    mut callback: impl FnMut(Event<'_>) -> ControlFlow<()>,
) -> Result<()> {
    let (path, out) = (c_path(path.as_ref())?, c_path(out.as_ref())?);
    let mut options = options.raw()?;
    let mut events = Callback::new(&mut callback);
    options.c.callback = Some(on_event);
    options.c.payload = events.payload();
    let status = unsafe { ffi::g4_prepare(path.as_ptr(), out.as_ptr(), &options.c) };
    events.finish(status)
}

/// What the header of a KV file tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KvProbe {
    pub tokens: Vec<i32>,
    pub has_logits: bool,
    pub file_bytes: u64,
    /// The fingerprint of the model it was saved with, see [`Session::model_fingerprint`](crate::Session::model_fingerprint).
    pub model: [u8; 16],
    /// "f16", "f32", …
    pub kv_type: String,
}

/// Reads a KV file's header only.
pub fn probe_kv(path: impl AsRef<Path>) -> Result<KvProbe> {
    let path = c_path(path.as_ref())?;
    let mut out: ffi::g4_kv_probe_result = init();
    check(unsafe { ffi::g4_kv_probe(&mut out, null_mut(), 0, null_mut(), path.as_ptr()) })?;
    let tokens = fill(out.position_count as usize, |data, capacity, needed| unsafe {
        ffi::g4_kv_probe(&mut out, data, capacity, needed, path.as_ptr())
    })?;
    let kv_type: Vec<u8> = out.kv_type.iter().take_while(|&&c| c != 0).map(|&c| c as u8).collect();
    Ok(KvProbe {
        tokens,
        has_logits: out.has_logits != 0,
        file_bytes: out.file_bytes,
        model: out.model,
        kv_type: String::from_utf8_lossy(&kv_type).into_owned(),
    })
}

/// What a session runs.
#[derive(Debug, Clone)]
pub struct Info {
    /// "gemma4"
    pub architecture: String,
    /// `general.name` of the file, or "".
    pub name: String,
    /// "E2B", "E4B", "31B", "26B-A4B", or "custom".
    pub variant: String,
    /// The type of most weights: "Q4_0".
    pub quantisation: String,
    /// The kernels in use.
    pub cpu: String,
    pub layer_count: usize,
    pub hidden_size: usize,
    pub head_count: usize,
    pub vocab_count: usize,
    /// Positions this session may hold.
    pub context_count: usize,
    /// Positions the model was made for.
    pub model_context_count: usize,
    pub sliding_window: usize,
    pub shared_kv_layer_count: usize,
    /// 0: no per-layer embeddings.
    pub ple_size: usize,
    /// 0: dense.
    pub expert_count: usize,
    pub thread_count: usize,
    /// Mapped, without the per-layer embeddings.
    pub weights_bytes: u64,
    /// Per-layer embeddings, on disk.
    pub ple_bytes: u64,
    pub kv_type: KvType,
    /// float32 activations everywhere.
    pub precise: bool,
    /// [`Session::encode_image`](crate::Session::encode_image) works.
    pub can_see: bool,
    /// [`Session::encode_sound`](crate::Session::encode_sound) works.
    pub can_hear: bool,
}

impl Info {
    /// The strings of `info` must be alive.
    pub(crate) unsafe fn from_raw(info: &ffi::g4_info) -> Info {
        Info {
            architecture: owned(info.architecture),
            name: owned(info.name),
            variant: owned(info.variant),
            quantisation: owned(info.quantisation),
            cpu: owned(info.cpu),
            layer_count: info.layer_count as usize,
            hidden_size: info.hidden_size as usize,
            head_count: info.head_count as usize,
            vocab_count: info.vocab_count as usize,
            context_count: info.context_count as usize,
            model_context_count: info.model_context_count as usize,
            sliding_window: info.sliding_window as usize,
            shared_kv_layer_count: info.shared_kv_layer_count as usize,
            ple_size: info.ple_size as usize,
            expert_count: info.expert_count as usize,
            thread_count: info.thread_count as usize,
            weights_bytes: info.weights_bytes,
            ple_bytes: info.ple_bytes,
            kv_type: KvType::from_raw(info.kv_type),
            precise: info.precision == ffi::G4_PRECISION_F32,
            can_see: info.can_see != 0,
            can_hear: info.can_hear != 0,
        }
    }
}

/// One row of the KV registry: whose keys and values a layer reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KvLayer {
    /// Itself, or for a layer that shares the last owning one of its kind.
    pub source_layer: usize,
    pub is_sliding: bool,
    /// Positions seen; 0: all.
    pub window: usize,
    pub kv_head_count: usize,
    pub head_size: usize,
    /// Of this layer's K and V among the bytes one position takes.
    pub offset_bytes: u64,
}

impl KvLayer {
    pub(crate) fn from_raw(row: &ffi::g4_kv_layer) -> KvLayer {
        KvLayer {
            source_layer: row.source_layer as usize,
            is_sliding: row.is_sliding != 0,
            window: row.window as usize,
            kv_head_count: row.kv_head_count as usize,
            head_size: row.head_size as usize,
            offset_bytes: row.offset_bytes,
        }
    }
}

/// The counters of a session: those of the C interface as they are.
pub type Stats = ffi::g4_stats;

/// The names of the kernels this machine can run, best first.
pub fn cpus() -> Vec<String> {
    unsafe { owned(ffi::g4_cpus()) }.split(' ').map(str::to_string).collect()
}

/// The version of the library, "1.2.3".
pub fn version() -> String {
    unsafe { owned(ffi::g4_version()) }
}

/// The ABI version of the library.
pub fn abi_version() -> u32 {
    unsafe { ffi::g4_abi_version() }
}
