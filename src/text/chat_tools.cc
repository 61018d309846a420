#include "text/chat_tools.h"

#include <algorithm>
#include <string>
#include <vector>

#include "text/unicode.h"

namespace g4 {
namespace {
constexpr std::string_view kQuote = "<|\"|>";

void write_quoted(std::string_view text, ChatWriter* out) {
  out->control(kQuote);
  out->user(text);
  out->control(kQuote);
}

// The template's comma between the members of one object.
class Comma {
 public:
  explicit Comma(ChatWriter* out) : out_(out) {}
  void operator()() {
    if (any_) out_->control(",");
    any_ = true;
  }

 private:
  ChatWriter* out_;
  bool any_ = false;
};

std::string upper_type(const JsonValue& schema) { return upper(python_str(schema["type"])); }

// The elements of a value as strings, as Python iterates: a list, an object's keys, a string's characters,
// nothing if undefined.
StatusOr<std::vector<std::string>> elements(const JsonValue& value, std::string_view name) {
  std::vector<std::string> texts;
  switch (value.kind) {
    case JsonValue::Kind::kUndefined:
      return texts;
    case JsonValue::Kind::kObject:
      return value.keys;
    case JsonValue::Kind::kList:
      for (const JsonValue& item : value.items) texts.push_back(python_str(item));
      return texts;
    case JsonValue::Kind::kString:
      for (std::string_view rest = value.text; !rest.empty(); rest.remove_prefix(texts.back().size()))
        texts.emplace_back(rest.substr(0, decode_utf8(rest).bytes));
      return texts;
    default:
      return argument_error(StrCat("\"", std::string(name), "\" in a schema must be a list"));
  }
}

// required:[...]
Status write_required(const JsonValue& required, ChatWriter* out) {
  G4_ASSIGN_OR_RETURN(const std::vector<std::string> names, elements(required, "required"));
  out->control("required:[");
  Comma comma(out);
  for (const std::string& name : names) {
    comma();
    write_quoted(name, out);
  }
  out->control("]");
  return absl::OkStatus();
}

// One parameter's schema and those inside it, in the order and with the commas of a template variant.
class SchemaWriter {
 public:
  SchemaWriter(ChatTemplate variant, ChatWriter* out) : plain_(variant == ChatTemplate::kPlain), out_(out) {}

  // The parameters of an object. A parameter with the name of a schema keyword is left out, as the templates
  // do.
  Status write_parameters(const JsonValue& properties) {
    if (!properties.is_object()) return argument_error("\"properties\" in a schema must be an object");
    Comma comma(out_);
    for (const size_t i : properties.sorted()) {
      const std::string& name = properties.keys[i];
      if (std::find(std::begin(kKeywords), std::end(kKeywords), name) != std::end(kKeywords)) continue;
      comma();
      out_->user(name);
      out_->control(":{");
      G4_RETURN_IF_ERROR(write_schema(properties.items[i]));
      out_->control("}");
    }
    return absl::OkStatus();
  }

 private:
  static constexpr std::string_view kKeywords[] = {"description", "type", "properties", "required",
                                                   "nullable"};

  Status write_schema(const JsonValue& schema) {
    const std::string type = upper_type(schema);
    Comma comma(out_);
    // The interleaved template always writes a comma here, and forgets it before the type where nothing else
    // came first.
    const auto structure_comma = [&] { plain_ ? comma() : out_->control(","); };
    const auto write_nullable = [&] {
      if (!schema["nullable"].truthy()) return;
      comma();
      out_->control("nullable:true");
    };
    if (schema["description"].truthy()) {
      comma();
      out_->control("description:");
      write_quoted(python_str(schema["description"]), out_);
    }
    if (!plain_) write_nullable();
    if (type == "STRING" && schema["enum"].truthy()) {
      comma();
      out_->control("enum:");
      write_argument(schema["enum"], true, out_);
    }
    if (type == "ARRAY" && schema["items"].is_object() && schema["items"].truthy()) {
      structure_comma();
      out_->control("items:{");
      G4_RETURN_IF_ERROR(write_items(schema["items"]));
      out_->control("}");
    }
    if (plain_) write_nullable();
    if (type == "OBJECT") {
      structure_comma();
      out_->control("properties:{");
      // Without "properties" the members of the schema itself are taken for parameters, as the templates do.
      G4_RETURN_IF_ERROR(write_parameters(schema["properties"].is_object() ? schema["properties"] : schema));
      out_->control("}");
      if (schema["required"].truthy()) {
        structure_comma();
        G4_RETURN_IF_ERROR(write_required(schema["required"], out_));
      }
    }
    comma();
    out_->control("type:");
    write_quoted(type, out_);
    return absl::OkStatus();
  }

  // The schema of an array's elements.
  Status write_items(const JsonValue& items) {
    Comma comma(out_);
    for (const size_t i : items.sorted()) {
      const std::string& key = items.keys[i];
      const JsonValue& value = items.items[i];
      if (value.kind == JsonValue::Kind::kNone) continue;
      comma();
      if (key == "properties") {
        out_->control("properties:{");
        if (value.is_object()) G4_RETURN_IF_ERROR(write_parameters(value));
        out_->control("}");
      } else if (key == "required") {
        G4_RETURN_IF_ERROR(write_required(value, out_));
      } else if (key == "type") {
        out_->control("type:");
        G4_RETURN_IF_ERROR(write_item_type(value));
      } else {
        out_->user(key);
        out_->control(":");
        write_argument(value, true, out_);
      }
    }
    return absl::OkStatus();
  }

  Status write_item_type(const JsonValue& type) {
    if (type.is_string()) {
      write_quoted(upper(type.text), out_);
      return absl::OkStatus();
    }
    std::vector<std::string> types;
    if (type.truthy()) {
      G4_ASSIGN_OR_RETURN(types, elements(type, "type"));
    }
    out_->control("[");
    Comma comma(out_);
    for (const std::string& one : types) {
      comma();
      write_quoted(upper(one), out_);
    }
    out_->control("]");
    return absl::OkStatus();
  }

  bool plain_;
  ChatWriter* out_;
};
}  // namespace

void ChatWriter::user(std::string_view text) {
  if (text.empty()) return;
  const size_t begin = chat_.text.size();
  chat_.text += text;
  if (!chat_.literal.empty() && chat_.literal.back().end == begin)
    chat_.literal.back().end = chat_.text.size();
  else
    chat_.literal.push_back({begin, chat_.text.size()});
}

Status write_declaration(const JsonValue& tool, ChatTemplate variant, ChatWriter* out) {
  const JsonValue& function = tool["function"];
  const JsonValue& parameters = function["parameters"];
  if (!function.is_object()) return argument_error("\"function\" must be an object");
  if (parameters.truthy() && !parameters.is_object())
    return argument_error("\"parameters\" must be an object");
  out->control("declaration:");
  out->user(function["name"]);
  out->control("{description:");
  write_quoted(python_str(function["description"]), out);
  if (parameters.truthy()) {
    out->control(",parameters:{");
    if (parameters["properties"].truthy()) {
      out->control("properties:{");
      G4_RETURN_IF_ERROR(SchemaWriter(variant, out).write_parameters(parameters["properties"]));
      out->control("},");
    }
    if (parameters["required"].truthy()) {
      G4_RETURN_IF_ERROR(write_required(parameters["required"], out));
      out->control(",");
    }
    if (parameters["type"].truthy()) {  // the closing brace depends on it: a slip of the templates, kept
      out->control("type:");
      write_quoted(upper_type(parameters), out);
      out->control("}");
    }
  }
  const JsonValue& response = function["response"];
  if (response.kind != JsonValue::Kind::kUndefined) {
    out->control(",response:{");
    if (response["description"].truthy()) {
      out->control("description:");
      write_quoted(python_str(response["description"]), out);
      out->control(",");
    }
    if (upper_type(response) == "OBJECT") {
      out->control("type:");
      write_quoted("OBJECT", out);
      out->control("}");
    }
  }
  out->control("}");
  return absl::OkStatus();
}

void write_argument(const JsonValue& value, bool quote_keys, ChatWriter* out) {
  Comma comma(out);
  switch (value.kind) {
    case JsonValue::Kind::kString:
      return write_quoted(value.text, out);
    case JsonValue::Kind::kBool:
      return out->control(value.truth ? "true" : "false");
    case JsonValue::Kind::kNone:
    case JsonValue::Kind::kNumber:
      return out->user(value);
    case JsonValue::Kind::kObject:
      out->control("{");
      for (const size_t i : value.sorted()) {
        comma();
        if (quote_keys)
          write_quoted(value.keys[i], out);
        else
          out->user(value.keys[i]);
        out->control(":");
        write_argument(value.items[i], quote_keys, out);
      }
      return out->control("}");
    case JsonValue::Kind::kUndefined:  // Jinja takes it for an empty sequence
    case JsonValue::Kind::kList:
      out->control("[");
      for (const JsonValue& item : value.items) {
        comma();
        write_argument(item, quote_keys, out);
      }
      return out->control("]");
  }
}

void write_members(const JsonValue& object, ChatWriter* out) {
  Comma comma(out);
  for (const size_t i : object.sorted()) {
    comma();
    out->user(object.keys[i]);
    out->control(":");
    write_argument(object.items[i], false, out);
  }
}
}  // namespace g4
