// The C ABI's part about text and tokens: see g4.cc.
#include <string>
#include <vector>

#include "capi/names.h"
#include "g4/g4.h"
#include "io/gguf.h"
#include "text/chat_parser.h"
#include "text/chat_template.h"

namespace {
struct Chat {
  g4::RenderedChat rendered;
  std::vector<const g4::Media*> media;
};

StatusOr<Chat> render(const g4_tokenizer* tokenizer, const char* conversation, size_t bytes,
                      const g4_chat_options* given) {
  G4_RETURN_IF_ERROR(require(tokenizer, "tokenizer"));
  G4_RETURN_IF_ERROR(check_count(conversation, bytes, "conversation"));
  G4_ASSIGN_OR_RETURN(const g4_chat_options o, read_struct(given, "g4_chat_options"));
  G4_RETURN_IF_ERROR(check_flags(o.flags, G4_CHAT_THINKING | G4_CHAT_NO_GENERATION_PROMPT));
  if (o.chat_template < G4_TEMPLATE_AUTO || o.chat_template > G4_TEMPLATE_INTERLEAVED)
    return argument_error(StrCat("chat_template ", o.chat_template, " is unknown"));
  g4::ChatOptions options;
  options.variant = o.chat_template == G4_TEMPLATE_AUTO
                        ? g4::detect_chat_template(tokenizer->tokenizer->chat_template())
                    : o.chat_template == G4_TEMPLATE_PLAIN ? g4::ChatTemplate::kPlain
                                                           : g4::ChatTemplate::kInterleaved;
  options.enable_thinking = (o.flags & G4_CHAT_THINKING) != 0;
  options.add_generation_prompt = (o.flags & G4_CHAT_NO_GENERATION_PROMPT) == 0;
  G4_RETURN_IF_ERROR(check_count(o.media, o.media_count, "media"));
  Chat chat;
  std::vector<g4::ChatMedia> texts;
  for (size_t i = 0; i < o.media_count; ++i) {
    G4_RETURN_IF_ERROR(require(o.media[i], "media"));
    chat.media.push_back(&o.media[i]->media);
    texts.push_back(g4::media_text(o.media[i]->media));
  }
  options.media = texts;
  G4_ASSIGN_OR_RETURN(chat.rendered, g4::render_chat({conversation, bytes}, options));
  return chat;
}
}  // namespace

extern "C" {

g4_status g4_tokenizer_open(g4_tokenizer** out, const char* path) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(out, "out"));
    *out = nullptr;
    G4_RETURN_IF_ERROR(require(path, "path"));
    G4_ASSIGN_OR_RETURN(std::shared_ptr<g4::MappedFile> file, g4::MappedFile::open(path));
    G4_ASSIGN_OR_RETURN(std::unique_ptr<g4::TensorSource> source, g4::open_gguf(std::move(file)));
    G4_ASSIGN_OR_RETURN(std::shared_ptr<const g4::Tokenizer> tokenizer,
                        g4::Tokenizer::from_metadata(*source));
    *out = new g4_tokenizer{std::move(tokenizer)};
    return absl::OkStatus();
  });
}

g4_status g4_tokenizer_share(g4_tokenizer** out, const g4_tokenizer* tokenizer) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(out, "out"));
    *out = nullptr;
    G4_RETURN_IF_ERROR(require(tokenizer, "tokenizer"));
    *out = new g4_tokenizer{tokenizer->tokenizer};
    return absl::OkStatus();
  });
}

void g4_tokenizer_free(g4_tokenizer* tokenizer) { delete tokenizer; }
const g4_tokenizer* g4_session_tokenizer(const g4_session* session) {
  return session == nullptr ? nullptr : &session->tokenizer;
}

g4_status g4_tokenize(int32_t* tokens, size_t capacity, size_t* needed, const g4_tokenizer* tokenizer,
                      const char* text, size_t text_bytes, uint32_t flags) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(tokenizer, "tokenizer"));
    G4_RETURN_IF_ERROR(check_count(text, text_bytes, "text"));
    G4_RETURN_IF_ERROR(check_flags(flags, G4_TOKENIZE_BOS | G4_TOKENIZE_SPECIAL));
    G4_ASSIGN_OR_RETURN(std::vector<int32_t> ids,
                        tokenizer->tokenizer->encode({text, text_bytes}, (flags & G4_TOKENIZE_SPECIAL) != 0));
    if ((flags & G4_TOKENIZE_BOS) != 0) ids.insert(ids.begin(), tokenizer->tokenizer->special().bos);
    return write_buffer<int32_t>(ids, tokens, capacity, needed);
  });
}

g4_status g4_detokenize(char* text, size_t capacity, size_t* needed, const g4_tokenizer* tokenizer,
                        const int32_t* tokens, size_t token_count, uint32_t flags) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(tokenizer, "tokenizer"));
    G4_RETURN_IF_ERROR(check_count(tokens, token_count, "tokens"));
    G4_RETURN_IF_ERROR(check_flags(flags, G4_DETOKENIZE_SPECIAL));
    G4_ASSIGN_OR_RETURN(
        const std::string out,
        tokenizer->tokenizer->decode({tokens, token_count}, (flags & G4_DETOKENIZE_SPECIAL) != 0));
    return write_buffer<char>(out, text, capacity, needed);
  });
}

uint32_t g4_vocab_count(const g4_tokenizer* tokenizer) {
  return tokenizer == nullptr ? 0 : static_cast<uint32_t>(tokenizer->tokenizer->vocab_size());
}

int32_t g4_is_stop(const g4_tokenizer* tokenizer, int32_t token) {
  return tokenizer != nullptr && tokenizer->tokenizer->is_stop(token) ? 1 : 0;
}

g4_status g4_chat_render(char* text, size_t capacity, size_t* needed, const g4_tokenizer* tokenizer,
                         const char* conversation, size_t conversation_bytes,
                         const g4_chat_options* options) {
  return guarded([&]() -> Status {
    G4_ASSIGN_OR_RETURN(const Chat chat, render(tokenizer, conversation, conversation_bytes, options));
    return write_buffer<char>(chat.rendered.text, text, capacity, needed);
  });
}

g4_status g4_chat_tokenize(int32_t* tokens, size_t capacity, size_t* needed, const g4_tokenizer* tokenizer,
                           const char* conversation, size_t conversation_bytes,
                           const g4_chat_options* options) {
  return guarded([&]() -> Status {
    G4_ASSIGN_OR_RETURN(const Chat chat, render(tokenizer, conversation, conversation_bytes, options));
    G4_ASSIGN_OR_RETURN(std::vector<int32_t> ids, g4::tokenize_chat(*tokenizer->tokenizer, chat.rendered));
    if (!chat.media.empty()) {
      G4_ASSIGN_OR_RETURN(ids, g4::place_media(ids, chat.media, tokenizer->tokenizer->special()));
    }
    return write_buffer<int32_t>(ids, tokens, capacity, needed);
  });
}

g4_status g4_chat_parse(char* json, size_t capacity, size_t* needed, const g4_tokenizer* tokenizer,
                        const int32_t* tokens, size_t token_count) {
  return guarded([&]() -> Status {
    G4_RETURN_IF_ERROR(require(tokenizer, "tokenizer"));
    G4_RETURN_IF_ERROR(check_count(tokens, token_count, "tokens"));
    g4::ChatParser parser(*tokenizer->tokenizer);
    std::string piece;
    for (size_t i = 0; i < token_count; ++i) {
      if (tokens[i] < 0 || tokens[i] >= tokenizer->tokenizer->vocab_size())
        return argument_error(StrCat("token ", tokens[i], " at index ", i, " is outside the vocabulary"));
      parser.push(tokens[i], &piece);
    }
    parser.finish(&piece);
    return write_buffer<char>(parser.to_json(), json, capacity, needed);
  });
}

}  // extern "C"
