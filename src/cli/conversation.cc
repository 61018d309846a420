#include "cli/conversation.h"

#include <g4/g4.hpp>
#include <nlohmann/json.hpp>

namespace g4::cli {
namespace {
// Throws Error if the text is not UTF-8.
std::string message(const char* role, const nlohmann::json& content) {
  try {
    return nlohmann::json({{"role", role}, {"content", content}}).dump();
  } catch (const nlohmann::json::type_error&) {
    throw Error(G4_ERR_ARGUMENT, "the message is not valid UTF-8 text");
  }
}
}  // namespace

void Conversation::set_system(const std::string& text) {
  system_ = text.empty() ? "" : message("system", text);
}

void Conversation::add_user(const std::string& text, std::vector<Attachment> attachments) {
  nlohmann::json content = text;
  if (!attachments.empty()) {
    content = nlohmann::json::array();
    for (const Attachment& attachment : attachments) content.push_back({{"type", attachment.type}});
    content.push_back({{"type", "text"}, {"text", text}});
  }
  messages_.push_back({message("user", content), std::move(attachments)});
}

std::vector<int32_t> Conversation::tokenize(const TokenizerView& tokenizer,
                                            const AnswerOptions& options) const {
  std::vector<const g4_media*> media;
  for (const Message& message : messages_)
    for (const Attachment& attachment : message.attachments) media.push_back(attachment.media->get());
  g4_chat_options chat = G4_INIT(g4_chat_options);
  chat.flags = options.thinking ? G4_CHAT_THINKING : 0;
  chat.media = media.data();
  chat.media_count = media.size();
  return tokenizer.chat_tokenize(json(), chat);
}

std::string Conversation::json() const {
  std::string text = "[" + system_;
  for (const Message& message : messages_) {
    if (text.size() > 1) text += ",";
    text += message.json;
  }
  return text + "]";
}
}  // namespace g4::cli
