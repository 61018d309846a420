#include "quant/dtype.h"

#include <bit>

#include "quant/all.h"

namespace g4 {
namespace {
struct Table {
  DType types[kDTypeCount];
  DTypeInfo infos[kDTypeCount];
};
template <class... Types>
constexpr Table make_table(TypeList<Types...>) {
  static_assert(((sizeof(typename Types::Block) <= kMaxBlockBytes) && ...));
  return {{Types::kType...},
          {{Types::kName, Types::kGgufId, Types::kBlockValues, sizeof(typename Types::Block), Types::kHalves,
            &decode_blocks<Types>}...}};
}
constexpr Table kTable = make_table(AllTypes());
static_assert(std::endian::native == std::endian::little, "weights are used as they lie in the file");
}  // namespace

const DTypeInfo& dtype_info(DType type) { return kTable.infos[static_cast<size_t>(type)]; }

const DType* dtype_from_gguf(uint32_t gguf_id) {
  for (const DType& type : kTable.types)
    if (dtype_info(type).gguf_id == gguf_id) return &type;
  return nullptr;
}
}  // namespace g4
