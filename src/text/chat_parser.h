// The model's answer, token by token -> thought, text, tool calls. A state machine over token ids: right wherever the stream is cut.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/tokenizer.h"

namespace g4 {
enum class Channel : uint8_t { kText, kThought, kToolCall };

struct ToolCall {
  std::string name;
  std::string arguments;  // a JSON object; if the model's call could not be read, its raw text as a JSON string
  bool valid = true;      // false: `arguments` holds the raw text
};

class ChatParser {
 public:
  explicit ChatParser(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  // Takes the next token. Returns the channel it belongs to and, in *piece, the bytes to show: whole UTF-8 characters only (an
  // unfinished one is held back until its rest arrives), nothing for control tokens and for the channel's name line.
  Channel push(int32_t token, std::string* piece);
  // Bytes held back (an unfinished character becomes U+FFFD). Call once at the end of the stream.
  Channel finish(std::string* piece);

  const std::string& text() const { return text_; }
  const std::string& thought() const { return thought_; }
  const std::vector<ToolCall>& tool_calls() const { return tool_calls_; }
  // {"role":"assistant","content":...,"reasoning":...,"tool_calls":[{"type":"function","id":...,"function":{"name","arguments"}}]}
  // with absent parts left out; fits into the next render_chat as it is.
  std::string to_json() const;

 private:
  const Tokenizer& tokenizer_;
  std::string text_, thought_;
  std::vector<ToolCall> tool_calls_;
};
}  // namespace g4
