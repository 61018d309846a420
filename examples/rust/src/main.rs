//! Reads a prompt, then streams the answer:
//!     cargo run -- MODEL.gguf '[{"role": "user", "content": "What is the capital of Kenya?"}]'
use g4::{Chat, Generate, Session};
use std::io::{stdout, Write};
use std::process::ExitCode;

fn answer(model: &str, conversation: &str) -> g4::Result<()> {
    let mut session = Session::open(model)?;
    let prompt = session.tokenizer().chat_tokenize(conversation, &Chat::default())?;
    session.prefill(&prompt)?;
    for piece in session.stream(&[], &Generate::default()) {
        print!("{}", piece?.text);
        let _ = stdout().flush();
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() != 3 {
        eprintln!("usage: {} MODEL.gguf CONVERSATION", arguments[0]);
        return ExitCode::from(2);
    }
    let outcome = answer(&arguments[1], &arguments[2]);
    println!();
    if let Err(error) = outcome {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
