// g4_media for Python.
#pragma once
#include <g4/g4.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <tuple>
#include <vector>

namespace g4_python {
namespace py = pybind11;
using Pixels = py::array_t<uint8_t, py::array::c_style>;  // [height, width, 3 or 4]

class Tokenizer;

// Never changes; outlives the session that made it.
class Media {
 public:
  explicit Media(std::shared_ptr<const g4_media> handle) : handle_(std::move(handle)) {}
  const g4_media* handle() const { return handle_.get(); }

  std::vector<int32_t> row_ids() const;
  std::vector<int32_t> ids(const Tokenizer& tokenizer) const;  // with the control tokens around the rows
  // Of each part: begin and end in seconds, float32 [rows, D] that live in the media.
  std::vector<std::tuple<double, double, py::array_t<float>>> parts() const;

 private:
  std::vector<int32_t> ids(const g4_tokenizer* tokenizer, uint32_t flags) const;
  std::shared_ptr<const g4_media> handle_;
};

g4_image image_of(const Pixels& pixels);
// samples: [instants, channels]
template <typename Sample>
g4_sound sound_of(const py::array_t<Sample, py::array::c_style>& samples, uint32_t rate) {
  g4_sound sound = G4_INIT(g4_sound);
  sound.sample_type = std::is_same_v<Sample, float> ? G4_SAMPLE_F32 : G4_SAMPLE_I16;
  sound.rate = rate;
  sound.instant_count = static_cast<uint64_t>(samples.shape(0));
  sound.channel_count = static_cast<uint32_t>(samples.shape(1));
  sound.samples = samples.data();
  return sound;
}

uint64_t image_tokens(uint32_t width, uint32_t height, uint32_t budget);
uint64_t audio_tokens(uint64_t samples, uint32_t rate, bool split);
}  // namespace g4_python
