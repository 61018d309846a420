// UTF-8 <-> token ids, equal to the reference Gemma 4 tokenizer: BPE over the whole text by merge rank,
// spaces as U+2581, split only at runs of newlines, unknown characters as <0xXX> byte tokens.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/thread_pool.h"
#include "io/tensor_source.h"
#include "text/bpe.h"
#include "text/flat_index.h"

namespace g4 {
enum class TokenType : uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

// Ids of the tokens the chat format and the session need; -1 where the vocabulary has none.
struct SpecialTokens {
  int32_t pad = 0, bos = -1, eos = -1, unknown = -1;
  int32_t turn_begin = -1, turn_end = -1;                    // <|turn> <turn|>
  int32_t channel_begin = -1, channel_end = -1;              // <|channel> <channel|>
  int32_t tool_call_begin = -1, tool_call_end = -1;          // <|tool_call> <tool_call|>
  int32_t tool_response_begin = -1, tool_response_end = -1;  // <|tool_response> <tool_response|>
  int32_t quote = -1;                                        // <|"|>
  int32_t image = -1, audio = -1, video = -1;  // <|image|> <|audio|> <|video|>: soft-token placeholders
  int32_t image_begin = -1, image_end = -1, audio_begin = -1, audio_end = -1;
};

// A part of a text, in bytes.
struct ByteRange {
  size_t begin, end;
};

class Tokenizer {
 public:
  // Copies what it needs: the source may go. `pool`: threads that help, if any. Errors: format (a key
  // missing, of unequal length, or naming what is not there: says which key and index), unsupported (a
  // tokenizer of another kind).
  static StatusOr<std::shared_ptr<const Tokenizer>> from_metadata(const TensorSource& source,
                                                                  ThreadPool* pool = nullptr);
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  int vocab_size() const { return static_cast<int>(types_.size()); }
  const SpecialTokens& special() const { return special_; }
  // Ids that end an answer: eos, <turn|>, <|tool_response>, and what else the file declares (eot, eom).
  std::span<const int32_t> stop_ids() const { return stop_ids_; }
  bool is_stop(int32_t id) const;
  TokenType type(int32_t id) const { return types_[static_cast<size_t>(id)]; }  // id in [0, vocab_size)
  // The chat template the file carries, for telling variants apart; never executed. Empty if none.
  std::string_view chat_template() const { return chat_template_; }
  // The token of exactly this text; -1 if there is none.
  int32_t find(std::string_view text) const { return find_hashed(text, hash_bytes(text)); }

  // Text to ids; no <bos> is added. Invalid UTF-8 becomes byte tokens, byte by byte. Time linear in the text
  // (up to a logarithm), flat stack. With parse_special, control and user-defined tokens written in the text
  // are taken as such (the first, the longest), unless they overlap one of the `literal` ranges (sorted,
  // disjoint): user text that must stay text. Errors: argument (a text of 2 GiB or more, literal ranges out
  // of order).
  StatusOr<std::vector<int32_t>> encode(std::string_view text, bool parse_special,
                                        std::span<const ByteRange> literal = {}) const;
  // The bytes of one token: U+2581 as space, byte tokens as their byte; control, user-defined and unknown
  // tokens as nothing unless `special`. Pieces of consecutive tokens concatenate to the text; a single piece
  // may end inside a UTF-8 character.
  void append_piece(int32_t id, bool special, std::string* out) const;
  // Errors: argument (an id outside the vocabulary).
  StatusOr<std::string> decode(std::span<const int32_t> ids, bool special) const;

 private:
  struct SpecialMatch {
    size_t begin, end;
    int32_t id;
  };
  struct ResolvedMerge {
    MergeTable::Merge merge;
    int32_t last, first;  // the characters that meet
  };

  Tokenizer() = default;
  Status load_tokens(const TensorSource& source);  // tokenizer_load.cc
  Status load_types(const TensorSource& source);
  Status load_merges(const TensorSource& source, ThreadPool* pool);
  Status resolve_merges(std::span<const std::string_view> merges, size_t first,
                        std::span<ResolvedMerge> out) const;
  Status check_merge(size_t index, const MergeTable::Merge& merge,
                     const std::array<std::string_view, 3>& texts) const;
  Status load_special(const TensorSource& source);
  Status load_id(const TensorSource& source, const char* key, int32_t* id) const;

  static constexpr std::string_view kSpaceMark = "\xE2\x96\x81";     // U+2581, for a space
  static std::optional<uint8_t> byte_value(std::string_view token);  // of "<0x41>"
  std::string_view token_text(int32_t id) const {
    const size_t i = static_cast<size_t>(id), begin = i == 0 ? 0 : text_ends_[i - 1];
    return {text_.data() + begin, text_ends_[i] - begin};
  }
  int32_t find_hashed(std::string_view text, uint64_t hash) const;
  bool is_text(int32_t id) const;
  void find_all(std::span<const std::string_view> tokens, std::span<int32_t> ids) const;
  int32_t character_id(std::string_view character) const;
  SpecialMatch next_special(std::string_view text, size_t begin, std::span<const ByteRange>* literal) const;
  int32_t longest_special(std::string_view text) const;
  void encode_text(std::string_view text, BpeEncoder* bpe, std::vector<int32_t>* ids) const;

  std::string text_;                 // of all tokens, one after the other
  std::vector<uint32_t> text_ends_;  // per token, in text_
  std::vector<TokenType> types_;
  FlatIndex by_text_;
  MergeTable merges_;
  std::array<int32_t, 256> byte_ids_;       // <0x00> ... <0xFF>
  std::array<int32_t, 128> ascii_ids_;      // of one-character tokens; ' ' is U+2581. -1: none
  std::vector<int32_t> special_ids_;        // control and user-defined tokens by their text
  std::array<bool, 256> begins_special_{};  // by first byte
  size_t longest_newlines_ = 0;             // the longest run of newlines that is a token
  SpecialTokens special_;
  std::vector<int32_t> stop_ids_;
  std::string chat_template_;
};
}  // namespace g4
