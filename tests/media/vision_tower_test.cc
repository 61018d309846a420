#include "media/vision_tower.h"

#include "tests/media/media_test.h"

namespace g4 {
TEST_CASE("The vision tower agrees with the reference", "[media]") {
  for (const std::string model : {"mm-tiny", "mm31b-tiny"}) {
    const auto towers = open_tiny_towers(model);
    const Safetensors goldens = media_goldens(model);
    for (const std::string image : {"image0", "image1"}) {
      TestCompute test;
      const ImageView view = image_view(goldens[image + ".rgb"]);
      const auto size = target_size(view.width, view.height, 70);
      const auto rgb = resize_image(view, *size, *test.pool);
      const auto tower = run_vision_tower(towers->vision, *rgb, *size, test.compute);
      INFO(model << " " << image);
      REQUIRE(tower.ok());
      CHECK(relative_error(*tower, goldens[image + ".tower"].values<float>()) < 1e-5f);
    }
  }
}

TEST_CASE("An image longer than the tower's table of positions is refused", "[media]") {
  const auto towers = open_tiny_towers("mm-tiny");
  TestCompute test;
  const std::vector<uint8_t> rgb(size_t{48} * 3360 * 3);
  const auto tower = run_vision_tower(towers->vision, rgb, {3360, 48}, test.compute);
  CHECK(absl::IsUnimplemented(tower.status()));
  CHECK(tower.status().message().find("210 patches") != std::string::npos);
}

TEST_CASE("A cancelled tower ends with that status", "[media]") {
  const auto towers = open_tiny_towers("mm-tiny");
  TestCompute test;
  test.cancel = true;
  const std::vector<uint8_t> rgb(size_t{48} * 48 * 3);
  CHECK(absl::IsCancelled(run_vision_tower(towers->vision, rgb, {48, 48}, test.compute).status()));
}
}  // namespace g4
