// The demo model's expected answers about pictures and sounds, token for token, from the files as the tool
// reads them.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "cli/media_files.h"
#include "tests/support/test_data.h"

namespace g4::cli {
namespace {
using nlohmann::json;

std::string example(const std::string& name) { return golden_source_path("../../examples/" + name); }

// In F32 throughout: what the reference was run with.
Session open_exact() {
  const std::string towers = example("models/mmproj-g4-demo-bf16.gguf");
  g4_session_options options = {};
  options.mmproj_path = towers.c_str();
  options.kv_type = G4_KV_F32;
  options.precision = G4_PRECISION_F32;
  return Session::open(golden_path("demo/g4-demo-f32.gguf"), options);
}

Media encode(Session& session, const json& test) {
  const bool is_image = test.contains("image");
  const std::string path = test[is_image ? "image" : "audio"], name = path.substr(path.rfind('/') + 1);
  const std::vector<uint8_t> file = read_media_file(example("media/" + name));
  return is_image ? session.encode_image(decode_picture(file, name).view(), 70)
                  : session.encode_sound(decode_sound(file, name).view());
}
}  // namespace

TEST_CASE("The demo model in F32 answers about pictures and sounds token for token as the reference does",
          "[cli]") {
  Session session = open_exact();
  const json expected = json::parse(read_file(golden_path("demo/expected.json")));
  int count = 0;
  for (const json& test : expected["cases"]) {
    if (!test.contains("image") && !test.contains("audio")) continue;
    const Media media = encode(session, test);
    const g4_media* part = media.get();
    g4_chat_options chat = {};
    chat.media = &part;
    chat.media_count = 1;
    const std::vector<int32_t> prompt = session.tokenizer().chat_tokenize(test["messages"].dump(), chat);
    g4_generate_options options = {};
    g4_sampling greedy = G4_INIT(g4_sampling);
    greedy.flags = G4_SAMPLING_GREEDY;
    options.sampling = &greedy;
    std::vector<int32_t> answer;
    session.reset();
    session.generate(prompt, options, [&](const g4_event& event) {
      if (event.kind == G4_EVENT_TOKEN) answer.push_back(event.token);
      return true;
    });
    INFO(test["id"]);
    CHECK(prompt.size() == test["prompt_ids"].size());
    CHECK(answer == test["answer_ids"].get<std::vector<int32_t>>());
    ++count;
  }
  CHECK(count == 16);
}
}  // namespace g4::cli
