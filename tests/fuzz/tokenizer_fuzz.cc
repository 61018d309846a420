// A vocabulary from a damaged file, or text through a sound one. The ids must be in the vocabulary and give
// the text back.
#include <cstdlib>
#include <cstring>

#include "tests/text/small_vocabulary.h"

namespace {
void require(bool condition) {
  if (!condition) std::abort();
}

void check_round_trip(const g4::Tokenizer& tokenizer, const std::string& text) {
  std::string expected = text;  // U+2581 comes back as a space
  for (size_t at = 0; (at = expected.find("\xE2\x96\x81", at)) != std::string::npos;)
    expected.replace(at, 3, " ");
  const g4::ByteRange all[] = {{0, text.size()}};
  const std::vector<int32_t> plain = *tokenizer.encode(text, false),
                             literal = *tokenizer.encode(text, true, all);
  require(plain == literal);
  for (const bool parse_special : {false, true}) {
    const std::vector<int32_t> ids = *tokenizer.encode(text, parse_special);
    for (const int32_t id : ids) require(id >= 0 && id < tokenizer.vocab_size());
    require(*tokenizer.decode(ids, true) == expected);
  }
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto small = g4::SmallVocabulary().tokenizer();
  const std::string input(reinterpret_cast<const char*>(data), size);
  if (!input.starts_with("GGUF")) {
    check_round_trip(*small, input);
    return 0;
  }
  const g4::GgufInMemory file(input);
  if (!file.ok()) return 0;
  const auto tokenizer = g4::Tokenizer::from_metadata(*file);
  if (!tokenizer.ok()) return 0;
  for (const char* text :
       {"", "though  call\n\n\naaaa é🦙日\xFF", "<|turn>user\n<turn|><bos><|\"|><0x41>"})
    check_round_trip(**tokenizer, text);
  return 0;
}
