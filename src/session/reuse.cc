// Never computing the same prompt twice: rewinding, extending by what is new, saving and loading.
#include <algorithm>
#include <cstring>

#include "base/media_token.h"
#include "session/session.h"

namespace g4 {
void Session::forget_from(int position) {
  has_logits_ = has_logits_ && position == this->position() && position > 0;
  kv_.truncate(position);
  tokens_.resize(static_cast<size_t>(position));
  generated_begin_ = std::min(generated_begin_, tokens_.size());
}

int Session::nearest_exact(int position) const {
  const int whole = static_cast<int>(without_cut_run(tokens_, static_cast<size_t>(position)));
  const int exact = kv_.nearest_exact(whole);
  return exact == whole ? exact : nearest_exact(exact);
}

Status Session::truncate(int position, bool reevaluate) {
  if (position < 0 || position > this->position())
    return argument_error(
        StrCat("cannot truncate to position ", position, ": the session stands at ", this->position()));
  if (const size_t whole = without_cut_run(tokens_, static_cast<size_t>(position));
      whole != static_cast<size_t>(position))
    return argument_error(StrCat("cannot truncate to position ", position,
                                 ": it lies within a picture or sound, which begins at ", whole));
  if (const int exact = nearest_exact(position); exact != position) {
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

Session::State Session::state() const {
  State state{kv_.fork(), tokens_, generated_begin_, {}};
  if (has_logits_) state.logits.assign(logits_.span().begin(), logits_.span().end());
  return state;
}

void Session::set_state(State state) {
  kv_ = std::move(state.kv);
  tokens_.assign(state.tokens.begin(), state.tokens.end());  // keeps the capacity reserved for the context
  generated_begin_ = state.generated_begin;
  has_logits_ = !state.logits.empty();
  std::ranges::copy(state.logits, logits_.data());
}

// How much of what the session holds may stay when it is to hold `tokens`.
int Session::keepable(std::span<const int32_t> tokens) const {
  return nearest_exact(static_cast<int>(usable_prefix(tokens_, has_logits_, tokens)));
}

StatusOr<size_t> Session::evaluate_whole(std::span<const int32_t> tokens, const PrefillProgress& progress) {
  G4_RETURN_IF_ERROR(check_tokens(tokens, 0));
  const size_t kept = static_cast<size_t>(keepable(tokens));
  if (kept < tokens.size()) {
    State before = state();
    forget_from(static_cast<int>(kept));
    if (Status status = evaluate(tokens.subspan(kept), nullptr, progress); !status.ok()) {
      set_state(std::move(before));
      return status;
    }
  }
  reused_tokens_ += kept;
  return kept;
}

KvIdentity Session::identity() const {
  return {model_->fingerprint(), &model_->network().kv_meta, options_.kv_type};
}

StatusOr<uint64_t> Session::save(const std::string& path) const {
  return g4::save_kv(path, identity(), kv_,
                     {tokens_, generated_begin_, has_logits_ ? logits_.span() : std::span<const float>()});
}

StatusOr<size_t> Session::load(const std::string& path, std::span<const int32_t> tokens) {
  G4_ASSIGN_OR_RETURN(LoadedKv loaded, g4::load_kv(path, identity(), options_.rewind_margin, options_.context,
                                                   model().config().vocab_size));
  const size_t kept = loaded.info.restorable(tokens);
  set_state({std::move(loaded.store), std::move(loaded.info.tokens), loaded.generated_begin,
             std::move(loaded.logits)});
  forget_from(static_cast<int>(kept));
  return kept;
}

StatusOr<uint64_t> Session::save_kv(const std::string& path) {
  Busy busy(*this);
  G4_RETURN_IF_ERROR(busy.status());
  return save(path);
}

StatusOr<size_t> Session::load_kv(const std::string& path, std::span<const int32_t> tokens) {
  Busy busy(*this);
  G4_RETURN_IF_ERROR(busy.status());
  G4_ASSIGN_OR_RETURN(const size_t kept, load(path, tokens));
  reused_tokens_ += kept;
  return kept;
}

// Takes over the file that gives most, if that is more than the session holds. Another process may delete it
// between the look and the read; then the next one is tried.
StatusOr<KvCache::Found> Session::restore(std::span<const int32_t> tokens, const KvCache& cache) {
  constexpr int kTries = 3;
  Status problem;
  for (int i = 0; i < kTries; ++i) {
    G4_ASSIGN_OR_RETURN(KvCache::Found found, cache.find(identity(), tokens, options_.context));
    if (found.position_count <= static_cast<size_t>(keepable(tokens))) return found;
    problem = load(found.path, tokens).status();
    if (problem.ok()) return found;
    if (!cache.discard(found.path)) break;
  }
  return problem;
}

StatusOr<CacheUse> Session::extend_cached(std::span<const int32_t> tokens, const CacheOptions& options,
                                          const PrefillProgress& progress) {
  Busy busy(*this);
  G4_RETURN_IF_ERROR(busy.status());
  G4_RETURN_IF_ERROR(check_tokens(tokens, 0));
  State before = state();
  CacheUse use;
  KvCache::Found found;
  const StatusOr<KvCache> cache = KvCache::open(options);
  if (!cache.ok()) {
    use.status = cache.status();
  } else if (StatusOr<KvCache::Found> restored = restore(tokens, *cache); restored.ok()) {
    found = *restored;
  } else {
    use.status = restored.status();
  }
  const StatusOr<size_t> kept = evaluate_whole(tokens, progress);
  if (!kept.ok()) {
    set_state(std::move(before));
    return kept.status();
  }
  use.reused = *kept;
  if (!cache.ok()) return use;
  if (found.position_count < tokens.size()) {
    found.path = cache->path_for(identity(), tokens);
    const StatusOr<uint64_t> written = save(found.path);
    use.status.Update(written.status());
    use.written_bytes = written.value_or(0);
  }
  cache->used(found.path);
  return use;
}
}  // namespace g4
