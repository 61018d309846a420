use crate::Error;
use g4_sys as ffi;
use std::time::Duration;

/// Which part of an answer a token belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Channel {
    Text,
    Thought,
    ToolCall,
    Other(i32),
}

impl Channel {
    pub(crate) fn from_raw(channel: ffi::g4_channel) -> Channel {
        match channel {
            ffi::G4_CHANNEL_TEXT => Channel::Text,
            ffi::G4_CHANNEL_THOUGHT => Channel::Thought,
            ffi::G4_CHANNEL_TOOL_CALL => Channel::ToolCall,
            other => Channel::Other(other),
        }
    }
}

/// What a callback is told.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Opening.
    Load { done_bytes: u64, total_bytes: u64 },
    /// Reading a prompt.
    Prefill { done_count: u64, total_count: u64 },
    /// One token of an answer, and the whole characters to show with it, perhaps none.
    Token { token: i32, channel: Channel, text: &'a str },
    /// Before a token is picked: the logits may be changed.
    Logits(&'a mut [f32]),
}

/// Why a generation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FinishReason {
    /// The model ended its turn.
    Turn,
    /// `<eos>`, or another end that the file declares.
    Eos,
    /// The model called a tool and waits for its answer.
    ToolCall,
    /// A string of [`Generate::stops`](crate::Generate::stops) came up.
    StopString,
    /// [`Generate::max_token_count`](crate::Generate::max_token_count), or the context is full.
    Length,
    /// The callback said Break.
    Callback,
    /// [`Canceller::cancel`](crate::Canceller::cancel).
    Cancelled,
    Other(i32),
}

/// What came of a generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    pub finish_reason: FinishReason,
    /// Evaluated for the prompt.
    pub prompt_token_count: usize,
    /// Of the prompt, kept instead of evaluated ([`Generate::extend`](crate::Generate::extend)).
    pub reused_token_count: usize,
    /// The token that ended it included.
    pub generated_token_count: usize,
    pub prefill_time: Duration,
    pub decode_time: Duration,
}

impl Generated {
    pub(crate) fn from_raw(result: &ffi::g4_generate_result) -> Generated {
        Generated {
            finish_reason: match result.finish_reason {
                ffi::G4_FINISH_TURN => FinishReason::Turn,
                ffi::G4_FINISH_EOS => FinishReason::Eos,
                ffi::G4_FINISH_TOOL_CALL => FinishReason::ToolCall,
                ffi::G4_FINISH_STOP_STRING => FinishReason::StopString,
                ffi::G4_FINISH_LENGTH => FinishReason::Length,
                ffi::G4_FINISH_CALLBACK => FinishReason::Callback,
                ffi::G4_FINISH_CANCELLED => FinishReason::Cancelled,
                other => FinishReason::Other(other),
            },
            prompt_token_count: result.prompt_token_count,
            reused_token_count: result.reused_token_count,
            generated_token_count: result.generated_token_count,
            prefill_time: Duration::from_nanos(result.prefill_ns),
            decode_time: Duration::from_nanos(result.decode_ns),
        }
    }
}

/// What came of [`Session::extend_cached`](crate::Session::extend_cached).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cached {
    /// Positions kept or restored instead of evaluated.
    pub reused_count: usize,
    /// Size of the file that was written; 0: none was.
    pub written_bytes: u64,
    /// What was wrong with the cache, which was passed over then.
    pub problem: Option<Error>,
}
