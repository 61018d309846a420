// The official Gemma 4 chat format, built in: a conversation as data -> the exact prompt text. No template of
// a file is executed.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/tokenizer.h"

namespace g4 {
enum class ChatTemplate { kPlain, kInterleaved };  // the two official variants in the field

// What is written in the place of a media part of a message.
struct ChatMedia {
  std::string kind;  // "image", "audio", "video": the type of the part
  std::string text;  // read with its control tokens
};

struct ChatOptions {
  ChatTemplate variant = ChatTemplate::kPlain;
  bool add_generation_prompt = true;
  bool enable_thinking = false;
  // For all media parts, in order; empty: each becomes its placeholder alone.
  std::span<const ChatMedia> media = {};
};

struct RenderedChat {
  std::string text;  // begins with <bos>
  std::vector<ByteRange>
      literal;  // what came from the caller: never read as control tokens when this text is tokenized
};

// The variant a file carries: told from its template text, kPlain where unknown or none.
ChatTemplate detect_chat_template(std::string_view template_text);

// `conversation`: JSON, either an array of messages or an object {"messages": [...], "tools": [...]}, as
// OpenAI's chat API has them: role system|developer|user|assistant|tool (or model, for assistant), content a
// string or a list of parts (text, image, audio, video), reasoning or reasoning_content, tool_calls,
// tool_responses, tool_call_id, name. `tools`: function declarations with JSON schemas. The text is the
// template's, byte for byte, slips included (docs/CHAT.md), with these differences:
// - where a template would drop content without a word, or write any role, there is an error: unknown roles,
// unknown kinds of parts,
//   content that is neither string nor list;
// - where the plain template fails: tool content that is an object is written like a native response; a
// response without a name is
//   from "unknown"; a text part of a tool message without text is empty.
// Errors: argument, saying which message and field is wrong (not JSON, no messages, an unknown role, nesting
// deeper than 64, more than 64 MiB, ...).
StatusOr<RenderedChat> render_chat(std::string_view conversation, const ChatOptions& options);

// The ids of a rendered chat: template text with its control tokens, the caller's text as plain text.
// Errors: unsupported (a vocabulary without turn tokens).
StatusOr<std::vector<int32_t>> tokenize_chat(const Tokenizer& tokenizer, const RenderedChat& chat);
}  // namespace g4
