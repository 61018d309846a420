// A conversation in C++: each turn tokenizes all of it and evaluates only what the session does not hold yet.
// chat MODEL.gguf
#include <algorithm>
#include <g4/g4.hpp>
#include <iostream>

namespace {
// The text of a JSON string.
std::string quoted(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') json += '\\';
    json += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return json + "\"";
}

// Goes back to what session and conversation have in common and returns its length; from the start if it is
// too far back.
size_t rewind(g4::Session& session, const std::vector<int32_t>& tokens) {
  const std::vector<int32_t> held = session.tokens();
  const auto both = std::mismatch(tokens.begin(), tokens.end() - 1, held.begin(), held.end());
  const auto common = static_cast<size_t>(both.first - tokens.begin());
  const size_t position = common < session.rewind_min() ? 0 : common;
  session.truncate(position);
  return position;
}

void chat(g4::Session& session) {
  std::string messages;
  std::string line;
  while (std::cout << "> " << std::flush && std::getline(std::cin, line)) {
    messages += (messages.empty() ? "" : ",") + (R"({"role": "user", "content": )" + quoted(line) + "}");
    const std::vector<int32_t> tokens = session.tokenizer().chat_tokenize("[" + messages + "]");
    std::vector<int32_t> answer;
    session.generate(std::span(tokens).subspan(rewind(session, tokens)), {}, [&](const g4_event& event) {
      if (event.kind != G4_EVENT_TOKEN) return true;
      answer.push_back(event.token);
      if (event.channel == G4_CHANNEL_TEXT) std::cout << event.text << std::flush;
      return true;
    });
    std::cout << "\n";
    messages += "," + session.tokenizer().chat_parse(answer);
  }
}
}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " MODEL.gguf\n";
    return 2;
  }
  try {
    g4::Session session = g4::Session::open(argv[1]);
    chat(session);
  } catch (const g4::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
