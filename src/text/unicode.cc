#include "text/unicode.h"

#include <algorithm>
#include <cstdint>

namespace g4 {
namespace {
// Letters from `first` to `last`, each `step`-th: the lower-case letter is `delta` further on. Unicode 14,
// above ASCII.
struct CaseRun {
  char32_t first, last;
  uint8_t step;
  int32_t delta;
};
constexpr CaseRun kCaseRuns[] = {
    {0xC0, 0xD6, 1, 32},         {0xD8, 0xDE, 1, 32},         {0x100, 0x12E, 2, 1},
    {0x132, 0x136, 2, 1},        {0x139, 0x147, 2, 1},        {0x14A, 0x176, 2, 1},
    {0x178, 0x178, 1, -121},     {0x179, 0x17D, 2, 1},        {0x181, 0x181, 1, 210},
    {0x182, 0x184, 2, 1},        {0x186, 0x186, 1, 206},      {0x187, 0x187, 1, 1},
    {0x189, 0x18A, 1, 205},      {0x18B, 0x18B, 1, 1},        {0x18E, 0x18E, 1, 79},
    {0x18F, 0x18F, 1, 202},      {0x190, 0x190, 1, 203},      {0x191, 0x191, 1, 1},
    {0x193, 0x193, 1, 205},      {0x194, 0x194, 1, 207},      {0x196, 0x196, 1, 211},
    {0x197, 0x197, 1, 209},      {0x198, 0x198, 1, 1},        {0x19C, 0x19C, 1, 211},
    {0x19D, 0x19D, 1, 213},      {0x19F, 0x19F, 1, 214},      {0x1A0, 0x1A4, 2, 1},
    {0x1A6, 0x1A6, 1, 218},      {0x1A7, 0x1A7, 1, 1},        {0x1A9, 0x1A9, 1, 218},
    {0x1AC, 0x1AC, 1, 1},        {0x1AE, 0x1AE, 1, 218},      {0x1AF, 0x1AF, 1, 1},
    {0x1B1, 0x1B2, 1, 217},      {0x1B3, 0x1B5, 2, 1},        {0x1B7, 0x1B7, 1, 219},
    {0x1B8, 0x1B8, 1, 1},        {0x1BC, 0x1BC, 1, 1},        {0x1C4, 0x1C4, 1, 2},
    {0x1C5, 0x1C5, 1, 1},        {0x1C7, 0x1C7, 1, 2},        {0x1C8, 0x1C8, 1, 1},
    {0x1CA, 0x1CA, 1, 2},        {0x1CB, 0x1DB, 2, 1},        {0x1DE, 0x1EE, 2, 1},
    {0x1F1, 0x1F1, 1, 2},        {0x1F2, 0x1F4, 2, 1},        {0x1F6, 0x1F6, 1, -97},
    {0x1F7, 0x1F7, 1, -56},      {0x1F8, 0x21E, 2, 1},        {0x220, 0x220, 1, -130},
    {0x222, 0x232, 2, 1},        {0x23A, 0x23A, 1, 10795},    {0x23B, 0x23B, 1, 1},
    {0x23D, 0x23D, 1, -163},     {0x23E, 0x23E, 1, 10792},    {0x241, 0x241, 1, 1},
    {0x243, 0x243, 1, -195},     {0x244, 0x244, 1, 69},       {0x245, 0x245, 1, 71},
    {0x246, 0x24E, 2, 1},        {0x370, 0x372, 2, 1},        {0x376, 0x376, 1, 1},
    {0x37F, 0x37F, 1, 116},      {0x386, 0x386, 1, 38},       {0x388, 0x38A, 1, 37},
    {0x38C, 0x38C, 1, 64},       {0x38E, 0x38F, 1, 63},       {0x391, 0x3A1, 1, 32},
    {0x3A3, 0x3AB, 1, 32},       {0x3CF, 0x3CF, 1, 8},        {0x3D8, 0x3EE, 2, 1},
    {0x3F4, 0x3F4, 1, -60},      {0x3F7, 0x3F7, 1, 1},        {0x3F9, 0x3F9, 1, -7},
    {0x3FA, 0x3FA, 1, 1},        {0x3FD, 0x3FF, 1, -130},     {0x400, 0x40F, 1, 80},
    {0x410, 0x42F, 1, 32},       {0x460, 0x480, 2, 1},        {0x48A, 0x4BE, 2, 1},
    {0x4C0, 0x4C0, 1, 15},       {0x4C1, 0x4CD, 2, 1},        {0x4D0, 0x52E, 2, 1},
    {0x531, 0x556, 1, 48},       {0x10A0, 0x10C5, 1, 7264},   {0x10C7, 0x10C7, 1, 7264},
    {0x10CD, 0x10CD, 1, 7264},   {0x13A0, 0x13EF, 1, 38864},  {0x13F0, 0x13F5, 1, 8},
    {0x1C90, 0x1CBA, 1, -3008},  {0x1CBD, 0x1CBF, 1, -3008},  {0x1E00, 0x1E94, 2, 1},
    {0x1E9E, 0x1E9E, 1, -7615},  {0x1EA0, 0x1EFE, 2, 1},      {0x1F08, 0x1F0F, 1, -8},
    {0x1F18, 0x1F1D, 1, -8},     {0x1F28, 0x1F2F, 1, -8},     {0x1F38, 0x1F3F, 1, -8},
    {0x1F48, 0x1F4D, 1, -8},     {0x1F59, 0x1F5F, 2, -8},     {0x1F68, 0x1F6F, 1, -8},
    {0x1F88, 0x1F8F, 1, -8},     {0x1F98, 0x1F9F, 1, -8},     {0x1FA8, 0x1FAF, 1, -8},
    {0x1FB8, 0x1FB9, 1, -8},     {0x1FBA, 0x1FBB, 1, -74},    {0x1FBC, 0x1FBC, 1, -9},
    {0x1FC8, 0x1FCB, 1, -86},    {0x1FCC, 0x1FCC, 1, -9},     {0x1FD8, 0x1FD9, 1, -8},
    {0x1FDA, 0x1FDB, 1, -100},   {0x1FE8, 0x1FE9, 1, -8},     {0x1FEA, 0x1FEB, 1, -112},
    {0x1FEC, 0x1FEC, 1, -7},     {0x1FF8, 0x1FF9, 1, -128},   {0x1FFA, 0x1FFB, 1, -126},
    {0x1FFC, 0x1FFC, 1, -9},     {0x2126, 0x2126, 1, -7517},  {0x212A, 0x212A, 1, -8383},
    {0x212B, 0x212B, 1, -8262},  {0x2132, 0x2132, 1, 28},     {0x2160, 0x216F, 1, 16},
    {0x2183, 0x2183, 1, 1},      {0x24B6, 0x24CF, 1, 26},     {0x2C00, 0x2C2F, 1, 48},
    {0x2C60, 0x2C60, 1, 1},      {0x2C62, 0x2C62, 1, -10743}, {0x2C63, 0x2C63, 1, -3814},
    {0x2C64, 0x2C64, 1, -10727}, {0x2C67, 0x2C6B, 2, 1},      {0x2C6D, 0x2C6D, 1, -10780},
    {0x2C6E, 0x2C6E, 1, -10749}, {0x2C6F, 0x2C6F, 1, -10783}, {0x2C70, 0x2C70, 1, -10782},
    {0x2C72, 0x2C72, 1, 1},      {0x2C75, 0x2C75, 1, 1},      {0x2C7E, 0x2C7F, 1, -10815},
    {0x2C80, 0x2CE2, 2, 1},      {0x2CEB, 0x2CED, 2, 1},      {0x2CF2, 0x2CF2, 1, 1},
    {0xA640, 0xA66C, 2, 1},      {0xA680, 0xA69A, 2, 1},      {0xA722, 0xA72E, 2, 1},
    {0xA732, 0xA76E, 2, 1},      {0xA779, 0xA77B, 2, 1},      {0xA77D, 0xA77D, 1, -35332},
    {0xA77E, 0xA786, 2, 1},      {0xA78B, 0xA78B, 1, 1},      {0xA78D, 0xA78D, 1, -42280},
    {0xA790, 0xA792, 2, 1},      {0xA796, 0xA7A8, 2, 1},      {0xA7AA, 0xA7AA, 1, -42308},
    {0xA7AB, 0xA7AB, 1, -42319}, {0xA7AC, 0xA7AC, 1, -42315}, {0xA7AD, 0xA7AD, 1, -42305},
    {0xA7AE, 0xA7AE, 1, -42308}, {0xA7B0, 0xA7B0, 1, -42258}, {0xA7B1, 0xA7B1, 1, -42282},
    {0xA7B2, 0xA7B2, 1, -42261}, {0xA7B3, 0xA7B3, 1, 928},    {0xA7B4, 0xA7C2, 2, 1},
    {0xA7C4, 0xA7C4, 1, -48},    {0xA7C5, 0xA7C5, 1, -42307}, {0xA7C6, 0xA7C6, 1, -35384},
    {0xA7C7, 0xA7C9, 2, 1},      {0xA7D0, 0xA7D0, 1, 1},      {0xA7D6, 0xA7D8, 2, 1},
    {0xA7F5, 0xA7F5, 1, 1},      {0xFF21, 0xFF3A, 1, 32},     {0x10400, 0x10427, 1, 40},
    {0x104B0, 0x104D3, 1, 40},   {0x10570, 0x1057A, 1, 39},   {0x1057C, 0x1058A, 1, 39},
    {0x1058C, 0x10592, 1, 39},   {0x10594, 0x10595, 1, 39},   {0x10C80, 0x10CB2, 1, 64},
    {0x118A0, 0x118BF, 1, 32},   {0x16E40, 0x16E5F, 1, 32},   {0x1E900, 0x1E921, 1, 34}};

struct CodeRange {
  char32_t first, last;
};
// Categories C and Z without U+0020; unassigned code points are not listed.
constexpr CodeRange kNotPrintable[] = {
    {0x0, 0x1F},        {0x7F, 0xA0},       {0xAD, 0xAD},        {0x600, 0x605},     {0x61C, 0x61C},
    {0x6DD, 0x6DD},     {0x70F, 0x70F},     {0x890, 0x891},      {0x8E2, 0x8E2},     {0x1680, 0x1680},
    {0x180E, 0x180E},   {0x2000, 0x200F},   {0x2028, 0x202F},    {0x205F, 0x2064},   {0x2066, 0x206F},
    {0x3000, 0x3000},   {0xD800, 0xF8FF},   {0xFEFF, 0xFEFF},    {0xFFF9, 0xFFFB},   {0x110BD, 0x110BD},
    {0x110CD, 0x110CD}, {0x13430, 0x13438}, {0x1BCA0, 0x1BCA3},  {0x1D173, 0x1D17A}, {0xE0001, 0xE0001},
    {0xE0020, 0xE007F}, {0xF0000, 0xFFFFD}, {0x100000, 0x10FFFD}};

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

char32_t to_lower(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  const CaseRun* run = std::lower_bound(std::begin(kCaseRuns), std::end(kCaseRuns), c,
                                        [](const CaseRun& r, char32_t value) { return r.last < value; });
  if (run == std::end(kCaseRuns) || c < run->first || (c - run->first) % run->step != 0) return c;
  return static_cast<char32_t>(static_cast<int32_t>(c) + run->delta);
}

char32_t to_upper(char32_t c) {
  if (c < 0x80) return c >= 'a' && c <= 'z' ? c - 32 : c;
  for (const CaseRun& run : kCaseRuns) {
    const int64_t from = static_cast<int64_t>(c) - run.delta;
    if (from >= run.first && from <= run.last && (from - run.first) % run.step == 0)
      return static_cast<char32_t>(from);
  }
  return c;
}

// Appends map(character, out) for every character.
template <typename Map>
std::string map_characters(std::string_view text, Map map) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    const size_t bytes = std::max<size_t>(1, c.bytes);
    if (c.bytes == 0)
      out.append(text.substr(0, bytes));
    else
      map(c.code, &out);
    text.remove_prefix(bytes);
  }
  return out;
}

// The length of the character that this byte begins; 0 if it begins none.
size_t length_from_lead(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
}

// Whether `byte` may be the second after `lead`: no overlong forms, no surrogates, nothing beyond U+10FFFF.
bool is_second(uint8_t lead, uint8_t byte) {
  const uint8_t lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const uint8_t highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  return byte >= lowest && byte <= highest;
}

// How many bytes at the start of `text` fit into one character of `length` bytes.
size_t fitting_bytes(std::string_view text, size_t length) {
  size_t n = std::min<size_t>(length, 1);
  while (n < length && n < text.size()) {
    const uint8_t byte = static_cast<uint8_t>(text[n]);
    if (n == 1 ? !is_second(static_cast<uint8_t>(text[0]), byte) : (byte & 0xC0) != 0x80) break;
    ++n;
  }
  return n;
}
}  // namespace

Utf8Char decode_utf8(std::string_view text) {
  const uint8_t lead = static_cast<uint8_t>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const size_t length = length_from_lead(lead);
  if (length == 0 || fitting_bytes(text, length) < length) return {0, 0};
  char32_t code = lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) code = code << 6 | (static_cast<uint8_t>(text[i]) & 0x3Fu);
  return {code, length};
}

bool is_utf8_prefix(std::string_view text) {
  if (text.empty()) return false;
  const size_t length = length_from_lead(static_cast<uint8_t>(text[0]));
  return text.size() < length && fitting_bytes(text, length) == text.size();
}

void append_utf8(char32_t code, std::string* out) {
  const auto tail = [&](int shift) { out->push_back(static_cast<char>(0x80 | (code >> shift & 0x3F))); };
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out->push_back(static_cast<char>(0xC0 | code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | code >> 12));
    tail(6), tail(0);
  } else {
    out->push_back(static_cast<char>(0xF0 | code >> 18));
    tail(12), tail(6), tail(0);
  }
}

void append_valid_utf8(std::string_view bytes, std::string* out) {
  while (!bytes.empty()) {
    size_t n = decode_utf8(bytes).bytes;
    if (n > 0) {
      out->append(bytes.substr(0, n));
    } else {
      append_utf8(kReplacementCharacter, out);
      n = std::max<size_t>(1, fitting_bytes(bytes, length_from_lead(static_cast<uint8_t>(bytes[0]))));
    }
    bytes.remove_prefix(n);
  }
}

std::string quoted(std::string_view bytes) {
  constexpr size_t kShown = 40;
  std::string text = "\"";
  append_valid_utf8(bytes.substr(0, kShown), &text);
  return text += bytes.size() > kShown ? "...\"" : "\"";
}

std::string_view strip(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    if (c.bytes == 0 || !is_space(c.code)) break;
    text.remove_prefix(c.bytes);
  }
  while (!text.empty()) {
    size_t begin = text.size() - 1;
    while (begin > 0 && text.size() - begin < 4 && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80)
      --begin;
    const Utf8Char c = decode_utf8(text.substr(begin));
    if (c.bytes != text.size() - begin || !is_space(c.code)) break;
    text.remove_suffix(c.bytes);
  }
  return text;
}

std::string lower(std::string_view text) {
  return map_characters(text, [](char32_t c, std::string* out) { append_utf8(to_lower(c), out); });
}

std::string upper(std::string_view text) {
  constexpr char32_t kSharpS = 0xDF;
  return map_characters(text, [](char32_t c, std::string* out) {
    if (c == kSharpS)
      out->append("SS");
    else
      append_utf8(to_upper(c), out);
  });
}

bool is_printable(char32_t code) {
  const CodeRange* range =
      std::lower_bound(std::begin(kNotPrintable), std::end(kNotPrintable), code,
                       [](const CodeRange& r, char32_t value) { return r.last < value; });
  return range == std::end(kNotPrintable) || code < range->first;
}
}  // namespace g4
