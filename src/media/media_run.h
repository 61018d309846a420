// What a picture or a sound is in a prompt: consecutive positions with their own embeddings.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace g4 {
enum class MediaKind : uint8_t { kImage, kAudio, kVideoFrame };

// Never changes.
struct MediaRun {
  MediaKind kind = MediaKind::kImage;
  size_t row_width = 0;         // D
  std::vector<float> rows;      // [row_count, D], as the text network takes them
  std::vector<int32_t> tokens;  // [row_count], see base/media_token.h
  size_t row_count() const { return tokens.size(); }
  const float* row(size_t i) const { return rows.data() + i * row_width; }
};
using MediaRunPtr = std::shared_ptr<const MediaRun>;

// The run of these rows [row_count, D], with tokens made of kind and rows (XXH3).
MediaRunPtr make_media_run(MediaKind kind, std::vector<float> rows, size_t row_width);

// The runs that still belong to somebody, to find them by their tokens. Any number of threads.
class MediaPool {
 public:
  void add(const MediaRunPtr& run);
  // The run whose tokens these begin with; nullptr if there is none.
  MediaRunPtr find(std::span<const int32_t> tokens) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<const MediaRun>> runs_;
};
}  // namespace g4
