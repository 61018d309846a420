// The little of Unicode that text needs: UTF-8, and what Python's str methods, which the chat templates rely
// on, go by.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace g4 {
inline constexpr char32_t kReplacementCharacter = 0xFFFD;

struct Utf8Char {
  char32_t code;
  size_t bytes;  // 1 to 4; 0: no valid character here (cut short, overlong, surrogate, beyond U+10FFFF, stray
                 // byte)
};
// The first character of `text`, which is not empty.
Utf8Char decode_utf8(std::string_view text);
// Whether `text` is the beginning of a valid character that needs more bytes.
bool is_utf8_prefix(std::string_view text);
void append_utf8(char32_t code, std::string* out);
// Appends `bytes` with every byte that belongs to no valid character as U+FFFD (a cut character as one).
void append_valid_utf8(std::string_view bytes, std::string* out);
// For messages: the beginning of `bytes` in quotes, as valid UTF-8.
std::string quoted(std::string_view bytes);

// Python's str.strip(), str.lower() and str.upper() of valid UTF-8. Case goes letter by letter, with ß to SS;
// the few other mappings that change the number of letters or look at neighbours (final sigma) are left out.
std::string_view strip(std::string_view text);
std::string lower(std::string_view text);
std::string upper(std::string_view text);
// Python's str.isprintable() of one character; unassigned ones count as printable.
bool is_printable(char32_t code);
}  // namespace g4
