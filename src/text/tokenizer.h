// UTF-8 <-> token ids, equal to the reference Gemma 4 tokenizer: BPE over the whole text by merge rank, spaces as U+2581, split
// only at runs of newlines, unknown characters as <0xXX> byte tokens.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "io/tensor_source.h"

namespace g4 {
enum class TokenType : uint8_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

// Ids of the tokens the chat format and the session need; -1 where the vocabulary has none.
struct SpecialTokens {
  int32_t pad = 0, bos = -1, eos = -1, unknown = -1;
  int32_t turn_begin = -1, turn_end = -1;                    // <|turn> <turn|>
  int32_t channel_begin = -1, channel_end = -1;              // <|channel> <channel|>
  int32_t tool_call_begin = -1, tool_call_end = -1;          // <|tool_call> <tool_call|>
  int32_t tool_response_begin = -1, tool_response_end = -1;  // <|tool_response> <tool_response|>
  int32_t quote = -1;                                        // <|"|>
  int32_t image = -1, audio = -1, video = -1;                // <|image|> <|audio|> <|video|>: soft-token placeholders
  int32_t image_begin = -1, image_end = -1, audio_begin = -1, audio_end = -1;
};

// A part of a text, in bytes.
struct ByteRange {
  size_t begin, end;
};

class Tokenizer {
 public:
  // Errors: format (keys missing or of unequal length, merges that name absent tokens, special ids out of range: named).
  static StatusOr<std::shared_ptr<const Tokenizer>> from_metadata(const TensorSource& source);
  virtual ~Tokenizer() = default;

  virtual int vocab_size() const = 0;
  virtual const SpecialTokens& special() const = 0;
  // Ids that end an answer: eos, <turn|>, <|tool_response>, and what else the file declares (eot, eom).
  virtual std::span<const int32_t> stop_ids() const = 0;
  virtual bool is_stop(int32_t id) const = 0;
  virtual TokenType type(int32_t id) const = 0;  // id in [0, vocab_size)
  // The chat template the file carries, for telling variants apart; never executed. Empty if none.
  virtual std::string_view chat_template() const = 0;
  virtual int32_t find(std::string_view token_text) const = 0;  // -1 if absent

  // Text to ids; no <bos> is added. Invalid UTF-8 becomes byte tokens, byte by byte. Time linear in the text (up to a logarithm),
  // flat stack. With parse_special, control and user-defined tokens written in the text are taken as such, except where they
  // touch one of the `literal` ranges (sorted, disjoint): user text that must stay text.
  // Errors: argument (a text of 2 GiB or more).
  virtual StatusOr<std::vector<int32_t>> encode(std::string_view text, bool parse_special,
                                                std::span<const ByteRange> literal = {}) const = 0;
  // The bytes of one token: U+2581 as space, byte tokens as their byte; control tokens as nothing unless `special`.
  // Pieces of consecutive tokens concatenate to the text; a single piece may end inside a UTF-8 character.
  virtual void append_piece(int32_t id, bool special, std::string* out) const = 0;
  // Errors: argument (an id outside the vocabulary).
  virtual StatusOr<std::string> decode(std::span<const int32_t> ids, bool special) const = 0;
};
}  // namespace g4
