// Untrusted conversations, answers and tool calls; the first byte says which. What is rendered must tokenize,
// what is parsed must be JSON that can go into a conversation.
#include <cstdlib>

#include "tests/text/small_vocabulary.h"
#include "text/chat_parser.h"
#include "text/chat_template.h"
#include "text/json_value.h"
#include "text/unicode.h"

namespace {
using namespace g4;

void require(bool condition) {
  if (!condition) std::abort();
}

void check_conversation(const Tokenizer& tokenizer, const std::string& conversation) {
  for (int bits = 0; bits < 8; ++bits) {
    const auto chat =
        render_chat(conversation, {.variant = bits & 1 ? ChatTemplate::kInterleaved : ChatTemplate::kPlain,
                                   .add_generation_prompt = (bits & 2) != 0,
                                   .enable_thinking = (bits & 4) != 0});
    if (!chat.ok()) return;
    const auto ids = tokenize_chat(tokenizer, *chat);
    require(ids.ok() && ids->front() == tokenizer.special().bos);
  }
}

void check_answer(const Tokenizer& tokenizer, const std::string& answer) {
  ChatParser parser(tokenizer);
  std::string pieces[3], piece;
  const std::vector<int32_t> ids = *tokenizer.encode(answer, true);
  for (const int32_t id : ids) {
    const Channel channel = parser.push(id, &piece);
    pieces[static_cast<size_t>(channel)] += piece;
  }
  const Channel channel = parser.finish(&piece);
  pieces[static_cast<size_t>(channel)] += piece;
  require(pieces[static_cast<size_t>(Channel::kText)] == parser.text());
  require(pieces[static_cast<size_t>(Channel::kThought)] == parser.thought());
  require(render_chat("[" + parser.to_json() + "]", {}).ok());
}

void check_call(const std::string& text) {
  std::string raw, sound;
  std::vector<size_t> quotes;
  append_valid_utf8(text, &sound);
  for (const char c : sound) {
    if (c == '~') quotes.push_back(raw.size());
    raw += c == '~' ? "<|\"|>" : std::string(1, c);
  }
  const ToolCall call = parse_tool_call(raw, quotes);
  const auto arguments = parse_json(call.arguments, 48);
  require(arguments.ok() && (call.valid ? arguments->is_object() : arguments->is_string()));
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto tokenizer = SmallVocabulary().tokenizer();
  if (size == 0) return 0;
  const std::string input(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0]) {
    case 'a':
      check_answer(*tokenizer, input);
      break;
    case 't':
      check_call(input);
      break;
    default:
      check_conversation(*tokenizer, input);
  }
  return 0;
}
