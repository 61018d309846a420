// Never computing the same prompt twice: rewinding, extending by what is new, saving and loading.
#include <algorithm>
#include <cstring>

#include "session/session.h"

namespace g4 {
namespace {
size_t common_prefix(std::span<const int32_t> a, std::span<const int32_t> b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}
}  // namespace

void Session::forget_from(int position) {
  has_logits_ = has_logits_ && position == this->position() && position > 0;
  kv_.truncate(position);
  tokens_.resize(static_cast<size_t>(position));
  generated_begin_ = std::min(generated_begin_, tokens_.size());
}

Status Session::truncate(int position, bool reevaluate) {
  if (position < 0 || position > this->position())
    return argument_error(
        StrCat("cannot truncate to position ", position, ": the session stands at ", this->position()));
  if (const int exact = kv_.nearest_exact(position); exact != position) {
    if (!reevaluate)
      return state_error(StrCat("cannot truncate to position ", position,
                                " exactly: the sliding layers reach back to ", rewind_min(),
                                "; positions that can be reached are that or more, ", exact, ", and 0"));
    const std::vector<int32_t> kept(tokens_.begin(), tokens_.begin() + position);
    return extend(kept, {}).status();
  }
  Busy busy(*this);
  G4_RETURN_IF_ERROR(busy.status());
  forget_from(position);
  return absl::OkStatus();
}

StatusOr<size_t> Session::extend(std::span<const int32_t> tokens, const PrefillProgress& progress) {
  Busy busy(*this);
  G4_RETURN_IF_ERROR(busy.status());
  return evaluate_whole(tokens, progress);
}

StatusOr<size_t> Session::evaluate_whole(std::span<const int32_t> tokens, const PrefillProgress& progress) {
  G4_RETURN_IF_ERROR(check_tokens(tokens, 0));
  const size_t common = common_prefix(tokens_, tokens);
  if (common == tokens.size() && common == tokens_.size() && has_logits_) {
    reused_tokens_ += common;
    return common;
  }
  // The last token is evaluated even if it is held: its logits are not.
  const int kept = kv_.nearest_exact(static_cast<int>(std::min(common, tokens.size() - 1)));

  KvStore kv_before = kv_.fork();
  std::vector<int32_t> tokens_before = tokens_;
  const size_t generated_before = generated_begin_;
  const bool had_logits = has_logits_;
  forget_from(kept);
  const Status status = evaluate(tokens.subspan(static_cast<size_t>(kept)), nullptr, progress);
  if (!status.ok()) {
    kv_ = std::move(kv_before);
    tokens_ = std::move(tokens_before);
    generated_begin_ = generated_before;
    has_logits_ = had_logits;
    return status;
  }
  reused_tokens_ += static_cast<size_t>(kept);
  return static_cast<size_t>(kept);
}

KvIdentity Session::identity() const {
  return {model_->fingerprint(), &model_->network().kv_meta, options_.kv_type};
}

StatusOr<uint64_t> Session::save_kv(const std::string& path) {
  Busy busy(*this);
  G4_RETURN_IF_ERROR(busy.status());
  return g4::save_kv(path, identity(), kv_,
                     {tokens_, generated_begin_, has_logits_ ? logits_.span() : std::span<const float>()});
}

StatusOr<size_t> Session::load_kv(const std::string& path, std::span<const int32_t> tokens) {
  Busy busy(*this);
  G4_RETURN_IF_ERROR(busy.status());
  G4_ASSIGN_OR_RETURN(LoadedKv loaded, g4::load_kv(path, identity(), options_.rewind_margin, options_.context,
                                                   model().config().vocab_size));
  const size_t held = loaded.tokens.size(),
               common = tokens.empty() ? held : common_prefix(loaded.tokens, tokens);
  const bool whole = common == held && (held < tokens.size() || tokens.empty() || !loaded.logits.empty());
  const size_t wanted = whole ? held : std::min(common, tokens.size() - 1);
  const size_t kept = static_cast<size_t>(loaded.store.nearest_exact(static_cast<int>(wanted)));

  kv_ = std::move(loaded.store);
  tokens_.assign(loaded.tokens.begin(), loaded.tokens.end());
  generated_begin_ = loaded.generated_begin;
  has_logits_ = !loaded.logits.empty();
  if (has_logits_) std::memcpy(logits_.data(), loaded.logits.data(), logits_.size_bytes());
  forget_from(static_cast<int>(kept));
  reused_tokens_ += kept;
  return kept;
}
}  // namespace g4
