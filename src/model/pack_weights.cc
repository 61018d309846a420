#include "model/pack_weights.h"

#include <algorithm>
#include <vector>

#include "base/huge_pages.h"
#include "model/tensor_table.h"
#include "quant/packing.h"

namespace g4 {
namespace {
constexpr uint64_t kStepBytes = uint64_t{16} << 20;  // packed between two reports of progress
constexpr size_t kGroupsPerTask = 8, kMaxLanes = 16;

// visit(field of the owner) for all its matrices and stacks of the table.
template <typename Owner, typename Visit>
void for_each_matrix(std::span<const TensorRow<Owner>> table, Owner& owner, Visit& visit) {
  for (const TensorRow<Owner>& row : table)
    std::visit(
        [&](auto field) {
          using Field = std::remove_reference_t<decltype(owner.*field)>;
          if constexpr (std::is_same_v<Field, Matrix>)
            visit(owner.*field, 1);
          else if constexpr (std::is_same_v<Field, MatrixStack>)
            visit((owner.*field).first, (owner.*field).count);
        },
        row.field);
}

// A matrix, or the first of a stack, and how many they are.
struct Item {
  Matrix* matrix;
  size_t count;
  Matrix packed(size_t lanes, const uint8_t* data) const {
    return {data, matrix->type, matrix->rows, matrix->cols, lanes};
  }
  Matrix operator[](size_t i) const { return MatrixStack{*matrix, count}[i]; }
  uint64_t size_bytes() const { return count * matrix->size_bytes(); }
};

std::vector<Item> items_to_pack(Weights& weights) {
  std::vector<Item> items;
  const auto visit = [&](Matrix& matrix, size_t count) {
    if (!matrix.empty() && &matrix != &weights.token_embd) items.push_back({&matrix, count});
  };
  for_each_matrix(model_tensors(), weights, visit);
  for (LayerWeights& layer : weights.layers) for_each_matrix(layer_tensors(), layer, visit);
  return items;
}

bool is_tied(const Weights& weights) { return weights.output.data == weights.token_embd.data; }

// In a prepared file every matrix takes the bytes it had: it is packed if its rows fill whole groups.
size_t prepared_lanes(const Matrix& matrix, size_t lanes) { return matrix.rows % lanes == 0 ? lanes : 1; }

class Progress {
 public:
  Progress(const LoadProgress& report, uint64_t total) : report_(report), total_(total) {}
  Status add(uint64_t bytes) {
    done_ += bytes;
    return report_ && !report_(done_, total_) ? cancelled_error() : absl::OkStatus();
  }

 private:
  const LoadProgress& report_;
  uint64_t total_, done_ = 0;
};

// Rows of a step: whole groups of any number of lanes.
size_t step_rows(const Matrix& matrix) {
  return static_cast<size_t>(kStepBytes / matrix.stride_bytes() / kMaxLanes + 1) * kMaxLanes;
}

uint64_t place_in(const MappedFile& file, const uint8_t* data) {
  return static_cast<uint64_t>(data - file.bytes().data());
}

// Packs one matrix, some groups at a time: each step to `next`, after which done(bytes) moves it on or takes
// what is there.
template <typename Done>
Status pack_matrix(const Matrix& from, size_t lanes, const MappedFile& file, ThreadPool& pool, uint8_t*& next,
                   Done done) {
  const size_t step = step_rows(from);
  for (size_t row = 0; row < from.rows; row += step) {
    const Matrix part = from.row_range(row, std::min(step, from.rows - row));
    const Matrix packed{next, from.type, part.rows, from.cols, lanes};
    const uint64_t offset = place_in(file, part.data);
    file.will_need(offset, part.size_bytes());
    pool.parallel_for(packed.stored_rows() / lanes, kGroupsPerTask,
                      [&](size_t first, size_t last) { pack_groups(part, lanes, first, last, next); });
    file.drop(offset, part.size_bytes());
    G4_RETURN_IF_ERROR(done(packed.size_bytes()));
  }
  return absl::OkStatus();
}
}  // namespace

void mark_prepared(Weights& weights, size_t lanes) {
  const bool tied = is_tied(weights);
  for (const Item& item : items_to_pack(weights)) item.matrix->lanes = prepared_lanes(*item.matrix, lanes);
  if (tied) weights.token_embd = weights.output;
}

Status pack_weights(Weights& weights, size_t lanes, const MappedFile& file, ThreadPool& pool,
                    const LoadProgress& report) {
  std::vector<Item> items = items_to_pack(weights);
  const bool tied = is_tied(weights);
  const auto rest =
      std::ranges::stable_partition(items, [&](const Item& item) { return item.matrix->lanes == lanes; });
  const std::span<const Item> ready(items.begin(), rest.begin());
  uint64_t ready_bytes = 0, packed_bytes = 0;
  for (const Item& item : ready) ready_bytes += item.size_bytes();
  for (const Item& item : rest) packed_bytes += item.count * item.packed(lanes, nullptr).size_bytes();
  Progress progress(report, ready_bytes + packed_bytes);
  G4_RETURN_IF_ERROR(progress.add(0));
  for (const Item& item : ready) {
    file.will_need(place_in(file, item.matrix->data), item.size_bytes());
    G4_RETURN_IF_ERROR(progress.add(item.size_bytes()));
  }
  G4_ASSIGN_OR_RETURN(AlignedBuffer<uint8_t> buffer,
                      AlignedBuffer<uint8_t>::create(packed_bytes, kHugePageBytes));
  advise_huge_pages(buffer.data(), buffer.size_bytes());
  uint8_t* next = buffer.data();
  for (const Item& item : rest)
    for (size_t i = 0; i < item.count; ++i)
      G4_RETURN_IF_ERROR(pack_matrix(item[i], lanes, file, pool, next, [&](uint64_t bytes) {
        next += bytes;
        return progress.add(bytes);
      }));
  next = buffer.data();
  for (const Item& item : rest) {
    *item.matrix = item.packed(lanes, next);
    next += item.size_bytes();
  }
  if (tied) weights.token_embd = weights.output;
  weights.packed = std::move(buffer);
  return absl::OkStatus();
}

Status write_packed(Weights& weights, size_t lanes, const MappedFile& file, uint64_t begin, ThreadPool& pool,
                    const LoadProgress& report, FileWriter& out) {
  std::vector<Item> items = items_to_pack(weights);
  std::ranges::sort(items, {}, [](const Item& item) { return item.matrix->data; });
  size_t step_bytes = 0;
  for (const Item& item : items)
    step_bytes = std::max(step_bytes, step_rows(*item.matrix) * item.matrix->stride_bytes());
  G4_ASSIGN_OR_RETURN(AlignedBuffer<uint8_t> buffer, AlignedBuffer<uint8_t>::create(step_bytes));
  uint8_t* next = buffer.data();
  Progress progress(report, file.bytes().size() - begin);
  G4_RETURN_IF_ERROR(progress.add(0));
  const auto write = [&](std::span<const uint8_t> bytes) -> Status {
    G4_RETURN_IF_ERROR(out.write(bytes));
    return progress.add(bytes.size());
  };
  const auto copy = [&](uint64_t end) -> Status {
    for (uint64_t bytes; begin < end; begin += bytes) {
      bytes = std::min(kStepBytes, end - begin);
      file.will_need(begin, bytes);
      G4_RETURN_IF_ERROR(write(file.bytes().subspan(begin, bytes)));
      file.drop(begin, bytes);
    }
    return absl::OkStatus();
  };
  for (const Item& item : items) {
    G4_RETURN_IF_ERROR(copy(place_in(file, item.matrix->data)));
    for (size_t i = 0; i < item.count; ++i)
      G4_RETURN_IF_ERROR(
          pack_matrix(item[i], prepared_lanes(*item.matrix, lanes), file, pool, next, [&](uint64_t bytes) {
            return write({next, bytes});
          }));
    begin += item.size_bytes();
  }
  return copy(file.bytes().size());
}
}  // namespace g4
