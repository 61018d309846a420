#include "media/image.h"

#include "tests/media/media_test.h"

namespace g4 {
namespace {
// The formula of tests/golden/resize.py.
std::vector<uint8_t> pattern(int width, int height) {
  std::vector<uint8_t> pixels;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c)
        pixels.push_back(static_cast<uint8_t>(x * x * 7 + y * 31 + x * y * 3 + c * 85));
  return pixels;
}
std::string failure(const Status& status) { return std::string(status.message()); }
}  // namespace

TEST_CASE("Images are resized bit for bit as Pillow does it", "[media]") {
  const std::string golden = read_file(golden_source_path("resize.bin"));
  const auto pool = *ThreadPool::create(3);
  size_t at = 0, cases = 0;
  for (; at < golden.size(); ++cases) {
    int32_t sizes[4];
    std::memcpy(sizes, golden.data() + at, sizeof sizes);
    at += sizeof sizes;
    const std::vector<uint8_t> pixels = pattern(sizes[0], sizes[1]);
    const ImageView image{pixels.data(), sizes[0], sizes[1], 3, static_cast<size_t>(sizes[0]) * 3};
    const auto resized = resize_image(image, {sizes[2], sizes[3]}, *pool);
    REQUIRE(resized.ok());
    INFO(sizes[0] << " x " << sizes[1] << " to " << sizes[2] << " x " << sizes[3]);
    CHECK(std::equal(resized->begin(), resized->end(), reinterpret_cast<const uint8_t*>(golden.data()) + at,
                     reinterpret_cast<const uint8_t*>(golden.data()) + at + resized->size()));
    at += resized->size();
  }
  CHECK(at == golden.size());
  CHECK(cases == 7);
}

TEST_CASE("A stride and an alpha channel change nothing", "[media]") {
  const auto pool = *ThreadPool::create(1);
  const std::vector<uint8_t> plain = pattern(70, 33);
  std::vector<uint8_t> padded(33 * 300, 9);
  for (size_t i = 0; i < 70 * 33; ++i)
    std::copy_n(plain.begin() + static_cast<ptrdiff_t>(i * 3), 3,
                padded.begin() + static_cast<ptrdiff_t>(i / 70 * 300 + i % 70 * 4));
  const auto a = resize_image({plain.data(), 70, 33, 3, 210}, {48, 96}, *pool);
  const auto b = resize_image({padded.data(), 70, 33, 4, 300}, {48, 96}, *pool);
  REQUIRE(a.ok());
  REQUIRE(b.ok());
  CHECK(*a == *b);
}

TEST_CASE("The target size keeps the aspect and fills the budget", "[media]") {
  struct Case {
    int width, height, budget, new_width, new_height;
  };
  // From the reference's get_aspect_ratio_preserving_size.
  for (const Case& c : {Case{144, 96, 70, 480, 288}, Case{60, 200, 70, 192, 720}, Case{1, 1, 280, 768, 768},
                        Case{1, 10000, 280, 48, 13440}, Case{10000, 1, 280, 13440, 48},
                        Case{10000, 1, 70, 3360, 48}, Case{20000, 20000, 1120, 1584, 1584},
                        Case{640, 480, 280, 912, 672}, Case{65536, 1000, 140, 4560, 48}}) {
    const auto size = target_size(c.width, c.height, c.budget);
    INFO(c.width << " x " << c.height << ", " << c.budget);
    REQUIRE(size.ok());
    CHECK(size->width == c.new_width);
    CHECK(size->height == c.new_height);
    CHECK(size->soft_tokens() <= c.budget);
  }
}

TEST_CASE("Any sides up to the limit give a size within the budget", "[media]") {
  for (int width = 1; width <= kMaxImageSide; width = width * 3 / 2 + 1)
    for (int height = 1; height <= kMaxImageSide; height = height * 3 / 2 + 1)
      for (const int budget : {70, 140, 280, 560, 1120}) {
        const auto size = target_size(width, height, budget);
        REQUIRE(size.ok());
        REQUIRE(size->soft_tokens() >= 1);
        REQUIRE(size->soft_tokens() <= budget);
      }
}

TEST_CASE("What is no image is refused with the reason", "[media]") {
  const auto pool = *ThreadPool::create(1);
  const uint8_t pixel[4] = {};
  CHECK(failure(target_size(0, 5, 280).status()).find("0 x 5") != std::string::npos);
  CHECK(failure(target_size(5, -1, 280).status()).find("5 x -1") != std::string::npos);
  CHECK(failure(target_size(65537, 1, 280).status()).find("65537") != std::string::npos);
  CHECK(failure(target_size(5, 5, 281).status()).find("budget is 281") != std::string::npos);
  CHECK(failure(resize_image({nullptr, 1, 1, 3, 3}, {48, 48}, *pool).status()).find("no pixels") !=
        std::string::npos);
  CHECK(failure(resize_image({pixel, 1, 1, 2, 3}, {48, 48}, *pool).status()).find("2 channels") !=
        std::string::npos);
  CHECK(failure(resize_image({pixel, 1, 1, 3, 2}, {48, 48}, *pool).status()).find("stride") !=
        std::string::npos);
  CHECK(
      failure(resize_image({pixel, 1, 2, 3, SIZE_MAX / 2 + 2}, {48, 48}, *pool).status()).find("too large") !=
      std::string::npos);
}
}  // namespace g4
