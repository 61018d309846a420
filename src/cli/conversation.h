// A conversation as the library takes it: messages as JSON text.
#pragma once
#include <string>
#include <vector>

namespace g4::cli {
class Conversation {
 public:
  // The system message comes first whenever it is set; "" takes it away.
  void set_system(const std::string& text);
  void add_user(const std::string& text);
  // A message as g4_chat_parse gives it.
  void add_message(const std::string& json) { messages_.push_back(json); }
  void take_back() { messages_.pop_back(); }  // the message added last
  void clear() { messages_.clear(); }         // keeps the system message
  std::string json() const;

 private:
  std::string system_;                 // JSON, or ""
  std::vector<std::string> messages_;  // JSON
};
}  // namespace g4::cli
