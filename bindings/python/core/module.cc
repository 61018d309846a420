// g4._core: the C interface as Python objects, plainly; the package beside it gives them their manners.
// Strings come as bytes, ids as int32 arrays.
#include <pybind11/pybind11.h>

#include "failure.h"
#include "media.h"
#include "session.h"
#include "tokenizer.h"

namespace py = pybind11;
using namespace g4_python;

namespace {
void translate(std::exception_ptr pointer) {
  try {
    if (pointer) std::rethrow_exception(pointer);
  } catch (const Failure& failure) {
    const py::object message = py::bytes(failure.what()).attr("decode")("utf-8", "replace");
    const py::object error = py::module_::import("g4._errors").attr("error_of")(failure.status(), message);
    PyErr_SetObject(py::type::of(error).ptr(), error.ptr());
  }
}

void bind_library(py::module_& m) {
  m.def("version", &g4_version);
  m.def("abi_version", &g4_abi_version);
  m.def("cpus", &g4_cpus);
  m.def("status_phrase", &g4_status_phrase);
  m.def("estimate", &estimate, py::arg("path"), py::arg("options"));
  m.def("prepare", &prepare, py::arg("path"), py::arg("out_path"), py::arg("options"), py::arg("progress"));
  m.def("probe_kv", &probe_kv, py::arg("path"));
  m.def("image_tokens", &image_tokens, py::arg("width"), py::arg("height"), py::arg("budget"));
  m.def("audio_tokens", &audio_tokens, py::arg("samples"), py::arg("rate"), py::arg("split"));
}

void bind_options(py::module_& m) {
  py::class_<SessionOptions>(m, "SessionOptions")
      .def(py::init([](uint32_t context, uint32_t threads, int32_t kv_type, int32_t precision,
                       std::string cpu, std::string ple_path, std::string mmproj) {
             return SessionOptions{context,          threads,        kv_type,
                                   precision,        std::move(cpu), std::move(ple_path),
                                   std::move(mmproj)};
           }),
           py::arg("context"), py::arg("threads"), py::arg("kv_type"), py::arg("precision"), py::arg("cpu"),
           py::arg("ple_path"), py::arg("mmproj"));
  py::class_<Sampling>(m, "Sampling")
      .def(py::init([](bool greedy, float temperature, int32_t top_k, float top_p, float min_p,
                       float repetition_penalty, float presence_penalty, float frequency_penalty,
                       uint64_t seed, const std::vector<std::pair<int32_t, float>>& biases) {
             Sampling sampling = {G4_INIT(g4_sampling), {}};
             sampling.values.flags = greedy ? G4_SAMPLING_GREEDY : 0;
             sampling.values.temperature = temperature;
             sampling.values.top_k = top_k;
             sampling.values.top_p = top_p;
             sampling.values.min_p = min_p;
             sampling.values.repetition_penalty = repetition_penalty;
             sampling.values.presence_penalty = presence_penalty;
             sampling.values.frequency_penalty = frequency_penalty;
             sampling.values.seed = seed;
             for (const auto& [token, bias] : biases) sampling.biases.push_back({token, bias});
             return sampling;
           }),
           py::arg("greedy"), py::arg("temperature"), py::arg("top_k"), py::arg("top_p"), py::arg("min_p"),
           py::arg("repetition_penalty"), py::arg("presence_penalty"), py::arg("frequency_penalty"),
           py::arg("seed"), py::arg("biases"));
}

void bind_media(py::module_& m) {
  py::class_<Media, std::shared_ptr<Media>>(m, "Media")
      .def("row_ids", &Media::row_ids)
      .def("ids", py::overload_cast<const Tokenizer&>(&Media::ids, py::const_), py::arg("tokenizer"))
      .def("parts", &Media::parts);
}

void bind_tokenizer(py::module_& m) {
  py::class_<Tokenizer, std::shared_ptr<Tokenizer>>(m, "Tokenizer")
      .def(py::init<const std::string&>(), py::arg("path"))
      .def("tokenize", &Tokenizer::tokenize, py::arg("text"), py::arg("special"), py::arg("bos"))
      .def("detokenize", &Tokenizer::detokenize, py::arg("ids"), py::arg("special"))
      .def("render", &Tokenizer::render, py::arg("conversation"), py::arg("thinking"),
           py::arg("add_generation_prompt"), py::arg("media"))
      .def("tokenize_chat", &Tokenizer::tokenize_chat, py::arg("conversation"), py::arg("thinking"),
           py::arg("add_generation_prompt"), py::arg("media"))
      .def("parse", &Tokenizer::parse, py::arg("ids"))
      .def("vocabulary", &Tokenizer::vocabulary)
      .def("is_stop", &Tokenizer::is_stop, py::arg("id"))
      .def("pieces", &Tokenizer::pieces);
}

void bind_session(py::module_& m) {
  py::class_<Session, std::shared_ptr<Session>>(m, "Session")
      .def(py::init<const std::string&, const SessionOptions&, py::object>(), py::arg("path"),
           py::arg("options"), py::arg("progress"))
      .def("fork", &Session::fork)
      .def("close", &Session::close)
      .def("is_closed", &Session::is_closed)
      .def("cancel", &Session::cancel)
      .def("prefill", &Session::prefill, py::arg("ids"), py::arg("progress"))
      .def("prefill_all", &Session::prefill_all, py::arg("ids"), py::arg("progress"))
      .def("extend", &Session::extend, py::arg("ids"), py::arg("progress"))
      .def("extend_cached", &Session::extend_cached, py::arg("ids"), py::arg("path"), py::arg("single_file"),
           py::arg("limit_bytes"), py::arg("progress"))
      .def("encode_image", &Session::encode_image, py::arg("pixels"), py::arg("budget"))
      .def("encode_video", &Session::encode_video, py::arg("frames"), py::arg("times_ns"), py::arg("budget"))
      .def("encode_audio", &Session::encode_audio<float>, py::arg("samples").noconvert(), py::arg("rate"),
           py::arg("split"))
      .def("encode_audio", &Session::encode_audio<int16_t>, py::arg("samples").noconvert(), py::arg("rate"),
           py::arg("split"))
      .def("sample", &Session::sample, py::arg("sampling"))
      .def("decode", &Session::decode, py::arg("sampling"))
      .def("logits", &Session::logits)
      .def("position", &Session::position)
      .def("rewind_min", &Session::rewind_min)
      .def("tokens", &Session::tokens)
      .def("truncate", &Session::truncate, py::arg("position"), py::arg("reevaluate"))
      .def("save_kv", &Session::save_kv, py::arg("path"))
      .def("load_kv", &Session::load_kv, py::arg("path"), py::arg("ids"))
      .def("info", &Session::info)
      .def("kv_layers", &Session::kv_layers)
      .def("stats", &Session::stats)
      .def("tokenizer", &Session::tokenizer);
  py::class_<Generation>(m, "Generation")
      .def(py::init<std::shared_ptr<Session>, const Sampling&, size_t, const std::vector<std::string>&, bool,
                    py::object>(),
           py::arg("session"), py::arg("sampling"), py::arg("max_tokens"), py::arg("stops"),
           py::arg("ignore_stop"), py::arg("logits_hook"))
      .def("next", &Generation::next)
      .def("finish_reason", &Generation::finish_reason);
}
}  // namespace

PYBIND11_MODULE(_core, m) {
  m.doc() = "The C interface of g4 as Python objects; use the package g4.";
  py::register_local_exception_translator(&translate);
  bind_library(m);
  bind_options(m);
  bind_media(m);
  bind_tokenizer(m);
  bind_session(m);
}
