// A conversation as the library takes it: messages as JSON text, and the media that belong to their parts.
#pragma once
#include <string>
#include <vector>

#include "cli/answer.h"
#include "cli/attachment.h"

namespace g4::cli {
class Conversation {
 public:
  // The system message comes first whenever it is set; "" takes it away.
  void set_system(const std::string& text);
  // The attachments come before the text.
  void add_user(const std::string& text, std::vector<Attachment> attachments = {});
  // A message as g4_chat_parse gives it.
  void add_message(const std::string& json) { messages_.push_back({json, {}}); }
  void take_back() { messages_.pop_back(); }  // the message added last
  void clear() { messages_.clear(); }         // keeps the system message
  std::vector<int32_t> tokenize(const TokenizerView& tokenizer, const AnswerOptions& options) const;

 private:
  std::string json() const;
  struct Message {
    std::string json;
    std::vector<Attachment> attachments;
  };
  std::string system_;  // JSON, or ""
  std::vector<Message> messages_;
};
}  // namespace g4::cli
