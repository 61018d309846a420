// The model's way of writing a tool call, call:NAME{key:value,...}, -> a name and JSON arguments.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace g4 {
struct ToolCall {
  std::string name;
  std::string
      arguments;      // a JSON object; if the model's call could not be read, its raw text as a JSON string
  bool valid = true;  // false: `arguments` holds the raw text
};

// `raw`: what stands between <|tool_call> and <tool_call|>, valid UTF-8. `quotes`: where in it <|"|> is the
// token of that name, in order; the same characters elsewhere are text. What the template could have written
// is read exactly. Else forgiving where the meaning is clear: keys and strings may be bare, in " or in ',
// commas may be missing or too many, a quote token that cannot end a string belongs to it. Time in proportion
// to the length; at most 48 levels.
ToolCall parse_tool_call(std::string_view raw, std::span<const size_t> quotes);
}  // namespace g4
