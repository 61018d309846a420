#include "tokenizer.h"

#include "failure.h"
#include "fill.h"
#include "media.h"

namespace g4_python {
namespace {
g4_chat_options chat_options(bool thinking, bool add_generation_prompt,
                             const std::vector<const g4_media*>& media) {
  g4_chat_options options = G4_INIT(g4_chat_options);
  options.media = media.empty() ? nullptr : media.data();
  options.media_count = media.size();
  if (thinking) options.flags |= G4_CHAT_THINKING;
  if (!add_generation_prompt) options.flags |= G4_CHAT_NO_GENERATION_PROMPT;
  return options;
}

std::vector<const g4_media*> handles(const MediaList& media) {
  std::vector<const g4_media*> handles;
  for (const auto& each : media) handles.push_back(each->handle());
  return handles;
}
}  // namespace

Tokenizer::Tokenizer(const std::string& path) {
  g4_tokenizer* handle = nullptr;
  Outcome outcome;
  {
    py::gil_scoped_release no_gil;
    outcome = Outcome(g4_tokenizer_open(&handle, path.c_str()));
  }
  outcome.check();
  handle_.reset(handle, g4_tokenizer_free);
}

std::vector<int32_t> Tokenizer::tokenize(const std::string& text, bool special, bool bos) const {
  const uint32_t flags = (special ? G4_TOKENIZE_SPECIAL : 0) | (bos ? G4_TOKENIZE_BOS : 0);
  return fill<std::vector<int32_t>>(text.size() + 1, [&](int32_t* ids, size_t capacity, size_t* needed) {
    return g4_tokenize(ids, capacity, needed, handle_.get(), text.data(), text.size(), flags);
  });
}

py::bytes Tokenizer::detokenize(const Ids& ids, bool special) const {
  const int32_t* data = ids.data();
  const auto count = static_cast<size_t>(ids.size());
  return fill<std::string>(8 * count, [&](char* text, size_t capacity, size_t* needed) {
    return g4_detokenize(text, capacity, needed, handle_.get(), data, count,
                         special ? G4_DETOKENIZE_SPECIAL : 0);
  });
}

py::str Tokenizer::render(const std::string& conversation, bool thinking, bool add_generation_prompt,
                          const MediaList& media) const {
  const std::vector<const g4_media*> given = handles(media);
  const g4_chat_options options = chat_options(thinking, add_generation_prompt, given);
  return fill<std::string>(0, [&](char* text, size_t capacity, size_t* needed) {
    return g4_chat_render(text, capacity, needed, handle_.get(), conversation.data(), conversation.size(),
                          &options);
  });
}

std::vector<int32_t> Tokenizer::tokenize_chat(const std::string& conversation, bool thinking,
                                              bool add_generation_prompt, const MediaList& media) const {
  const std::vector<const g4_media*> given = handles(media);
  const g4_chat_options options = chat_options(thinking, add_generation_prompt, given);
  const size_t guess = conversation.size() + 64;
  return fill<std::vector<int32_t>>(guess, [&](int32_t* ids, size_t capacity, size_t* needed) {
    return g4_chat_tokenize(ids, capacity, needed, handle_.get(), conversation.data(), conversation.size(),
                            &options);
  });
}

py::str Tokenizer::parse(const Ids& ids) const {
  const int32_t* data = ids.data();
  const auto count = static_cast<size_t>(ids.size());
  return fill<std::string>(64 + 8 * count, [&](char* json, size_t capacity, size_t* needed) {
    return g4_chat_parse(json, capacity, needed, handle_.get(), data, count);
  });
}

std::string Tokenizer::piece(int32_t id, bool special) const {
  size_t needed = 0;
  const uint32_t flags = special ? G4_DETOKENIZE_SPECIAL : 0;
  check(g4_detokenize(nullptr, 0, &needed, handle_.get(), &id, 1, flags));
  std::string text(needed, '\0');
  check(g4_detokenize(text.data(), text.size(), &needed, handle_.get(), &id, 1, flags));
  return text;
}

std::vector<std::pair<py::bytes, bool>> Tokenizer::pieces() const {
  std::vector<std::pair<py::bytes, bool>> all;
  const auto count = static_cast<int32_t>(vocabulary());
  for (int32_t id = 0; id < count; ++id) {
    const std::string text = piece(id, false);
    all.emplace_back(text.empty() ? piece(id, true) : text, text.empty());
  }
  return all;
}
}  // namespace g4_python
