// What the opaque handles of g4.h hold, and the checks of arguments that its functions share.
#pragma once
#include <memory>
#include <utility>

#include "base/status.h"
#include "session/session.h"
#include "text/tokenizer.h"

struct g4_tokenizer {
  std::shared_ptr<const g4::Tokenizer> tokenizer;
};

struct g4_session {
  explicit g4_session(std::unique_ptr<g4::Session> s)
      : session(std::move(s)), tokenizer{session->model().tokenizer()} {}
  std::unique_ptr<g4::Session> session;
  g4_tokenizer tokenizer;
};

struct g4_media {
  g4::Media media;
};

namespace g4 {
inline Status require(const void* pointer, const char* name) {
  return pointer != nullptr ? absl::OkStatus() : argument_error(StrCat(name, " is NULL"));
}
inline Status check_flags(uint32_t flags, uint32_t known) {
  return (flags & ~known) == 0 ? absl::OkStatus() : argument_error(StrCat("unknown flags ", flags & ~known));
}
inline Status check_count(const void* data, size_t count, const char* name) {
  return data != nullptr || count == 0 ? absl::OkStatus()
                                       : argument_error(StrCat(name, " is NULL, but its count is ", count));
}
}  // namespace g4
