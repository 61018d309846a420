#include "media/media_run.h"

#include <algorithm>

#define XXH_INLINE_ALL  // a header only: nothing to link
#include <xxhash.h>

#include "base/media_token.h"

namespace g4 {
MediaRunPtr make_media_run(MediaKind kind, std::vector<float> rows, size_t row_width) {
  auto run = std::make_shared<MediaRun>();
  run->kind = kind;
  run->row_width = row_width;
  run->rows = std::move(rows);
  run->tokens.resize(run->rows.size() / row_width);
  const XXH64_hash_t content = XXH3_64bits_withSeed(run->rows.data(), run->rows.size() * sizeof(float),
                                                    static_cast<XXH64_hash_t>(kind));
  for (size_t i = 0; i < run->tokens.size(); ++i)
    run->tokens[i] = media_token(XXH3_64bits_withSeed(&content, sizeof content, i), i == 0);
  return run;
}

void MediaPool::add(const MediaRunPtr& run) {
  const std::lock_guard lock(mutex_);
  std::erase_if(runs_, [](const auto& held) { return held.expired(); });
  runs_.push_back(run);
}

MediaRunPtr MediaPool::find(std::span<const int32_t> tokens) const {
  const std::lock_guard lock(mutex_);
  for (const auto& held : runs_) {
    const MediaRunPtr run = held.lock();
    if (run != nullptr && run->row_count() <= tokens.size() &&
        std::equal(run->tokens.begin(), run->tokens.end(), tokens.begin()))
      return run;
  }
  return nullptr;
}
}  // namespace g4
