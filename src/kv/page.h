// A page of keys and values, shared between forks. Not std::shared_ptr: use_count() there is a relaxed load,
// so "I am the only holder" would not make the reads of a former holder visible before the writes that
// follow.
#pragma once
#include <atomic>
#include <utility>

#include "base/aligned_buffer.h"

namespace g4 {
class PageRef {
 public:
  PageRef() = default;
  explicit PageRef(AlignedBuffer<uint8_t> bytes) : page_(new Page{std::move(bytes), 1}) {}
  PageRef(const PageRef& other) : page_(other.page_) {
    if (page_ != nullptr) page_->holders.fetch_add(1, std::memory_order_relaxed);
  }
  PageRef(PageRef&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}
  PageRef& operator=(PageRef other) noexcept {
    std::swap(page_, other.page_);
    return *this;
  }
  ~PageRef() {
    if (page_ != nullptr && page_->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete page_;
  }
  // Nobody else holds the page, and what others did with it is over: it may be written.
  bool unique() const { return page_->holders.load(std::memory_order_acquire) == 1; }
  uint8_t* data() const { return page_->bytes.data(); }
  size_t size_bytes() const { return page_->bytes.size(); }

 private:
  struct Page {
    AlignedBuffer<uint8_t> bytes;
    std::atomic<int> holders;
  };
  Page* page_ = nullptr;
};
}  // namespace g4
