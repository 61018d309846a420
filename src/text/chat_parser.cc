#include "text/chat_parser.h"

#include "text/json_value.h"
#include "text/unicode.h"

namespace g4 {
namespace {
constexpr std::string_view kNameLine = "thought\n";
}  // namespace

Channel ChatParser::push(int32_t token, std::string* piece) {
  piece->clear();
  if (token < 0 || token >= tokenizer_.vocab_size()) return channel_;
  const SpecialTokens& special = tokenizer_.special();
  const Channel before = channel_;
  if (token == special.channel_begin) {
    enter(Channel::kThought, piece);
  } else if (token == special.tool_call_begin) {
    enter(Channel::kToolCall, piece);
  } else if (token == special.channel_end || token == special.tool_call_end ||
             token == special.tool_response_end || token == special.turn_begin || tokenizer_.is_stop(token)) {
    enter(Channel::kText, piece);
  } else if (token == special.quote && channel_ == Channel::kToolCall) {
    flush(piece);
    call_quotes_.push_back(call_.size());
    tokenizer_.append_piece(token, true, &pending_);
    show_complete(piece);
  } else {
    tokenizer_.append_piece(token, false, &pending_);
    show_complete(piece);
  }
  return piece->empty() ? channel_ : before;
}

Channel ChatParser::finish(std::string* piece) {
  piece->clear();
  const Channel before = channel_;
  enter(Channel::kText, piece);
  return before;
}

// Ends the channel that is open and begins another.
void ChatParser::enter(Channel channel, std::string* piece) {
  flush(piece);
  if (channel_ == Channel::kToolCall) {
    tool_calls_.push_back(parse_tool_call(call_, call_quotes_));
    call_.clear();
    call_quotes_.clear();
  }
  channel_ = channel;
  in_name_line_ = channel == Channel::kThought;
  name_line_.clear();
}

// Shows the bytes that have arrived, up to an unfinished character.
void ChatParser::show_complete(std::string* piece) {
  size_t held = std::min<size_t>(3, pending_.size());
  while (held > 0 && !is_utf8_prefix(std::string_view(pending_).substr(pending_.size() - held))) --held;
  std::string text;
  append_valid_utf8(std::string_view(pending_).substr(0, pending_.size() - held), &text);
  pending_.erase(0, pending_.size() - held);
  show(text, piece);
}

void ChatParser::flush(std::string* piece) {
  std::string text;
  append_valid_utf8(pending_, &text);
  pending_.clear();
  show(text, piece);
}

void ChatParser::show(std::string_view text, std::string* piece) {
  std::string unnamed;
  if (in_name_line_) {
    name_line_ += text;
    if (kNameLine.starts_with(name_line_) && name_line_ != kNameLine) return;
    in_name_line_ = false;
    unnamed = name_line_.substr(name_line_.starts_with(kNameLine) ? kNameLine.size() : 0);
    text = unnamed;
  }
  (channel_ == Channel::kText ? text_ : channel_ == Channel::kThought ? thought_ : call_) += text;
  *piece += text;
}

std::string ChatParser::to_json() const {
  std::string json = "{\"role\":\"assistant\"";
  const auto member = [&](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    json.append(",\"").append(name).append("\":");
    append_json_string(value, &json);
  };
  member("content", text_);
  member("reasoning_content",
         thought_.ends_with('\n') ? std::string_view(thought_).substr(0, thought_.size() - 1) : thought_);
  for (size_t i = 0; i < tool_calls_.size(); ++i) {
    json += i == 0 ? ",\"tool_calls\":[" : ",";
    json += "{\"type\":\"function\",\"id\":\"call_" + std::to_string(i) + "\",\"function\":{\"name\":";
    append_json_string(tool_calls_[i].name, &json);
    json += ",\"arguments\":" + tool_calls_[i].arguments + "}}";
  }
  if (!tool_calls_.empty()) json += ']';
  return json += '}';
}
}  // namespace g4
