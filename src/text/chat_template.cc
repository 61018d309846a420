#include "text/chat_template.h"

#include <algorithm>
#include <map>

#include "text/chat_tools.h"
#include "text/json_value.h"
#include "text/unicode.h"

namespace g4 {
namespace {
constexpr size_t kDepthLimit = 64;
constexpr size_t kSizeLimit = size_t{64} << 20;
constexpr std::string_view kChannelBegin = "<|channel>", kChannelEnd = "<channel|>";

bool is_model(std::string_view role) { return role == "assistant" || role == "model"; }

// What the model said, without its thoughts: from each piece between channel ends, what precedes a channel
// begin.
std::string strip_thinking(std::string_view text) {
  std::string visible;
  while (true) {
    const size_t end = text.find(kChannelEnd);
    const std::string_view piece = text.substr(0, end);
    visible += piece.substr(0, piece.find(kChannelBegin));
    if (end == text.npos) break;
    text.remove_prefix(end + kChannelEnd.size());
  }
  return std::string(strip(visible));
}

class Renderer {
 public:
  Renderer(const ChatOptions& options, const JsonValue& messages, const JsonValue& tools)
      : options_(options),
        plain_(options.variant == ChatTemplate::kPlain),
        messages_(messages.items),
        tools_(tools) {}

  StatusOr<RenderedChat> render() {
    if (messages_.empty()) return argument_error("the conversation has no messages");
    for (size_t i = 0; i < messages_.size(); ++i) G4_RETURN_IF_ERROR(check_role(i));
    out_.control("<bos>");
    const bool has_system = role(0) == "system" || role(0) == "developer";
    if (options_.enable_thinking || tools_.truthy() || has_system)
      G4_RETURN_IF_ERROR(write_system_turn(has_system));
    for (size_t i = has_system ? 1 : 0; i < messages_.size(); ++i) {
      if (Status status = write_message(i); !status.ok())
        return argument_error(StrCat("messages[", i, "]: ", status.message()));
    }
    if (next_media_ < options_.media.size())
      return argument_error(StrCat("the messages have ", next_media_, " media parts, but ",
                                   options_.media.size(), " are given"));
    if (options_.add_generation_prompt) write_generation_prompt();
    return out_.take();
  }

 private:
  // What the last message ended with, as far as it decides whether the model's turn is open.
  enum class Ending { kOther, kToolCall, kToolResponse };

  std::string_view role(size_t i) const { return messages_[i]["role"].text; }
  Status check_role(size_t i);
  Status write_system_turn(bool has_system);
  Status write_message(size_t i);
  Status write_reasoning(const JsonValue& message);
  Status write_tool_calls(const JsonValue& calls);
  Status write_native_responses(const JsonValue& responses);
  Status write_tool_messages(size_t i, const JsonValue& calls);
  Status write_tool_message(const JsonValue& name, const JsonValue& content);
  Status write_tool_response(const JsonValue& name, const JsonValue& response);
  Status write_content(const JsonValue& content, bool from_model);
  Status write_part(const JsonValue& part, bool from_model);
  Status write_media(const std::string& type);
  void write_turn_end(const JsonValue& message);
  void write_generation_prompt();

  const ChatOptions& options_;
  const bool plain_;
  const std::vector<JsonValue>& messages_;
  const JsonValue& tools_;
  ptrdiff_t last_user_ = -1;      // index of the last user message
  bool after_assistant_ = false;  // the message before, tool messages aside, is from the assistant
  bool answered_ = false;         // this message has tool responses
  Ending ending_ = Ending::kOther;
  size_t next_media_ = 0;  // of options_.media
  ChatWriter out_;
};

Status Renderer::check_role(size_t i) {
  const JsonValue& role = messages_[i]["role"];
  for (const std::string_view known : {"system", "developer", "user", "assistant", "model", "tool"}) {
    if (!role.is_string() || role.text != known) continue;
    if (known == "user") last_user_ = static_cast<ptrdiff_t>(i);
    return absl::OkStatus();
  }
  return argument_error(StrCat("messages[", i,
                               "]: role must be system, developer, user, assistant or tool, not ",
                               role.is_missing() ? "missing" : quoted(python_str(role))));
}

Status Renderer::write_system_turn(bool has_system) {
  out_.control("<|turn>system\n");
  if (options_.enable_thinking) out_.control("<|think|>\n");
  if (has_system) out_.user(strip(python_str(messages_[0]["content"])));
  if (tools_.truthy() && !tools_.is_list()) return argument_error("tools must be a list");
  for (size_t i = 0; i < tools_.items.size(); ++i) {
    out_.control("<|tool>");
    if (Status status = write_declaration(tools_.items[i], options_.variant, &out_); !status.ok())
      return argument_error(StrCat("tools[", i, "]: ", status.message()));
    out_.control("<tool|>");
  }
  out_.control("<turn|>\n");
  return absl::OkStatus();
}

Status Renderer::write_message(size_t i) {
  if (plain_ && role(i) == "tool") return absl::OkStatus();  // written with the call it answers
  const JsonValue& message = messages_[i];
  const JsonValue& calls = message["tool_calls"];
  const JsonValue& responses = message["tool_responses"];
  const bool same_turn =
      plain_ ? is_model(role(i)) && after_assistant_ : ending_ == Ending::kToolResponse && calls.truthy();
  if (!same_turn) {
    out_.control("<|turn>");
    out_.control(is_model(role(i)) ? "model" : role(i));
    out_.control("\n");
  }
  after_assistant_ = role(i) == "assistant";
  answered_ = false;
  ending_ = Ending::kOther;
  if (calls.truthy()) {
    if (static_cast<ptrdiff_t>(i) > last_user_) G4_RETURN_IF_ERROR(write_reasoning(message));
    G4_RETURN_IF_ERROR(write_tool_calls(calls));
  }
  if (responses.truthy())
    G4_RETURN_IF_ERROR(write_native_responses(responses));
  else if (plain_ && calls.truthy())
    G4_RETURN_IF_ERROR(write_tool_messages(i, calls));
  G4_RETURN_IF_ERROR(write_content(message["content"], is_model(role(i))));
  write_turn_end(message);
  return absl::OkStatus();
}

// Thoughts stay in the text only beside tool calls that follow the last user message.
Status Renderer::write_reasoning(const JsonValue& message) {
  const bool short_name = plain_ && message["reasoning"].truthy();
  const JsonValue& reasoning = message[short_name ? "reasoning" : "reasoning_content"];
  if (!reasoning.truthy()) return absl::OkStatus();
  if (plain_ && !reasoning.is_string()) return argument_error("reasoning must be a string");
  out_.control("<|channel>thought\n");
  out_.user(reasoning);
  out_.control(plain_ ? "\n<channel|>" : "<channel|>");
  return absl::OkStatus();
}

Status Renderer::write_tool_calls(const JsonValue& calls) {
  if (!calls.is_list()) return argument_error("tool_calls must be a list");
  for (size_t i = 0; i < calls.items.size(); ++i) {
    const JsonValue& function = calls.items[i]["function"];
    if (!function["name"].is_string())
      return argument_error(StrCat("tool_calls[", i, "]: function.name must be a string"));
    const JsonValue& arguments = function["arguments"];
    out_.control("<|tool_call>call:");
    out_.user(function["name"]);
    out_.control("{");
    if (arguments.is_object()) write_members(arguments, &out_);
    if (arguments.is_string()) out_.user(arguments);
    out_.control("}<tool_call|>");
  }
  ending_ = Ending::kToolCall;
  return absl::OkStatus();
}

// Responses inside the assistant's message.
Status Renderer::write_native_responses(const JsonValue& responses) {
  if (!responses.is_list()) return argument_error("tool_responses must be a list");
  for (const JsonValue& response : responses.items)
    G4_RETURN_IF_ERROR(write_tool_response(response["name"], response["response"]));
  return absl::OkStatus();
}

// The tool messages that directly follow message i, named by the calls whose ids they carry.
Status Renderer::write_tool_messages(size_t i, const JsonValue& calls) {
  const auto id_key = [](const JsonValue& id) {
    return StrCat(id.is_string() ? "\"" : "", id.is_missing() ? "" : python_str(id));
  };
  std::map<std::string, const JsonValue*> names;
  for (const JsonValue& call : calls.items) names[id_key(call["id"])] = &call["function"]["name"];
  for (size_t k = i + 1; k < messages_.size() && role(k) == "tool"; ++k) {
    const JsonValue& message = messages_[k];
    const JsonValue& content = message["content"];
    const auto called = names.find(id_key(message["tool_call_id"]));
    const JsonValue& name = called == names.end() ? message["name"] : *called->second;
    if (Status status = write_tool_message(name, content); !status.ok())
      return argument_error(StrCat("answered by messages[", k, "]: ", status.message()));
  }
  return absl::OkStatus();
}

Status Renderer::write_tool_message(const JsonValue& name, const JsonValue& content) {
  JsonValue body{.kind = content.is_list() ? JsonValue::Kind::kString : JsonValue::Kind::kNone};
  if (!content.is_list()) return write_tool_response(name, content.is_missing() ? body : content);
  for (const JsonValue& part : content.items) {
    if (!part.is_object()) return argument_error("content parts must be objects");
    if (!part["type"].is_string() || part["type"].text != "text") continue;
    if (!part["text"].is_missing() && !part["text"].is_string())
      return argument_error("text must be a string");
    body.text += part["text"].text;
  }
  return write_tool_response(name, body);
}

Status Renderer::write_tool_response(const JsonValue& name, const JsonValue& response) {
  if (!name.is_missing() && !name.is_string())
    return argument_error("the name of a tool response must be a string");
  answered_ = true;
  ending_ = Ending::kToolResponse;
  out_.control("<|tool_response>response:");
  out_.user(name.is_missing() ? "unknown" : name.text);
  out_.control("{");
  if (response.is_object()) {
    write_members(response, &out_);
  } else {
    out_.control("value:");
    write_argument(response, false, &out_);
  }
  out_.control("}<tool_response|>");
  return absl::OkStatus();
}

Status Renderer::write_content(const JsonValue& content, bool from_model) {
  if (content.is_string()) {
    out_.user(from_model ? strip_thinking(content.text) : strip(content.text));
    return absl::OkStatus();
  }
  if (!content.is_list() && !content.is_missing())
    return argument_error("content must be a string or a list of parts");
  for (size_t i = 0; i < content.items.size(); ++i)
    if (Status status = write_part(content.items[i], from_model); !status.ok())
      return argument_error(StrCat("content[", i, "]: ", status.message()));
  return absl::OkStatus();
}

Status Renderer::write_part(const JsonValue& part, bool from_model) {
  const std::string type = part["type"].is_string() ? part["type"].text : "";
  const JsonValue& text = part["text"];
  if (type == "text") {
    if (from_model && !text.is_string()) return argument_error("text must be a string");
    const std::string shown = python_str(text);
    out_.user(from_model ? strip_thinking(shown) : strip(shown));
    return absl::OkStatus();
  }
  if (type != "image" && type != "audio" && type != "video")
    return argument_error(StrCat("type must be text, image, audio or video, not ", quoted(type)));
  ending_ = Ending::kOther;
  return write_media(type);
}

Status Renderer::write_media(const std::string& type) {
  if (options_.media.empty()) {
    out_.control(StrCat("<|", type, "|>"));
    return absl::OkStatus();
  }
  if (next_media_ == options_.media.size()) return argument_error("more media parts than media are given");
  const ChatMedia& media = options_.media[next_media_++];
  if (media.kind != type)
    return argument_error(StrCat("type is ", quoted(type), ", but the media given for it is ", media.kind));
  out_.control(media.text);
  return absl::OkStatus();
}

void Renderer::write_turn_end(const JsonValue& message) {
  if (plain_ && ending_ == Ending::kToolCall && !answered_)
    out_.control("<|tool_response>");
  else if (!answered_ || message["content"].truthy())
    out_.control("<turn|>\n");
}

void Renderer::write_generation_prompt() {
  const bool open_turn = plain_ ? ending_ == Ending::kOther : ending_ != Ending::kToolResponse;
  if (open_turn) out_.control("<|turn>model\n");
  if ((open_turn || !plain_) && !options_.enable_thinking) out_.control("<|channel>thought\n<channel|>");
}
}  // namespace

ChatTemplate detect_chat_template(std::string_view template_text) {
  // Only the interleaved template looks for the last user message under this name.
  return template_text.find("last_user_message") == template_text.npos ? ChatTemplate::kPlain
                                                                       : ChatTemplate::kInterleaved;
}

StatusOr<RenderedChat> render_chat(std::string_view conversation, const ChatOptions& options) {
  if (conversation.size() > kSizeLimit)
    return argument_error(StrCat("a conversation of ", conversation.size(), " bytes, at most ", kSizeLimit));
  StatusOr<JsonValue> parsed = parse_json(conversation, kDepthLimit);
  if (!parsed.ok()) return argument_error(StrCat("conversation: ", parsed.status().message()));
  const JsonValue& messages = parsed->is_object() ? (*parsed)["messages"] : *parsed;
  if (!messages.is_list())
    return argument_error("the conversation must be a list of messages or an object with \"messages\"");
  return Renderer(options, messages, (*parsed)["tools"]).render();
}

StatusOr<std::vector<int32_t>> tokenize_chat(const Tokenizer& tokenizer, const RenderedChat& chat) {
  if (tokenizer.special().turn_begin < 0 || tokenizer.special().turn_end < 0)
    return unsupported_error("the vocabulary has no <|turn> and <turn|> tokens: this model cannot chat");
  return tokenizer.encode(chat.text, true, chat.literal);
}
}  // namespace g4
