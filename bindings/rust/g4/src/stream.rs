use crate::handle::{Canceller, Handle};
use crate::session::{generate, lost};
use crate::{Channel, Event, Generate, Generated, Result, Session};
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::thread::{spawn, JoinHandle};

/// One token of an answer, and the whole characters to show with it, perhaps none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub token: i32,
    pub channel: Channel,
    pub text: String,
}

const PIECES_AHEAD: usize = 16;

/// An answer as it comes, see [`Session::stream`]. Its thread owns the C session meanwhile, so that even a leaked stream does no harm.
pub struct Stream<'a> {
    session: &'a mut Session,
    work: Option<Work>,
    lost: bool,
    generated: Option<Generated>,
}

struct Work {
    pieces: Option<Receiver<Message>>,
    canceller: Canceller,
    thread: JoinHandle<(Handle, Result<Generated>)>,
}

/// The prompt's progress passes too, so that a dropped stream is noticed while it is read.
enum Message {
    Progress,
    Piece(Piece),
}

impl<'a> Stream<'a> {
    pub(crate) fn start(session: &'a mut Session, prompt: &[i32], options: &Generate) -> Stream<'a> {
        let work = session.handle.take().map(|handle| {
            let (sender, pieces) = sync_channel(PIECES_AHEAD);
            let canceller = handle.canceller();
            let (prompt, options) = (prompt.to_vec(), Generate { logits_events: false, ..options.clone() });
            let thread = spawn(move || {
                let result = generate(&handle, &prompt, &options, &mut |event| send(&sender, event));
                (handle, result)
            });
            Work { pieces: Some(pieces), canceller, thread }
        });
        Stream { session, lost: work.is_none(), work, generated: None }
    }

    /// What came of it, once the iterator has ended well.
    pub fn generated(&self) -> Option<&Generated> {
        self.generated.as_ref()
    }

    /// Waits for the thread and gives the session its handle back.
    fn end(&mut self) -> Option<Result<Generated>> {
        let work = self.work.take()?;
        drop(work.pieces);
        let (handle, result) = work.thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        self.session.handle = Some(handle);
        Some(result)
    }
}

fn send(sender: &SyncSender<Message>, event: Event<'_>) -> ControlFlow<()> {
    let message = match event {
        Event::Token { token, channel, text } => Message::Piece(Piece { token, channel, text: text.to_string() }),
        _ => Message::Progress,
    };
    match sender.send(message) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    }
}

impl Iterator for Stream<'_> {
    type Item = Result<Piece>;

    fn next(&mut self) -> Option<Result<Piece>> {
        if std::mem::take(&mut self.lost) {
            return Some(Err(lost()));
        }
        while let Some(Ok(message)) = self.work.as_ref().and_then(|work| work.pieces.as_ref()).map(Receiver::recv) {
            if let Message::Piece(piece) = message {
                return Some(Ok(piece));
            }
        }
        match self.end()? {
            Ok(generated) => {
                self.generated = Some(generated);
                None
            }
            Err(error) => Some(Err(error)),
        }
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        if let Some(work) = &mut self.work {
            work.pieces = None;
            work.canceller.cancel();
        }
        self.end();
    }
}
