// g4 tokenize: text to ids and back.
#include <unistd.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.h"

namespace g4::cli {
namespace {
using Json = nlohmann::ordered_json;

// Numbers separated by spaces, commas or brackets: what this command and its --json write.
std::vector<int32_t> parse_ids(std::string_view text) {
  static constexpr std::string_view kSeparators = " \t\r\n,[]";
  std::vector<int32_t> ids;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kSeparators), text.size()));
    if (text.empty()) return ids;
    const std::string_view word = text.substr(0, text.find_first_of(kSeparators));
    int32_t id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size()) {
      throw Failure(kUsage, "--decode takes token ids; '" + std::string(word) + "' is none");
    }
    ids.push_back(id);
    text.remove_prefix(word.size());
  }
}

// A piece on one line of ASCII and whole characters: quotes, and \n, \t, \" and \xNN inside.
std::string quote(const std::string& piece) {
  const Json value = piece;
  try {
    return value.dump();
  } catch (const Json::type_error&) {  // part of a character
    std::string text = "\"";
    for (const char byte : piece) text += format("\\x%02x", static_cast<unsigned char>(byte));
    return text + "\"";
  }
}

std::string write_json(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string decode(const TokenizerView& tokenizer, const TokenizeOptions& options) {
  const std::vector<int32_t> ids = parse_ids(*options.ids == "-" ? read_standard_input() : *options.ids);
  const std::string text = tokenizer.detokenize(ids, options.special ? G4_DETOKENIZE_SPECIAL : 0);
  if (options.json) return write_json({{"text", text}, {"ids", ids}});
  return isatty(STDOUT_FILENO) == 1 && !text.ends_with('\n') ? text + "\n" : text;
}

std::string encode(const TokenizerView& tokenizer, const TokenizeOptions& options) {
  const std::string text = !options.text || *options.text == "-" ? read_standard_input() : *options.text;
  const std::vector<int32_t> ids = tokenizer.tokenize(
      text, (options.bos ? G4_TOKENIZE_BOS : 0) | (options.special ? G4_TOKENIZE_SPECIAL : 0));
  const auto piece = [&](int32_t id) { return tokenizer.detokenize({&id, 1}, G4_DETOKENIZE_SPECIAL); };
  if (options.json) {
    Json object = {{"count", ids.size()}, {"ids", ids}};
    if (options.pieces) {
      for (const int32_t id : ids) object["pieces"].push_back(piece(id));
    }
    return write_json(object);
  }
  std::string lines;
  for (const int32_t id : ids) {
    if (options.pieces) {
      lines += format("%6d %s\n", id, quote(piece(id)).c_str());
    } else {
      if (!lines.empty()) lines += ' ';
      lines += std::to_string(id);
    }
  }
  return options.pieces ? lines : lines + "\n";
}
}  // namespace

int tokenize(Terminal& terminal, const TokenizeOptions& options) {
  const Tokenizer tokenizer = Tokenizer::open(model_or_demo(options.path));
  terminal.out.write(options.ids ? decode(tokenizer, options) : encode(tokenizer, options));
  return 0;
}
}  // namespace g4::cli
