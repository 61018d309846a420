//! The safe interface, on the demo model.
use g4::{Cache, Chat, Event, FinishReason, Generate, Image, Options, Samples, Sampling, Session, Sound, Status, Tokenizer};
use std::ops::ControlFlow::{Break, Continue};
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, mem, panic, thread};

const KENYA: &str = r#"[{"role": "user", "content": "What is the capital of Kenya?"}]"#;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../examples/models/g4-demo-q8_0.gguf");

fn open() -> Session {
    let options = Options { thread_count: 1, ..Options::default() };
    Session::open_with(DEMO, &options, |_| Continue(())).unwrap()
}

fn greedy() -> Generate {
    Generate { sampling: Sampling::greedy(), ..Generate::default() }
}

/// Goes on until it is stopped: each use of a token makes it more likely.
fn endless() -> Generate {
    let sampling = Sampling { frequency_penalty: -100.0, ..Sampling::greedy() };
    Generate { sampling, ignore_stop: true, ..Generate::default() }
}

fn prompt(session: &Session) -> Vec<i32> {
    session.tokenizer().chat_tokenize(KENYA, &Chat::default()).unwrap()
}

fn temporary(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn an_answer_streams() {
    let mut session = open();
    let prompt = prompt(&session);
    let mut stream = session.stream(&prompt, &greedy());
    assert!(stream.generated().is_none());
    assert_eq!(stream.session().position(), prompt.len());
    let mut pieces = vec![stream.next().unwrap().unwrap()];
    assert_eq!(stream.session().tokens().unwrap()[prompt.len()..], [pieces[0].token]);
    assert_eq!(stream.session().logits().unwrap().len(), 2048);
    pieces.extend(stream.by_ref().collect::<g4::Result<Vec<_>>>().unwrap());
    let text: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
    assert!(text.contains("Nairobi"), "{text}");
    let generated = stream.generated().unwrap();
    assert!(stream.next().is_none());
    drop(stream);
    assert_eq!(generated.finish_reason, FinishReason::Turn);
    assert_eq!(generated.prompt_token_count, prompt.len());
    assert_eq!(generated.generated_token_count, pieces.len());
    assert_eq!(session.position(), prompt.len() + pieces.len());
    let tokens: Vec<_> = pieces.iter().map(|piece| piece.token).collect();
    assert_eq!(session.tokens().unwrap()[prompt.len()..], tokens);
    assert!(session.tokenizer().chat_parse(&tokens).unwrap().contains(r#""role":"assistant""#));
}

#[test]
fn a_callback_gets_the_same_and_may_stop() {
    let mut session = open();
    let prompt = prompt(&session);
    let mut fork = session.fork().unwrap();
    let (mut text, mut read) = (String::new(), 0);
    let generated = session
        .generate(&prompt, &greedy(), |event| {
            match event {
                Event::Token { text: piece, .. } => text += piece,
                Event::Prefill { done_count, .. } => read = done_count,
                other => panic!("{other:?}"),
            }
            Continue(())
        })
        .unwrap();
    assert_eq!(generated.finish_reason, FinishReason::Turn);
    assert_eq!(read as usize, prompt.len());
    let streamed: String = fork.stream(&prompt, &greedy()).map(|piece| piece.unwrap().text).collect();
    assert_eq!(text, streamed);
    fork.reset().unwrap();
    let stop = |event: Event| if let Event::Token { .. } = event { Break(()) } else { Continue(()) };
    let generated = fork.generate(&prompt, &greedy(), stop).unwrap();
    assert_eq!((generated.finish_reason, generated.generated_token_count), (FinishReason::Callback, 1));
}

#[test]
fn a_dropped_stream_ends_and_leaves_the_session_usable() {
    let mut session = open();
    let prompt = prompt(&session);
    assert!(session.stream(&prompt, &endless()).next().unwrap().is_ok());
    assert_eq!(session.position(), prompt.len() + 1);
    drop(session.stream(&[], &endless()));
    assert_eq!(session.position(), prompt.len() + 1);
    session.reset().unwrap();
    assert!(session.stream(&prompt, &greedy()).map(|piece| piece.unwrap().text).collect::<String>().contains("Nairobi"));
}

#[test]
fn a_leaked_stream_does_no_harm() {
    let mut session = open();
    let prompt = prompt(&session);
    mem::forget(session.stream(&prompt, &greedy()));
    assert_eq!(session.position(), prompt.len());
    let text: String = session.stream(&[], &greedy()).map(|piece| piece.unwrap().text).collect();
    assert!(text.contains("Nairobi"), "{text}");
}

#[test]
fn a_stream_may_move_and_be_cancelled() {
    let mut session = open();
    let prompt = prompt(&session);
    let canceller = session.canceller();
    let mut stream = session.stream(&prompt, &endless());
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..3 {
                stream.next().unwrap().unwrap();
            }
        });
    });
    assert!(stream.generated().is_none());
    let (started, wait) = mpsc::channel();
    let other = thread::spawn(move || {
        wait.recv().unwrap();
        loop {
            canceller.cancel();
            if wait.recv_timeout(Duration::from_millis(1)).is_ok() {
                break;
            }
        }
    });
    started.send(()).unwrap();
    let _ = stream.by_ref().count();
    started.send(()).unwrap();
    other.join().unwrap();
    let generated = stream.generated().unwrap();
    assert!(matches!(generated.finish_reason, FinishReason::Cancelled | FinishReason::Length), "{generated:?}");
    drop(stream);
    session.reset().unwrap();
    assert!(session.generate(&prompt, &greedy(), |_| Continue(())).is_ok());
}

#[test]
fn cancel_from_another_thread() {
    let mut session = open();
    let prompt = prompt(&session);
    let canceller = session.canceller();
    let (started, wait) = mpsc::sync_channel(1);
    let other = thread::spawn(move || {
        wait.recv().unwrap();
        canceller.cancel();
        canceller
    });
    let generated = session.generate(&prompt, &endless(), |event| {
        if let Event::Token { .. } = event {
            let _ = started.try_send(());
        }
        Continue(())
    });
    assert_eq!(generated.unwrap().finish_reason, FinishReason::Cancelled);
    let canceller = other.join().unwrap();
    canceller.cancel();
    drop(session);
    canceller.cancel();
}

#[test]
fn a_session_moves_to_another_thread() {
    let mut session = open();
    let prompt = prompt(&session);
    let forks: Vec<_> = (0..4).map(|_| session.fork().unwrap()).collect();
    let threads: Vec<_> = forks
        .into_iter()
        .map(|mut fork| {
            let prompt = prompt.clone();
            thread::spawn(move || fork.stream(&prompt, &greedy()).map(|piece| piece.unwrap().text).collect::<String>())
        })
        .collect();
    for thread in threads {
        assert!(thread.join().unwrap().contains("Nairobi"));
    }
}

#[test]
fn errors_say_what_is_wrong() {
    let error = Session::open("/no/such/file.gguf").err().unwrap();
    assert_eq!(error.status(), Status::Io);
    assert!(error.to_string().contains("/no/such/file.gguf"), "{error}");
    let cpu = Options { cpu: Some("abacus".to_string()), ..Options::default() };
    assert_eq!(Session::open_with(DEMO, &cpu, |_| Continue(())).err().unwrap().status(), Status::Argument);
    let zero = Options { cpu: Some("a\0b".to_string()), ..Options::default() };
    assert!(Session::open_with(DEMO, &zero, |_| Continue(())).err().unwrap().message().contains("zero byte"));
    assert_eq!(Session::open_with(DEMO, &Options::default(), |_| Break(())).err().unwrap().status(), Status::Cancelled);

    let mut session = open();
    assert_eq!(session.logits().unwrap_err().status(), Status::State);
    assert_eq!(session.prefill(&[]).unwrap_err().status(), Status::Argument);
    assert_eq!(session.prefill(&[-1]).unwrap_err().status(), Status::Argument);
    assert_eq!(session.prefill(&vec![2; 3000]).unwrap_err().status(), Status::ContextFull);
    assert_eq!(session.prefill_with(&[2, 10], |_| Break(())).unwrap_err().status(), Status::Cancelled);
    assert_eq!(session.position(), 0);
    assert_eq!(session.load_kv(DEMO).unwrap_err().status(), Status::Format);
    assert!(session.tokenizer().chat_tokenize("[{}]", &Chat::default()).unwrap_err().message().contains("role"));
    assert!(session.stream(&[], &greedy()).next().unwrap().is_err());
}

#[test]
fn a_panic_in_a_callback_comes_out_of_the_call() {
    let mut session = open();
    let prompt = prompt(&session);
    let outcome = panic::catch_unwind(panic::AssertUnwindSafe(|| session.generate(&prompt, &greedy(), |_| panic!("on purpose"))));
    assert_eq!(*outcome.unwrap_err().downcast::<&str>().unwrap(), "on purpose");
    session.reset().unwrap();
    session.prefill(&prompt).unwrap();
}

#[test]
fn logits_sampling_and_their_event() {
    let mut session = open();
    let prompt = prompt(&session);
    let all = session.prefill_all(&prompt).unwrap();
    let vocabulary = session.tokenizer().vocab_count();
    assert_eq!(all.len(), prompt.len() * vocabulary);
    assert_eq!(session.logits().unwrap(), &all[all.len() - vocabulary..]);
    let logits = session.logits().unwrap();
    let best = (0..vocabulary).max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap() as i32;
    assert_eq!(session.sample(&Sampling::greedy()).unwrap(), best);
    let without = Sampling { biases: vec![(best, f32::NEG_INFINITY)], ..Sampling::greedy() };
    assert_ne!(session.sample(&without).unwrap(), best);

    let mut picked = Vec::new();
    let options = Generate { max_token_count: 2, logits_events: true, ignore_stop: true, ..greedy() };
    let generated = session.generate(&[], &options, |event| {
        match event {
            Event::Logits(logits) => logits[77] = 1e6,
            Event::Token { token, .. } => picked.push(token),
            _ => {}
        }
        Continue(())
    });
    assert_eq!(generated.unwrap().finish_reason, FinishReason::Length);
    assert_eq!(picked, [77, 77]);
    assert_eq!(session.decode(&Sampling::greedy()).unwrap(), session.tokens().unwrap()[session.position() - 1]);
}

#[test]
fn state_is_saved_restored_and_rewound() {
    let path = temporary("demo.g4kv");
    let mut session = open();
    let prompt = prompt(&session);
    session.prefill(&prompt).unwrap();
    let logits = session.logits().unwrap().to_vec();
    let bytes = session.save_kv(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), bytes);
    let probe = g4::probe_kv(&path).unwrap();
    assert_eq!((probe.tokens.as_slice(), probe.kv_type.as_str(), probe.has_logits), (prompt.as_slice(), "f16", true));
    assert_eq!(probe.model, session.model_fingerprint().unwrap());

    let mut other = open();
    assert_eq!(other.load_kv(&path).unwrap(), prompt.len());
    assert_eq!(other.logits().unwrap(), logits);
    assert_eq!(other.load_kv_for(&path, &prompt[..5]).unwrap(), 4);
    assert_eq!(other.extend(&prompt).unwrap(), 4);
    assert_eq!(other.logits().unwrap(), logits);
    other.truncate(3).unwrap();
    other.truncate_reevaluate(2).unwrap();
    assert!(other.position() == 2 && other.rewind_min() == 0);
    other.prefill(&prompt[2..]).unwrap();
    assert_eq!(other.logits().unwrap(), logits);
}

#[test]
fn prompts_are_kept_in_a_cache() {
    let cache = Cache { path: temporary("cache"), ..Cache::default() };
    let _ = fs::remove_dir_all(&cache.path);
    let options = Options { thread_count: 1, kv_type: g4::KvType::Q8_0, rewind_count: 64, ..Options::default() };
    let mut counts = Vec::new();
    for _ in 0..2 {
        let mut session = Session::open_with(DEMO, &options, |_| Continue(())).unwrap();
        let prompt = prompt(&session);
        let cached = session.extend_cached(&prompt, &cache).unwrap();
        assert_eq!((cached.problem, session.position()), (None, prompt.len()));
        counts.push((cached.reused_count, cached.written_bytes > 0));
        let nowhere = Cache { path: PathBuf::from("/proc/no/such"), ..Cache::default() };
        session.reset().unwrap();
        assert!(session.extend_cached(&prompt, &nowhere).unwrap().problem.is_some());
    }
    assert_eq!(counts[0], (0, true));
    assert!(counts[1].0 > 0);
}

#[test]
fn pictures_and_sounds_stand_in_prompts() {
    let towers = PathBuf::from(DEMO).with_file_name("mmproj-g4-demo-bf16.gguf");
    let options = Options { thread_count: 1, mmproj_path: Some(towers), ..Options::default() };
    let mut session = Session::open_with(DEMO, &options, |_| Continue(())).unwrap();
    let info = session.info().unwrap();
    assert!(info.can_see && info.can_hear);
    let mut pixels = Vec::new();
    for at in 0..96 * 96 {
        let (x, y) = (at % 96 - 48, at / 96 - 48);
        pixels.extend(if x * x + y * y < 900 { [220u8, 30, 30] } else { [20, 20, 80] });
    }
    let image = Image { width: 96, height: 96, channel_count: 3, pixels: &pixels };
    let picture = session.encode_image(&image, 70).unwrap();
    let rows = picture.row_tokens().unwrap();
    assert_eq!(rows.len() as u64, g4::image_tokens(96, 96, 70).unwrap());
    assert!(rows.iter().all(|&token| token < 0));
    assert_eq!(picture.tokens(session.tokenizer()).unwrap().len(), rows.len() + 2);
    let parts = picture.parts().unwrap();
    assert_eq!((parts.len(), parts[0].rows.len()), (1, rows.len() * parts[0].row_width));
    let question = r#"[{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What do you see?"}]}]"#;
    let prompt = session.tokenizer().chat_tokenize_with(question, &Chat::default(), &[&picture]).unwrap();
    let text: String = session.stream(&prompt, &greedy()).map(|piece| piece.unwrap().text).collect();
    assert!(text.contains("red"), "{text}");

    let tone: Vec<f32> = (0..16000).map(|at| (at as f32 * 0.2).sin() * 0.5).collect();
    let sound = Sound { samples: Samples::F32(&tone), rate: 16000, channel_count: 1 };
    let heard = session.encode_sound(&sound, false).unwrap();
    assert_eq!(heard.row_tokens().unwrap().len() as u64, g4::sound_tokens(16000, 16000, false).unwrap());
    let video = session.encode_video(&[(image, Duration::ZERO), (image, Duration::from_secs(1))], 0).unwrap();
    assert_eq!(video.parts().unwrap()[1].begin, Duration::from_secs(1));
    let cut = Image { pixels: &pixels[1..], ..image };
    assert_eq!(session.encode_image(&cut, 0).err().unwrap().status(), Status::Argument);
    assert_eq!(open().encode_image(&image, 0).err().unwrap().status(), Status::Unsupported);
}

#[test]
fn batches_of_forks() {
    let mut first = open();
    let mut second = first.fork().unwrap();
    let tokens = prompt(&first);
    Session::prefill_batch(&mut [(&mut first, &tokens), (&mut second, &tokens[..7])]).unwrap();
    assert_eq!((first.position(), second.position()), (tokens.len(), 7));
    let mut alone = open();
    alone.prefill(&tokens[..7]).unwrap();
    assert_eq!(alone.logits().unwrap(), second.logits().unwrap());
}

#[test]
fn text_and_tokens() {
    let tokenizer = Tokenizer::open(DEMO).unwrap();
    let text = "A fox, 27 + 36 and ü 🦊";
    let tokens = tokenizer.tokenize(text, false).unwrap();
    assert_eq!(tokenizer.detokenize(&tokens).unwrap(), text);
    assert_eq!(tokenizer.tokenize(text, true).unwrap()[1..], tokens);
    assert!(tokenizer.tokenize_special("<|turn>", false).unwrap().len() < tokenizer.tokenize("<|turn>", false).unwrap().len());
    let rendered = tokenizer.chat_render(KENYA, &Chat::default()).unwrap();
    assert!(rendered.contains("capital of Kenya") && rendered.starts_with("<bos>"), "{rendered}");
    let chat = tokenizer.chat_tokenize(KENYA, &Chat { no_generation_prompt: true, ..Chat::default() }).unwrap();
    let ends = chat.iter().filter(|&&token| tokenizer.is_stop(token)).count();
    assert_eq!(ends, 1);
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(tokenizer.tokenize(text, false).unwrap(), tokens));
    });
}

#[test]
fn what_a_session_tells_about_itself() {
    let options = Options { context_count: 128, thread_count: 1, kv_type: g4::KvType::F32, ..Options::default() };
    let mut session = Session::open_with(DEMO, &options, |_| Continue(())).unwrap();
    let info = session.info().unwrap();
    assert_eq!((info.architecture.as_str(), info.layer_count, info.context_count), ("gemma4", 10, 128));
    assert_eq!((info.kv_type, info.precise), (g4::KvType::F32, false));
    assert!(g4::cpus().contains(&info.cpu));
    assert_eq!(session.kv_layer(9).unwrap().source_layer, 4);
    assert_eq!(session.kv_layer(10).unwrap_err().status(), Status::Argument);
    session.prefill(&[2, 3, 4]).unwrap();
    assert_eq!(session.stats().unwrap().evaluated_token_count, 3);
    assert_eq!(session.layer_rows().unwrap(), [3, 3, 3, 3, 1, 1, 1, 1, 1, 1]);
    let estimate = g4::estimate(DEMO, &options).unwrap();
    assert_eq!(estimate.total_bytes, estimate.weights_bytes + estimate.kv_bytes + estimate.scratch_bytes);
    let prepared = temporary("demo.g4");
    let mut done = 0;
    g4::prepare(DEMO, &prepared, &options, |event| {
        if let g4::Event::Load { done_bytes, .. } = event {
            done = done_bytes;
        }
        Continue(())
    })
    .unwrap();
    assert_eq!(done, std::fs::metadata(DEMO).unwrap().len());
    let mut other = Session::open_with(&prepared, &options, |_| Continue(())).unwrap();
    other.prefill(&[2, 3, 4]).unwrap();
    assert_eq!(other.logits().unwrap(), session.logits().unwrap());
    assert_eq!(g4::prepare(DEMO, DEMO, &options, |_| Continue(())).unwrap_err().status(), Status::Argument);
    assert!(g4::version().starts_with(&format!("{}.", env!("CARGO_PKG_VERSION_MAJOR"))));
    assert_eq!(g4::abi_version(), 1);
}

#[test]
fn stop_strings_and_longer_conversations() {
    let mut session = open();
    let conversation = prompt(&session);
    let stopping = Generate { stops: vec!["Nai".to_string()], ..greedy() };
    let mut stream = session.stream(&conversation, &stopping);
    let text: String = stream.by_ref().map(|piece| piece.unwrap().text).collect();
    assert!(!text.contains("Nai"), "{text}");
    assert_eq!(stream.generated().unwrap().finish_reason, FinishReason::StopString);
    drop(stream);
    let again = Generate { extend: true, ..greedy() };
    let generated = session.generate(&conversation, &again, |_| Continue(())).unwrap();
    assert_eq!(generated.reused_token_count + generated.prompt_token_count, conversation.len());
    assert!(generated.reused_token_count > 0);
}
