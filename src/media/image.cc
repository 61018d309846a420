#include "media/image.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"

namespace g4 {
namespace {
constexpr int kBudgets[] = {70, 140, 280, 560, 1120};

// Weights of the input pixels behind each output pixel along one axis, in fixed point.
struct Filter {
  static constexpr int kBits = 22;
  size_t taps = 0;                // weights per output pixel
  std::vector<int> first, count;  // input pixels [first, first + count)
  std::vector<int> weights;       // [outputs, taps]
  const int* row(int output) const { return weights.data() + static_cast<size_t>(output) * taps; }
};

double bicubic(double x) {
  constexpr double a = -0.5;
  x = std::fabs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
  return 0.0;
}

// When it shrinks, the filter is as much wider as the image gets smaller (antialias).
Filter make_filter(int inputs, int outputs) {
  const double scale = static_cast<double>(inputs) / outputs, width = std::max(scale, 1.0),
               support = 2.0 * width;
  Filter filter;
  filter.taps = static_cast<size_t>(std::ceil(support)) * 2 + 1;
  filter.weights.resize(static_cast<size_t>(outputs) * filter.taps);
  std::vector<double> exact(filter.taps);
  for (int i = 0; i < outputs; ++i) {
    const double center = (i + 0.5) * scale;
    const int begin = std::max(static_cast<int>(center - support + 0.5), 0),
              end = std::min(static_cast<int>(center + support + 0.5), inputs);
    double sum = 0;
    for (int x = begin; x < end; ++x)
      sum += exact[static_cast<size_t>(x - begin)] = bicubic((x - center + 0.5) * (1.0 / width));
    int* weights = filter.weights.data() + static_cast<size_t>(i) * filter.taps;
    for (int x = begin; x < end; ++x) {
      const double weight = exact[static_cast<size_t>(x - begin)] / sum * (1 << Filter::kBits);
      weights[x - begin] = static_cast<int>(weight < 0 ? weight - 0.5 : weight + 0.5);
    }
    filter.first.push_back(begin);
    filter.count.push_back(end - begin);
  }
  return filter;
}

uint8_t to_byte(int sum) { return static_cast<uint8_t>(std::clamp(sum >> Filter::kBits, 0, 255)); }

// One row of the image, resized across.
void resize_row(const uint8_t* in, int channels, const Filter& filter, int outputs, uint8_t* out) {
  for (int i = 0; i < outputs; ++i, out += 3) {
    const uint8_t* pixel = in + static_cast<size_t>(filter.first[static_cast<size_t>(i)] * channels);
    const int* weights = filter.row(i);
    int sum[3] = {1 << (Filter::kBits - 1), 1 << (Filter::kBits - 1), 1 << (Filter::kBits - 1)};
    for (int x = 0; x < filter.count[static_cast<size_t>(i)]; ++x, pixel += channels)
      for (int c = 0; c < 3; ++c) sum[c] += pixel[c] * weights[x];
    for (int c = 0; c < 3; ++c) out[c] = to_byte(sum[c]);
  }
}

Status check_image(const ImageView& image) {
  if (image.pixels == nullptr) return argument_error("the image has no pixels");
  if (image.channels != 3 && image.channels != 4)
    return argument_error(
        StrCat("the image has ", image.channels, " channels, expected 3 (RGB) or 4 (RGBA)"));
  const uint64_t row = static_cast<uint64_t>(image.width) * static_cast<uint64_t>(image.channels);
  uint64_t bytes = 0;
  if (image.stride_bytes < row)
    return argument_error(StrCat("the image's stride of ", image.stride_bytes, " bytes is less than the ",
                                 row, " bytes of a row"));
  if (!checked_mul(image.stride_bytes, static_cast<uint64_t>(image.height), &bytes) || bytes > PTRDIFF_MAX)
    return argument_error(StrCat("the image's stride of ", image.stride_bytes, " bytes is too large"));
  return absl::OkStatus();
}
}  // namespace

StatusOr<ImageSize> target_size(int width, int height, int budget) {
  if (std::find(std::begin(kBudgets), std::end(kBudgets), budget) == std::end(kBudgets))
    return argument_error(
        StrCat("the image token budget is ", budget, "; allowed are 70, 140, 280, 560 and 1120"));
  for (const int side : {width, height})
    if (side < 1 || side > kMaxImageSide)
      return argument_error(
          StrCat("the image is ", width, " x ", height, " pixels; a side may have 1 to ", kMaxImageSide));
  const double factor = std::sqrt(static_cast<double>(budget) * kTokenSize * kTokenSize /
                                  (static_cast<double>(width) * height));
  const auto whole = [](double side) { return static_cast<int>(std::floor(side / kTokenSize)) * kTokenSize; };
  ImageSize size = {whole(factor * width), whole(factor * height)};
  // A side that vanishes becomes one token, and then the other is as long as the budget and the aspect allow.
  if (size.height == 0) size = {std::min(width / height, budget) * kTokenSize, kTokenSize};
  if (size.width == 0) size = {kTokenSize, std::min(height / width, budget) * kTokenSize};
  return size;
}

StatusOr<std::vector<uint8_t>> resize_image(const ImageView& image, ImageSize size, ThreadPool& pool) {
  G4_RETURN_IF_ERROR(check_image(image));
  const Filter across = make_filter(image.width, size.width), down = make_filter(image.height, size.height);
  const size_t row_bytes = 3 * static_cast<size_t>(size.width);
  std::vector<uint8_t> out(row_bytes * static_cast<size_t>(size.height));
  // A strip of output rows at a time: its input rows, resized across, then down.
  pool.parallel_for(static_cast<size_t>(size.height), kPatchSize, [&](size_t begin, size_t end) {
    std::vector<uint8_t> rows;
    for (size_t strip = begin; strip < end; strip += kPatchSize) {
      const size_t strip_end = std::min(end, strip + kPatchSize);
      const int first = down.first[strip], last = down.first[strip_end - 1] + down.count[strip_end - 1];
      rows.resize(row_bytes * static_cast<size_t>(last - first));
      for (int y = first; y < last; ++y)
        resize_row(image.pixels + static_cast<size_t>(y) * image.stride_bytes, image.channels, across,
                   size.width, rows.data() + static_cast<size_t>(y - first) * row_bytes);
      std::vector<int> sums(row_bytes);
      for (size_t y = strip; y < strip_end; ++y) {
        std::fill(sums.begin(), sums.end(), 1 << (Filter::kBits - 1));
        for (int k = 0; k < down.count[y]; ++k) {
          const uint8_t* row = rows.data() + static_cast<size_t>(down.first[y] - first + k) * row_bytes;
          const int weight = down.row(static_cast<int>(y))[k];
          for (size_t i = 0; i < row_bytes; ++i) sums[i] += row[i] * weight;
        }
        std::transform(sums.begin(), sums.end(), out.data() + y * row_bytes, to_byte);
      }
    }
  });
  return out;
}
}  // namespace g4
