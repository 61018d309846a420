#include "model/pack_weights.h"

#include <algorithm>
#include <vector>

#include "base/huge_pages.h"
#include "model/tensor_table.h"
#include "quant/packing.h"

namespace g4 {
namespace {
constexpr uint64_t kStepBytes = uint64_t{16} << 20;  // packed between two reports of progress
constexpr size_t kGroupsPerTask = 8;

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

// Packs one matrix, some groups at a time.
Status pack_matrix(const Matrix& from, const Matrix& to, const MappedFile& file, ThreadPool& pool,
                   uint8_t* out, const std::function<Status(uint64_t)>& report) {
  const uint64_t group_bytes = to.lanes * from.stride_bytes();
  const size_t groups = to.stored_rows() / to.lanes,
               step = static_cast<size_t>(std::max<uint64_t>(1, kStepBytes / group_bytes));
  for (size_t begin = 0; begin < groups; begin += step) {
    const size_t count = std::min(step, groups - begin);
    const uint64_t offset = static_cast<uint64_t>(from.data - file.bytes().data()) + begin * group_bytes;
    file.will_need(offset, count * group_bytes);
    pool.parallel_for(count, kGroupsPerTask, [&](size_t first, size_t last) {
      pack_groups(from, to.lanes, begin + first, begin + last, out);
    });
    file.drop(offset, count * group_bytes);
    G4_RETURN_IF_ERROR(report(count * group_bytes));
  }
  return absl::OkStatus();
}
}  // namespace

Status pack_weights(Weights& weights, size_t lanes, const MappedFile& file, ThreadPool& pool,
                    const LoadProgress& progress) {
  const std::vector<Item> items = items_to_pack(weights);
  const bool is_tied = weights.output.data == weights.token_embd.data;
  uint64_t total = 0, done = 0;
  for (const Item& item : items) total += item.count * item.packed(lanes, nullptr).size_bytes();
  const auto report = [&](uint64_t bytes) {
    done += bytes;
    return progress && !progress(done, total) ? cancelled_error() : absl::OkStatus();
  };
  G4_RETURN_IF_ERROR(report(0));
  G4_ASSIGN_OR_RETURN(AlignedBuffer<uint8_t> buffer, AlignedBuffer<uint8_t>::create(total, kHugePageBytes));
  advise_huge_pages(buffer.data(), buffer.size_bytes());
  uint8_t* out = buffer.data();
  for (const Item& item : items) {
    const Matrix packed = item.packed(lanes, out);
    for (size_t i = 0; i < item.count; ++i, out += packed.size_bytes()) {
      Matrix from = *item.matrix;
      from.data += i * from.size_bytes();
      G4_RETURN_IF_ERROR(pack_matrix(from, packed, file, pool, out, report));
    }
  }
  out = buffer.data();
  for (const Item& item : items) {
    *item.matrix = item.packed(lanes, out);
    out += item.count * item.matrix->size_bytes();
  }
  if (is_tied) weights.token_embd = weights.output;
  weights.packed = std::move(buffer);
  return absl::OkStatus();
}
}  // namespace g4
