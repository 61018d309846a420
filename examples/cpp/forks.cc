// Several answers to one prompt: it is read once, and each fork goes on from there on a thread of its own.
// forks MODEL.gguf "Once upon a time" 3
#include <g4/g4.hpp>
#include <iostream>
#include <thread>

namespace {
std::string go_on(g4::Session session, uint64_t seed) {
  std::string text;
  g4_sampling sampling = {};
  sampling.seed = seed;
  g4_generate_options options = {};
  options.sampling = &sampling;
  options.max_token_count = 60;
  session.generate({}, options, [&](const g4_event& event) {
    if (event.kind == G4_EVENT_TOKEN) text += event.text;
    return true;
  });
  return text;
}

void several(const std::string& model, const std::string& prompt, size_t count) {
  g4_session_options options = {};
  options.thread_count = 1;  // for each of the forks, which run at the same time
  g4::Session session = g4::Session::open(model, options);
  session.prefill(session.tokenizer().tokenize(prompt, G4_TOKENIZE_BOS));
  std::vector<std::string> answers(count);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i) {
    threads.emplace_back(
        [&answers, i, fork = session.fork()]() mutable { answers[i] = go_on(std::move(fork), i + 1); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& answer : answers) std::cout << prompt << answer << "\n\n";
}
}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: " << argv[0] << " MODEL.gguf TEXT COUNT\n";
    return 2;
  }
  try {
    several(argv[1], argv[2], std::stoul(argv[3]));
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
