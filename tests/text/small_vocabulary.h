// A vocabulary of Gemma 4's kind, small enough to read: for tests of what the reference vocabularies do not
// show.
#pragma once
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/gguf_writer.h"
#include "text/tokenizer.h"

namespace g4 {
struct SmallVocabulary {
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  std::vector<std::string> merges;

  SmallVocabulary() {
    for (const char* token : {"<pad>", "<eos>", "<bos>", "<unk>", "<|think|>", "<|turn>", "<turn|>",
                              "<|tool>", "<tool|>", "<|image|>", "<|audio|>", "<|video|>"})
      add(token, token == std::string("<unk>") ? 2 : 3);
    for (const char* token : {"<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", "<|tool_response>",
                              "<tool_response|>", "<|\"|>"})
      add(token, 4);
    for (int byte = 0; byte < 256; ++byte) {
      char token[8];
      std::snprintf(token, sizeof token, "<0x%02X>", byte);
      add(token, 6);
    }
    for (const char* token :
         {"\n", "\n\n", "\xE2\x96\x81", "\xE2\x96\x81\xE2\x96\x81", "\xC3\xA9", "\xF0\x9F\xA6\x99"})
      add(token, 1);
    for (char c = '!'; c <= '~'; ++c) add(std::string(1, c), 1);
    for (const char* merge :
         {"\n \n", "\xE2\x96\x81 \xE2\x96\x81", "a b", "b c", "ab c", "c d", "a a", "aa aa", "\xE2\x96\x81 a",
          "o u", "t h", "th ou", "g h", "thou gh", "though t", "c a", "l l", "ca ll", "< |"}) {
      merges.push_back(merge);
      std::string joined = merge;
      joined.erase(joined.find(' '), 1);
      if (std::find(tokens.begin(), tokens.end(), joined) == tokens.end()) add(joined, 1);
    }
  }
  void add(const std::string& token, int32_t type) {
    tokens.push_back(token);
    types.push_back(type);
  }
  int32_t id(const std::string& token) const {
    return static_cast<int32_t>(std::find(tokens.begin(), tokens.end(), token) - tokens.begin());
  }
  GgufWriter writer() const {
    GgufWriter writer;
    writer.set<std::string>("tokenizer.ggml.model", "gemma4");
    writer.set_array("tokenizer.ggml.tokens", tokens);
    writer.set_array("tokenizer.ggml.scores", std::vector<float>(tokens.size()));
    writer.set_array("tokenizer.ggml.token_type", types);
    writer.set_array("tokenizer.ggml.merges", merges);
    writer.set<uint32_t>("tokenizer.ggml.bos_token_id", 2).set<uint32_t>("tokenizer.ggml.eos_token_id", 1);
    writer.set<uint32_t>("tokenizer.ggml.unknown_token_id", 3)
        .set<uint32_t>("tokenizer.ggml.padding_token_id", 0);
    return writer;
  }
  std::shared_ptr<const Tokenizer> tokenizer() const {
    return *Tokenizer::from_metadata(*GgufInMemory(writer()));
  }
};
}  // namespace g4
