// The official Gemma 4 chat format, built in: a conversation as data -> the exact prompt text. No template of a file is executed.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/tokenizer.h"

namespace g4 {
enum class ChatTemplate { kPlain, kInterleaved };  // the two official variants in the field

struct ChatOptions {
  ChatTemplate variant = ChatTemplate::kPlain;
  bool add_generation_prompt = true;
  bool enable_thinking = false;
};

struct RenderedChat {
  std::string text;                 // begins with <bos>
  std::vector<ByteRange> literal;   // what came from the caller: never read as control tokens when this text is tokenized
};

// The variant a file carries: told from its template text, kPlain where unknown or none.
ChatTemplate detect_chat_template(std::string_view template_text);

// `conversation`: JSON, either an array of messages or an object {"messages": [...], "tools": [...]}, as OpenAI's chat API has
// them: role system|developer|user|assistant|tool, content a string or a list of parts (text, image, audio, video), reasoning or
// reasoning_content, tool_calls, tool_responses, tool_call_id, name. `tools`: function declarations with JSON schemas.
// Errors: argument, saying which message and field is wrong (not JSON, unknown role, nesting deeper than 64, ...).
StatusOr<RenderedChat> render_chat(std::string_view conversation, const ChatOptions& options);

// render_chat, then the ids: template text with its control tokens, the caller's text as plain text.
StatusOr<std::vector<int32_t>> tokenize_chat(const Tokenizer& tokenizer, const RenderedChat& chat);
}  // namespace g4
