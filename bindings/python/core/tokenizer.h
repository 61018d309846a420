// g4_tokenizer for Python.
#pragma once
#include <g4/g4.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <vector>

#include "media.h"

namespace g4_python {
namespace py = pybind11;
using Ids = py::array_t<int32_t, py::array::c_style>;

using MediaList = std::vector<std::shared_ptr<Media>>;

class Tokenizer {
 public:
  explicit Tokenizer(const std::string& path);
  explicit Tokenizer(g4_tokenizer* handle) : handle_(handle, g4_tokenizer_free) {}  // owns it

  std::vector<int32_t> tokenize(const std::string& text, bool special, bool bos) const;
  py::bytes detokenize(const Ids& ids, bool special) const;
  const g4_tokenizer* handle() const { return handle_.get(); }
  // conversation: JSON, as in g4.h. media: one for each media part, or none.
  py::str render(const std::string& conversation, bool thinking, bool add_generation_prompt,
                 const MediaList& media) const;
  std::vector<int32_t> tokenize_chat(const std::string& conversation, bool thinking,
                                     bool add_generation_prompt, const MediaList& media) const;
  py::str parse(const Ids& ids) const;  // JSON
  uint32_t vocabulary() const { return g4_vocab_count(handle_.get()); }
  bool is_stop(int32_t id) const { return g4_is_stop(handle_.get(), id) != 0; }
  // (bytes, is control token) of every token.
  std::vector<std::pair<py::bytes, bool>> pieces() const;

 private:
  std::string piece(int32_t id, bool special) const;
  std::shared_ptr<const g4_tokenizer> handle_;
};
}  // namespace g4_python
