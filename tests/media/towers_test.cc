#include "media/towers.h"

#include <functional>

#include "tests/media/media_test.h"
#include "tests/media/small_mmproj.h"

namespace g4 {
namespace {
using Change = std::function<void(GgufWriter&)>;

// What loading says of the small file after a change.
Status loaded(const Change& change) {
  GgufWriter writer = small_mmproj();
  change(writer);
  const GgufInMemory file(writer);
  INFO(file.message());
  REQUIRE(file.ok());
  return load_towers(*file, kSmallTextDim).status();
}

void refused(const char* reason, const Change& change) {
  const Status status = loaded(change);
  INFO(status.message());
  CHECK_FALSE(status.ok());
  CHECK(status.message().find(reason) != std::string::npos);
}

template <typename T>
Change set(const char* key, T value) {
  return [=](GgufWriter& file) { file.set(key, value); };
}
Change without(const char* tensor) {
  return [=](GgufWriter& file) { file.erase_tensor(tensor); };
}
Change reshaped(const char* tensor, std::vector<uint64_t> shape) {
  return [=](GgufWriter& file) { file.erase_tensor(tensor).add(tensor, shape); };
}
}  // namespace

TEST_CASE("The small mmproj file is right", "[media]") {
  const GgufInMemory file(small_mmproj());
  const auto towers = load_towers(*file, kSmallTextDim);
  INFO(towers.status().message());
  REQUIRE(towers.ok());
  CHECK(towers->vision.head_dim == 4);
  CHECK(towers->vision.position_count() == 32);
  CHECK(towers->vision.layers[0].q.input_max == 1);
  CHECK(std::isinf(towers->vision.layers[0].q.output_max));
  CHECK(towers->audio.subsampling[1].conv.cols == 36);
}

TEST_CASE("One tower alone will do", "[media]") {
  GgufWriter writer = small_mmproj();
  writer.set("clip.has_audio_encoder", false);
  const GgufInMemory file(writer);
  const auto towers = load_towers(*file, kSmallTextDim);
  REQUIRE(towers.ok());
  CHECK(towers->audio.empty());
  CHECK_FALSE(towers->vision.empty());
}

TEST_CASE("What is wrong with an mmproj file is named", "[media]") {
  refused("not clip", set("general.architecture", std::string("gemma4")));
  refused("neither a vision nor an audio", [](GgufWriter& f) {
    f.set("clip.has_vision_encoder", false).set("clip.has_audio_encoder", false);
  });
  refused("vision projector is qwen2vl", set("clip.vision.projector_type", std::string("qwen2vl")));
  refused("audio projector is ultravox", set("clip.audio.projector_type", std::string("ultravox")));
  refused("clip.vision.projector_type is missing",
          [](GgufWriter& f) { f.erase("clip.vision.projector_type"); });
  for (const uint32_t size : {0u, 1u, 14u, 0x80000000u})
    refused("clip.vision.patch_size", set("clip.vision.patch_size", size));
  for (const uint32_t bins : {0u, 80u, 0x80000000u})
    refused("clip.audio.num_mel_bins", set("clip.audio.num_mel_bins", bins));
  for (const char* tower : {"vision", "audio"})
    for (const char* name :
         {"embedding_length", "feed_forward_length", "attention.head_count", "block_count"})
      for (const uint32_t value : {0u, 7u, 0x80000000u}) {
        const std::string key = std::string("clip.") + tower + "." + name;
        CHECK_FALSE(loaded([&](GgufWriter& f) { f.set(key, value); }).ok());
      }
  refused("attention.layer_norm_epsilon", set("clip.audio.attention.layer_norm_epsilon", NAN));
  for (const GgufTensor& tensor : small_mmproj().tensors) {
    if (tensor.name.find("input_m") != std::string::npos) continue;  // may be absent
    refused(tensor.name.c_str(), without(tensor.name.c_str()));
    refused(tensor.name.c_str(), reshaped(tensor.name.c_str(), {3, 5, 2}));
  }
  refused("mm.input_projection.weight", reshaped("mm.input_projection.weight", {kSmallTextDim + 1, 8}));
  refused("a.input_projection.weight has 96 columns", reshaped("a.input_projection.weight", {8, 96}));
  refused("columns, but a.pre_encode", reshaped("mm.a.input_projection.weight", {kSmallTextDim, 5}));
  refused("clip bounds", [](GgufWriter& f) { f.tensor("v.blk.0.attn_q.input_min").data = bytes_of(2.0f); });
  refused("clip bounds", [](GgufWriter& f) { f.tensor("v.blk.0.attn_q.input_max").data = bytes_of(NAN); });
  refused("v.std_scale is missing", [](GgufWriter& f) { f.add("v.std_bias", {8}); });
}
}  // namespace g4
