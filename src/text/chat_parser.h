// The model's answer, token by token -> thought, text, tool calls. A state machine over token ids: right
// wherever the stream is cut.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"
#include "text/tool_call_syntax.h"

namespace g4 {
enum class Channel : uint8_t { kText, kThought, kToolCall };

class ChatParser {
 public:
  explicit ChatParser(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  // Takes the next token. Returns the channel it belongs to and, in *piece, the bytes to show: whole UTF-8
  // characters only (an unfinished one is held back until its rest arrives, invalid bytes become U+FFFD),
  // nothing for control tokens and for the channel's name line. Pieces of one channel, one after the other,
  // are its whole text; those of a tool call are the model's spelling of it. An id outside the vocabulary is
  // passed over.
  Channel push(int32_t token, std::string* piece);
  // What was held back (an unfinished character becomes U+FFFD), and ends an unfinished tool call. Call once,
  // at the end of the stream.
  Channel finish(std::string* piece);

  const std::string& text() const { return text_; }
  const std::string& thought() const { return thought_; }
  const std::vector<ToolCall>& tool_calls() const { return tool_calls_; }  // those that have ended
  // {"role":"assistant", "content":..., "reasoning_content":..., "tool_calls":[{"type":"function", "id":...,
  // "function":{"name":..., "arguments":...}}]} with absent parts left out; fits into the next render_chat as
  // it is. The reasoning is without its last newline, which the template adds.
  std::string to_json() const;

 private:
  void show(std::string_view text, std::string* piece);
  void show_complete(std::string* piece);
  void flush(std::string* piece);
  void enter(Channel channel, std::string* piece);

  const Tokenizer& tokenizer_;
  std::string text_, thought_;
  std::vector<ToolCall> tool_calls_;

  Channel channel_ = Channel::kText;
  std::string pending_;    // bytes of an unfinished character
  std::string name_line_;  // the beginning of a thought, while it may be the line "thought"
  bool in_name_line_ = false;
  std::string call_;                 // the open tool call
  std::vector<size_t> call_quotes_;  // where in it the quote tokens are
};
}  // namespace g4
