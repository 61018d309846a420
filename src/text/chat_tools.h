// Tools as the chat templates write them: declarations, arguments, responses.
#pragma once
#include <string_view>

#include "text/chat_template.h"
#include "text/json_value.h"

namespace g4 {
// Builds a RenderedChat: what the template writes, and what came from the caller.
class ChatWriter {
 public:
  void control(std::string_view text) { chat_.text += text; }
  void user(std::string_view text);
  void user(const JsonValue& value) { user(python_str(value)); }
  RenderedChat take() { return std::move(chat_); }

 private:
  RenderedChat chat_;
};

// declaration:NAME{description:...,parameters:{...}}
// Errors: argument, without saying which tool (no function, a schema where the template would fail).
Status write_declaration(const JsonValue& tool, ChatTemplate variant, ChatWriter* out);

// A value as the model writes it: strings between <|"|>, objects and arrays with sorted keys, numbers and
// None as Python prints them.
void write_argument(const JsonValue& value, bool quote_keys, ChatWriter* out);

// The members of an object, key:value,key:value, keys without quotes: what stands between the braces of a
// call or response.
void write_members(const JsonValue& object, ChatWriter* out);
}  // namespace g4
