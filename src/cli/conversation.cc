#include "cli/conversation.h"

#include <g4/g4.hpp>
#include <nlohmann/json.hpp>

namespace g4::cli {
namespace {
// Throws Error if the text is not UTF-8.
std::string message(const char* role, const std::string& text) {
  try {
    return nlohmann::json({{"role", role}, {"content", text}}).dump();
  } catch (const nlohmann::json::type_error&) {
    throw Error(G4_ERR_ARGUMENT, "the message is not valid UTF-8 text");
  }
}
}  // namespace

void Conversation::set_system(const std::string& text) {
  system_ = text.empty() ? "" : message("system", text);
}

void Conversation::add_user(const std::string& text) { messages_.push_back(message("user", text)); }

std::string Conversation::json() const {
  std::string text = "[" + system_;
  for (const std::string& message : messages_) {
    if (text.size() > 1) text += ",";
    text += message;
  }
  return text + "]";
}
}  // namespace g4::cli
