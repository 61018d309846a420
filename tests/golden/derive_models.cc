// Makes the quantised copies of quant-tiny/model-BF16.gguf that need not be packed, byte for byte as Python's
// gguf.quants does: the header with other tensor types and offsets, and every BF16 tensor encoded anew.
// Usage: derive_models FOLDER
#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace {
using Bytes = std::vector<char>;
constexpr uint32_t kTypeBf16 = 30;
constexpr size_t kBlock = 32;
constexpr size_t kAlignment = 32;

void append_half(float value, Bytes* out) {
  const uint16_t bits = Eigen::half(value).x;
  out->push_back(static_cast<char>(bits & 0xff));
  out->push_back(static_cast<char>(bits >> 8));
}

float inverse(float d) { return d == 0 ? 0.0f : 1.0f / d; }

// Low halves of 16 values, then high halves: the layout of all 4-bit types.
void append_nibbles(const uint8_t* q, Bytes* out) {
  for (size_t i = 0; i < kBlock / 2; ++i)
    out->push_back(static_cast<char>((q[i] & 15) | ((q[i + kBlock / 2] & 15) << 4)));
}

// The value of largest magnitude, the first of equals.
float peak(const float* x) {
  return *std::max_element(x, x + kBlock, [](float a, float b) { return std::fabs(a) < std::fabs(b); });
}

void encode_f16(const float* x, Bytes* out) {
  for (size_t i = 0; i < kBlock; ++i) append_half(x[i], out);
}

void encode_q8_0(const float* x, Bytes* out) {
  const float d = std::fabs(peak(x)) / 127.0f, id = inverse(d);
  append_half(d, out);
  for (size_t i = 0; i < kBlock; ++i) out->push_back(static_cast<char>(std::round(x[i] * id)));
}

void encode_q4_0(const float* x, Bytes* out) {
  const float d = peak(x) / -8.0f, id = inverse(d);
  uint8_t q[kBlock];
  for (size_t i = 0; i < kBlock; ++i) q[i] = static_cast<uint8_t>(std::min(x[i] * id + 8.5f, 15.0f));
  append_half(d, out);
  append_nibbles(q, out);
}

void encode_q4_1(const float* x, Bytes* out) {
  const auto [low, high] = std::minmax_element(x, x + kBlock);
  const float d = (*high - *low) / 15.0f, id = inverse(d);
  uint8_t q[kBlock];
  for (size_t i = 0; i < kBlock; ++i) q[i] = static_cast<uint8_t>(std::min((x[i] - *low) * id + 0.5f, 15.0f));
  append_half(d, out);
  append_half(*low, out);
  append_nibbles(q, out);
}

void encode_q5_0(const float* x, Bytes* out) {
  const float d = peak(x) / -16.0f, id = inverse(d);
  uint8_t q[kBlock];
  uint32_t high_bits = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    q[i] = static_cast<uint8_t>(std::min(x[i] * id + 16.5f, 31.0f));
    high_bits |= static_cast<uint32_t>(q[i] >> 4) << i;
  }
  append_half(d, out);
  for (int byte = 0; byte < 4; ++byte) out->push_back(static_cast<char>(high_bits >> (8 * byte)));
  append_nibbles(q, out);
}

struct Target {
  const char* name;
  uint32_t gguf_id;
  void (*encode)(const float*, Bytes*);
};
constexpr Target kTargets[] = {
    {"F16", 1, encode_f16},   {"Q8_0", 8, encode_q8_0}, {"Q4_0", 2, encode_q4_0},
    {"Q4_1", 3, encode_q4_1}, {"Q5_0", 6, encode_q5_0},
};

// Walks through the header. The file is one of our own: a mistake ends the program.
class Walker {
 public:
  explicit Walker(const Bytes& file) : file_(file) {}
  size_t position() const { return position_; }
  template <typename T>
  T next() {
    T value;
    if (file_.size() - position_ < sizeof(T)) throw std::runtime_error("the file ends in its header");
    std::memcpy(&value, file_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }
  void skip_string() { position_ += next<uint64_t>(); }
  void skip_value(uint32_t type) {
    constexpr size_t kSizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    constexpr uint32_t kString = 8, kArray = 9;
    if (type == kString) return skip_string();
    if (type != kArray) {
      position_ += kSizes[type];
      return;
    }
    const uint32_t element = next<uint32_t>();
    for (uint64_t count = next<uint64_t>(); count > 0; --count) skip_value(element);
  }

 private:
  const Bytes& file_;
  size_t position_ = 0;
};

struct Tensor {
  size_t type_position, offset_position;  // of the fields in the header
  uint32_t type;
  uint64_t count, offset;
};

// The tensors in the order of their data; *data_start is where that begins.
std::vector<Tensor> read_tensors(const Bytes& file, size_t* data_start) {
  Walker walker(file);
  walker.next<uint32_t>();  // magic
  walker.next<uint32_t>();  // version
  const uint64_t tensor_count = walker.next<uint64_t>(), value_count = walker.next<uint64_t>();
  for (uint64_t i = 0; i < value_count; ++i) {
    walker.skip_string();
    walker.skip_value(walker.next<uint32_t>());
  }
  std::vector<Tensor> tensors(tensor_count);
  for (Tensor& tensor : tensors) {
    walker.skip_string();
    tensor.count = 1;
    for (uint32_t dimensions = walker.next<uint32_t>(); dimensions > 0; --dimensions)
      tensor.count *= walker.next<uint64_t>();
    tensor.type_position = walker.position();
    tensor.type = walker.next<uint32_t>();
    tensor.offset_position = walker.position();
    tensor.offset = walker.next<uint64_t>();
  }
  *data_start = (walker.position() + kAlignment - 1) / kAlignment * kAlignment;
  return tensors;
}

Bytes derive(const Bytes& source, const Target& target) {
  size_t data_start = 0;
  const std::vector<Tensor> tensors = read_tensors(source, &data_start);
  Bytes result(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(data_start));
  for (const Tensor& tensor : tensors) {
    const uint64_t offset = result.size() - data_start;
    std::memcpy(result.data() + tensor.offset_position, &offset, sizeof offset);
    const char* data = source.data() + data_start + tensor.offset;
    if (tensor.type == kTypeBf16) {
      std::memcpy(result.data() + tensor.type_position, &target.gguf_id, sizeof target.gguf_id);
      for (uint64_t i = 0; i < tensor.count; i += kBlock) {
        float x[kBlock];
        for (size_t j = 0; j < kBlock; ++j) {
          uint16_t bits;
          std::memcpy(&bits, data + (i + j) * sizeof bits, sizeof bits);
          x[j] = std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
        }
        target.encode(x, &result);
      }
    } else {
      result.insert(result.end(), data, data + tensor.count * sizeof(float));
    }
    result.resize((result.size() + kAlignment - 1) / kAlignment * kAlignment);
  }
  return result;
}
}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: derive_models FOLDER\n", stderr), 2;
  const std::string prefix = std::string(argv[1]) + "/model-";
  std::ifstream input(prefix + "BF16.gguf", std::ios::binary);
  const Bytes source{std::istreambuf_iterator<char>(input), std::istreambuf_iterator<char>()};
  for (const Target& target : kTargets) {
    const Bytes result = derive(source, target);
    std::ofstream(prefix + target.name + ".gguf", std::ios::binary)
        .write(result.data(), static_cast<std::streamsize>(result.size()));
  }
  return 0;
}
