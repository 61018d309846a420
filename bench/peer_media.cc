// Encodes one picture of 768 x 768 pixels, with at most 280 tokens, and one sound of 10 s with llama.cpp's
// mtmd, and writes the seconds of each call as JSON. bench/peer.py builds it; bench/media.cc measures g4 the
// same way.
//
//   peer_media MMPROJ MODEL THREADS REPEATS        (MODEL: any of the architecture, for its vocabulary)
#include <llama.h>
#include <mtmd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

namespace {
[[noreturn]] void fail(const char* problem) {
  std::fprintf(stderr, "%s\n", problem);
  std::exit(1);
}

// From the raw picture or sound to its rows. Writes "name": {"tokens": .., "seconds": [..],
// "processor_seconds": [..]}.
void measure(mtmd_context* context, const char* name, const mtmd_bitmap* bitmap, int repeats) {
  const mtmd_input_text text{mtmd_default_marker(), std::string(mtmd_default_marker()).size(), false, true};
  size_t tokens = 0;
  std::string wall, processor;
  for (int i = 0; i < repeats; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const std::clock_t processor_begin = std::clock();
    mtmd_input_chunks* chunks = mtmd_input_chunks_init();
    if (mtmd_tokenize(context, chunks, &text, &bitmap, 1) != 0) fail("mtmd_tokenize failed");
    tokens = 0;
    for (size_t c = 0; c < mtmd_input_chunks_size(chunks); ++c) {
      const mtmd_input_chunk* chunk = mtmd_input_chunks_get(chunks, c);
      if (mtmd_input_chunk_get_type(chunk) == MTMD_INPUT_CHUNK_TYPE_TEXT) continue;
      if (mtmd_encode_chunk(context, chunk) != 0) fail("mtmd_encode_chunk failed");
      tokens += mtmd_input_chunk_get_n_tokens(chunk);
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    const char* comma = i == 0 ? "" : ", ";
    wall += comma + std::to_string(taken.count());
    processor += comma + std::to_string(static_cast<double>(std::clock() - processor_begin) / CLOCKS_PER_SEC);
    mtmd_input_chunks_free(chunks);
  }
  std::printf("\"%s\": {\"tokens\": %zu, \"seconds\": [%s], \"processor_seconds\": [%s]}", name, tokens,
              wall.c_str(), processor.c_str());
}
}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) fail("usage: peer_media MMPROJ MODEL THREADS REPEATS");
  const int repeats = std::atoi(argv[4]);
  llama_backend_init();
  llama_model_params model_params = llama_model_default_params();
  model_params.vocab_only = true;
  const llama_model* model = llama_model_load_from_file(argv[2], model_params);
  if (model == nullptr) fail("the model cannot be read");
  mtmd_context_params params = mtmd_context_params_default();
  params.use_gpu = false;
  params.print_timings = false;
  params.n_threads = std::atoi(argv[3]);
  params.image_max_tokens = 280;
  mtmd_context* context = mtmd_init_from_file(argv[1], model, params);
  if (context == nullptr) fail("the mmproj file cannot be read");

  // The same picture and sound as in bench/media.cc.
  std::vector<uint8_t> pixels(size_t{768} * 768 * 3);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 2654435761u >> 24);
  std::vector<float> samples(size_t{10} * 16000);
  for (size_t i = 0; i < samples.size(); ++i)
    samples[i] = static_cast<float>(static_cast<int16_t>(i * 2654435761u >> 18)) / 32768.0f;
  std::printf("{");
  measure(context, "picture", mtmd_bitmap_init(768, 768, pixels.data()), repeats);
  std::printf(", ");
  measure(context, "sound", mtmd_bitmap_init_from_audio(samples.size(), samples.data()), repeats);
  std::printf("}\n");
  return 0;
}
