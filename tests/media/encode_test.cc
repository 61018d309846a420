#include "media/encode.h"

#include <Eigen/Core>

#include "media/mel.h"
#include "tests/media/media_test.h"
#include "tests/support/gguf_writer.h"

namespace g4 {
namespace {
constexpr size_t kSeconds = 16000;

// Values as blocks of 32 int8 with a binary16 scale.
std::string to_q8_0(const std::vector<float>& values) {
  std::string bytes;
  for (size_t begin = 0; begin < values.size(); begin += 32) {
    float largest = 0;
    for (size_t i = 0; i < 32; ++i) largest = std::max(largest, std::abs(values[begin + i]));
    const float scale = static_cast<float>(Eigen::half(largest / 127));
    bytes += bytes_of(Eigen::half(largest / 127).x);
    for (size_t i = 0; i < 32; ++i)
      bytes += bytes_of(static_cast<int8_t>(
          scale == 0 ? 0 : std::clamp(std::lround(values[begin + i] / scale), -127L, 127L)));
  }
  return bytes;
}

std::string to_f16(const std::vector<float>& values) {
  std::string bytes;
  for (const float value : values) bytes += bytes_of(Eigen::half(value).x);
  return bytes;
}

// The demo model's towers with their matrices in another type.
GgufWriter demo_towers(DType type) {
  const auto file = *MappedFile::open(golden_source_path("../../examples/models/mmproj-g4-demo-bf16.gguf"));
  const auto source = *open_gguf(file);
  GgufWriter writer;
  writer.set("general.architecture", std::string("clip"));
  for (const std::string tower : {"vision", "audio"}) {
    const std::string prefix = "clip." + tower + ".";
    writer.set("clip.has_" + tower + "_encoder", true);
    writer.set(prefix + "projector_type", std::string(*source->get_string(prefix + "projector_type")));
    for (const char* key : {"embedding_length", "feed_forward_length", "attention.head_count", "block_count"})
      writer.set(prefix + key, static_cast<uint32_t>(*source->get_int(prefix + key)));
  }
  writer.set("clip.vision.patch_size", uint32_t{16});
  for (const TensorView& tensor : source->tensors()) {
    const DTypeInfo& info = dtype_info(tensor.type);
    std::vector<float> values(tensor.size_bytes / info.block_bytes);
    info.decode(tensor.data, values.data(), values.size());
    const bool is_matrix = tensor.shape.size() == 2 && tensor.shape[1] % 32 == 0;
    if (is_matrix && type != DType::kF32)
      writer.add(tensor.name, tensor.shape, type, type == DType::kF16 ? to_f16(values) : to_q8_0(values));
    else
      writer.add(tensor.name, tensor.shape, DType::kF32,
                 std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
  }
  return writer;
}
}  // namespace

TEST_CASE("Encoded images and sounds agree with the reference", "[media]") {
  for (const std::string model : {"mm-tiny", "mm31b-tiny"}) {
    const auto towers = open_tiny_towers(model);
    const Safetensors goldens = media_goldens(model);
    TestCompute test;
    for (const std::string name : {"image0", "image1", "audio0", "audio1"}) {
      if (!goldens.has(name + ".projected")) continue;
      INFO(model << " " << name);
      const auto expected = goldens[name + ".projected"].values<float>();
      MediaRunPtr run;
      if (goldens.has(name + ".rgb")) {
        run = *encode_image(*towers, image_view(goldens[name + ".rgb"]), 70, MediaKind::kImage, test.compute);
      } else {
        run = (*encode_sound(*towers, sound_view(goldens[name + ".pcm"]), false, test.compute))[0].run;
      }
      CHECK(run->row_count() * run->row_width == expected.size());
      CHECK(relative_error(run->rows, expected) < 1e-5f);
    }
  }
}

TEST_CASE("Towers in F32, F16 and Q8_0 differ from BF16 by their rounding alone", "[media]") {
  constexpr int kTextDim = 128;
  const auto bundled =
      open_towers(golden_source_path("../../examples/models/mmproj-g4-demo-bf16.gguf"), kTextDim);
  REQUIRE(bundled.ok());
  TestCompute test;
  std::vector<uint8_t> pixels(3 * 90 * 60);
  for (size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<uint8_t>(i / 3 % 90 < 45 ? 40 : 30 + i % 3 * 90);
  std::vector<float> samples(kSeconds);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = 0.4f * std::sin(0.2f * static_cast<float>(i));
  const ImageView image{pixels.data(), 90, 60, 3, 270};
  const SoundView sound{samples.data(), samples.size(), 1, 16000};
  const auto seen = *encode_image(**bundled, image, 70, MediaKind::kImage, test.compute);
  const auto heard = (*encode_sound(**bundled, sound, false, test.compute))[0].run;
  // As sessions compute unless told otherwise: in words, or with bytes as inputs where only they are fast.
  const MediaCompute fast{test.compute.kernels, *test.pool, test.cancel, Precision::kInt8};
  const auto differs = [&](const Towers& towers, const MediaCompute& compute) {
    return std::max(
        relative_error((*encode_image(towers, image, 70, MediaKind::kImage, compute))->rows, seen->rows),
        relative_error((*encode_sound(towers, sound, false, compute))[0].run->rows, heard->rows));
  };
  const float rounding = differs(**bundled, fast);
  CHECK(rounding <= 1e-3f);
  CHECK((rounding > 0) == (fast.kernels.matmul_words != nullptr));
  // BF16 weights have 8 significant bits, so that F16 rounds only the smallest of them.
  for (const auto& [type, tolerance] :
       {std::pair{DType::kF32, 0.0f}, {DType::kF16, 1e-4f}, {DType::kQ8_0, 0.02f}}) {
    const GgufInMemory file(demo_towers(type));
    const auto towers = load_towers(*file, kTextDim);
    INFO(dtype_info(type).name << " " << towers.status().message());
    REQUIRE(towers.ok());
    CHECK(differs(*towers, test.compute) <= tolerance);
    // Weights in float32 are never rounded.
    const float rounded = type == DType::kF32 ? 0.0f : type == DType::kF16 ? 1e-3f : 0.04f;
    CHECK(differs(*towers, fast) <= rounded);
    if (type == DType::kQ8_0)
      CHECK((*encode_image(*towers, image, 70, MediaKind::kImage, fast))->rows !=
            (*encode_image(*towers, image, 70, MediaKind::kImage, test.compute))->rows);
  }
}

TEST_CASE("Threads change no bit of an encoding, kernels little", "[media]") {
  const auto towers = open_tiny_towers("mm-tiny");
  const Safetensors goldens = media_goldens("mm-tiny");
  TestCompute one(1), three(3), generic(2, "generic");
  const ImageView image = image_view(goldens["image1.rgb"]);
  const SoundView sound = sound_view(goldens["audio1.pcm"]);
  const auto a = *encode_image(*towers, image, 140, MediaKind::kImage, one.compute);
  const auto b = *encode_image(*towers, image, 140, MediaKind::kImage, three.compute);
  const auto c = *encode_image(*towers, image, 140, MediaKind::kImage, generic.compute);
  CHECK(a->rows == b->rows);
  CHECK(a->tokens == b->tokens);
  CHECK(relative_error(c->rows, a->rows) < 1e-4f);
  CHECK((*encode_sound(*towers, sound, false, one.compute))[0].run->rows ==
        (*encode_sound(*towers, sound, false, three.compute))[0].run->rows);
  const auto frame = *encode_image(*towers, image, 140, MediaKind::kVideoFrame, one.compute);
  CHECK(frame->rows == a->rows);
  CHECK(frame->tokens != a->tokens);
}

TEST_CASE("Token counts equal the rows that are made", "[media]") {
  const auto towers = open_tiny_towers("mm-tiny");
  TestCompute test;
  for (const size_t count : {size_t{161}, size_t{320}, size_t{321}, size_t{5000}, 30 * kSeconds}) {
    const std::vector<float> silence(count);
    const auto clips = encode_sound(*towers, {silence.data(), count, 1, 16000}, false, test.compute);
    INFO(count);
    REQUIRE(clips.ok());
    CHECK((*clips)[0].run->row_count() == *sound_tokens(count, 16000, false));
  }
  const std::vector<uint8_t> pixels(3 * 100 * 37);
  const auto image =
      encode_image(*towers, {pixels.data(), 100, 37, 3, 300}, 70, MediaKind::kImage, test.compute);
  REQUIRE(image.ok());
  CHECK(static_cast<int>((*image)->row_count()) == target_size(100, 37, 70)->soft_tokens());
}

TEST_CASE("A sound over 30 s is refused, or split where asked", "[media]") {
  const auto towers = open_tiny_towers("mm-tiny");
  TestCompute test;
  const std::vector<float> silence(31 * kSeconds + 7);
  const SoundView sound{silence.data(), silence.size(), 1, 16000};
  const auto refused = encode_sound(*towers, sound, false, test.compute);
  CHECK(absl::IsInvalidArgument(refused.status()));
  CHECK(refused.status().message().find("at most 30 s") != std::string::npos);
  const auto clips = encode_sound(*towers, sound, true, test.compute);
  REQUIRE(clips.ok());
  REQUIRE(clips->size() == 2);
  CHECK((*clips)[0].begin == 0);
  CHECK((*clips)[0].end == (*clips)[1].begin);
  CHECK((*clips)[1].end == silence.size());
  CHECK((*clips)[0].run->row_count() + (*clips)[1].run->row_count() ==
        *sound_tokens(silence.size(), 16000, true));
  CHECK(absl::IsInvalidArgument(sound_tokens(uint64_t{36000} * kSeconds, 16000, true).status()));
}

TEST_CASE("Sounds too short, towers that are not there", "[media]") {
  const auto towers = open_tiny_towers("mm-tiny");
  const auto blind = open_tiny_towers("mm31b-tiny");
  TestCompute test;
  const float samples[200] = {};
  CHECK(absl::IsInvalidArgument(encode_sound(*towers, {samples, 0, 1, 16000}, false, test.compute).status()));
  CHECK(absl::IsInvalidArgument(encode_sound(*towers, {samples, 1, 1, 16000}, false, test.compute).status()));
  CHECK(
      absl::IsInvalidArgument(encode_sound(*towers, {samples, 160, 1, 16000}, false, test.compute).status()));
  CHECK(encode_sound(*towers, {samples, 161, 1, 16000}, false, test.compute).ok());
  CHECK(absl::IsUnimplemented(encode_sound(*blind, {samples, 200, 1, 16000}, false, test.compute).status()));
}
}  // namespace g4
