//! Gemma 4 models on CPUs, inside your program.
//!
//! ```no_run
//! fn main() -> g4::Result<()> {
//!     let mut session = g4::Session::open("gemma-4-E2B-it-Q4_0.gguf")?;
//!     let chat = r#"[{"role": "user", "content": "What is the capital of Kenya?"}]"#;
//!     let prompt = session.tokenizer().chat_tokenize(chat, &g4::Chat::default())?;
//!     for piece in session.stream(&prompt, &g4::Generate::default()) {
//!         print!("{}", piece?.text);
//!     }
//!     Ok(())
//! }
//! ```
//!
//! A thin layer over the C interface of libg4, which must be installed: found by pkg-config, or in the folder that `G4_LIB_DIR` names
//! when this crate is built. `docs/RUST.md` tells more; the manual of each function is g4.h.

mod error;
mod generated;
mod handle;
mod info;
mod media;
mod options;
mod raw;
mod session;
mod stream;
mod tokenizer;

pub use error::{Error, Result, Status};
pub use generated::{Cached, Channel, Event, FinishReason, Generated};
pub use handle::Canceller;
pub use info::{abi_version, cpus, estimate, prepare, probe_kv, version, Info, KvLayer, KvProbe, MemoryEstimate, Stats};
pub use media::{image_tokens, sound_tokens, Image, Media, MediaPart, Samples, Sound};
pub use options::{Cache, Chat, ChatTemplate, Generate, KvType, Options, Sampling};
pub use session::Session;
pub use stream::{Piece, Stream};
pub use tokenizer::{OwnedTokenizer, Tokenizer};
