#include <algorithm>

#include "base/media_token.h"
#include "tests/media/media_test.h"
#include "tests/session/open_session.h"

namespace g4 {
namespace {
std::shared_ptr<const Model> open_media_model(const std::string& name) {
  ModelOptions options;
  options.mmproj_path = golden_path("tiny/" + name + "/mmproj.gguf");
  return open_model("tiny/" + name + "/model.gguf", options);
}

template <typename T>
T ok(StatusOr<T> result) {
  INFO(result.status().message());
  REQUIRE(result.ok());
  return *std::move(result);
}

// A model with its goldens and their pictures and sounds, encoded.
struct Fixture {
  explicit Fixture(const std::string& model_name, int chunk = 512, int threads = 1)
      : goldens(golden_path("tiny/" + model_name + "/goldens.safetensors")),
        model(open_media_model(model_name)),
        options(exact_options()) {
    options.chunk = chunk;
    options.thread_count = threads;
    session = new_session(model, options);
    const ImageView first = image_view(goldens["image0.rgb"]), second = image_view(goldens["image1.rgb"]);
    // The reference inverts the picture after it is resized; at that size it is not resized again.
    const ImageSize size = ok(target_size(first.width, first.height, 70));
    std::vector<uint8_t> inverted = ok(resize_image(first, size, **ThreadPool::create(1)));
    for (uint8_t& value : inverted) value = static_cast<uint8_t>(255 - value);
    const ImageView negative{inverted.data(), size.width, size.height, 3,
                             size_t{3} * static_cast<size_t>(size.width)};
    image0 = ok(session->encode_image(first, 70));
    image1 = ok(session->encode_image(second, 70));
    const ImageView frames[] = {first, negative};
    const uint64_t times[] = {0, 61'500'000'000};
    video = ok(session->encode_video(frames, times, 70));
    if (goldens.has("audio0.pcm"))
      audio0 = ok(session->encode_sound(sound_view(goldens["audio0.pcm"]), false));
  }

  // The ids of a golden prompt, each run of placeholders replaced by the tokens of what stands there.
  std::vector<int32_t> prompt(const std::string& name, std::vector<const Media*> media) const {
    const std::span<const int32_t> ids = goldens[name + ".ids"].values<int32_t>();
    const SpecialTokens& special = model->tokenizer()->special();
    const auto is_placeholder = [&](int32_t id) {
      return id == special.image || id == special.audio || id == special.video;
    };
    std::vector<int32_t> once;
    for (size_t i = 0; i < ids.size(); ++i)
      if (i == 0 || ids[i] != ids[i - 1] || !is_placeholder(ids[i])) once.push_back(ids[i]);
    std::vector<int32_t> tokens = ok(place_media(once, media, special));
    REQUIRE(tokens.size() == ids.size());
    return tokens;
  }

  Safetensors goldens;
  std::shared_ptr<const Model> model;
  SessionOptions options;
  std::unique_ptr<Session> session;
  Media image0, image1, video, audio0;
};

// Compares with the rows that pick_media.py kept.
void check_logits(const Fixture& fixture, const std::string& name, const std::vector<float>& logits) {
  const bool is_tail = fixture.goldens.has(name + ".logits_tail");
  const Safetensors::Tensor& golden = fixture.goldens[name + (is_tail ? ".logits_tail" : ".logits")];
  const size_t V = golden.shape[1], count = logits.size() / V;
  const size_t rows = is_tail ? (name == "video" ? 16 : 48) : count;
  std::vector<float> picked;
  for (size_t i = 0; i < rows; ++i)
    if (i % 8 == 0 || i + 4 >= rows) {
      const std::vector<float> values = row(logits, count - rows + i, V);
      picked.insert(picked.end(), values.begin(), values.end());
    }
  INFO(name);
  CHECK(relative_error(picked, golden.values<float>()) < 2e-5f);
}
}  // namespace

TEST_CASE("Prompts with media give the reference's logits", "[media]") {
  {
    Fixture f("mm-tiny");
    const auto check = [&](const char* name, std::vector<const Media*> media) {
      REQUIRE(f.session->reset().ok());
      check_logits(f, name, all_logits(*f.session, f.prompt(name, std::move(media))));
    };
    check("aud0", {&f.audio0});
    check("img2", {&f.image0, &f.image1});
    check("mixed", {&f.image1, &f.audio0});
    check("video", {&f.video});
  }
  Fixture f("mm31b-tiny");
  for (const auto& [name, media] :
       {std::pair<const char*, std::vector<const Media*>>{"img2", {&f.image0, &f.image1}},
        {"video", {&f.video}}}) {
    REQUIRE(f.session->reset().ok());
    check_logits(f, name, all_logits(*f.session, f.prompt(name, media)));
  }
}

TEST_CASE("Chunks and threads change no bit of a prompt with media", "[media]") {
  for (const std::string model : {"mm-tiny", "mm31b-tiny"}) {
    Fixture whole(model);
    const std::vector<int32_t> tokens = whole.prompt("img2", {&whole.image0, &whole.image1});
    const std::vector<float> expected = all_logits(*whole.session, tokens);
    for (const int chunk : {1, 7, 64}) {
      SessionOptions options = whole.options;
      options.chunk = chunk;
      options.thread_count = 2;
      auto session = new_session(whole.model, options);
      INFO(model << " chunk " << chunk);
      CHECK(all_logits(*session, tokens) == expected);
      session = new_session(whole.model, options);
      feed(*session, tokens, tokens.size());
      CHECK(logits_of(*session) == row(expected, tokens.size() - 1, session->logits().size()));
    }
  }
}

TEST_CASE("An image looks forward in itself only where the configuration says so", "[media]") {
  // Two images that differ in their last rows only: in a causal model nothing before them may change.
  for (const std::string name : {"mm-tiny", "mm31b-tiny"}) {
    Fixture f(name);
    const auto& run = *f.image0.parts[0].run;
    std::vector<float> rows = run.rows;
    for (size_t i = rows.size() - run.row_width; i < rows.size(); ++i) rows[i] = -rows[i];
    const auto changed = make_media_run(MediaKind::kImage, rows, run.row_width);
    f.model->media().add(changed);
    std::vector<int32_t> a = {2, 300}, b = a;
    a.insert(a.end(), run.tokens.begin(), run.tokens.end());
    b.insert(b.end(), changed->tokens.begin(), changed->tokens.end());
    const std::vector<float> first = all_logits(*f.session, a);
    REQUIRE(f.session->reset().ok());
    const std::vector<float> second = all_logits(*f.session, b);
    const size_t V = f.session->logits().size();
    const bool same = std::equal(first.begin(), first.end() - static_cast<ptrdiff_t>(V), second.begin());
    INFO(name);
    CHECK(same == !f.model->config().bidirectional_media);
    // The text before the image never sees it.
    CHECK(std::equal(first.begin(), first.begin() + static_cast<ptrdiff_t>(2 * V), second.begin()));
  }
}

TEST_CASE("Extending keeps the same picture and evaluates another one", "[media]") {
  for (const std::string name : {"mm-tiny", "mm31b-tiny"}) {
    Fixture f(name);
    std::vector<int32_t> tokens = f.prompt("img2", {&f.image0, &f.image1});
    feed(*f.session, tokens, tokens.size());
    tokens.push_back(77);
    CHECK(ok(f.session->extend(tokens, {})) == tokens.size() - 1);
    // Encoding the same picture again gives the same tokens; the second picture first shares only the text
    // before.
    const Media again = ok(f.session->encode_image(image_view(f.goldens["image0.rgb"]), 70));
    std::vector<int32_t> longer = f.prompt("img2", {&again, &f.image1});
    longer.insert(longer.end(), {77, 78});
    CHECK(ok(f.session->extend(longer, {})) == tokens.size());
    const std::vector<int32_t> swapped = f.prompt("img2", {&f.image1, &f.image0});
    CHECK(ok(f.session->extend(swapped, {})) == 6);
    auto fresh = new_session(f.model, f.options);
    feed(*fresh, swapped, swapped.size());
    CHECK(logits_of(*f.session) == logits_of(*fresh));
  }
}

TEST_CASE("Saved, loaded, forked and rewound with media: the same bits", "[media]") {
  const TempDir dir;
  for (const std::string name : {"mm-tiny", "mm31b-tiny"}) {
    Fixture f(name);
    const std::vector<int32_t> tokens = f.prompt("img2", {&f.image0, &f.image1});
    const std::vector<int32_t> more = {300, 301, 302};
    feed(*f.session, tokens, tokens.size());
    REQUIRE(f.session->save_kv(dir.path(name)).ok());
    auto forked = ok(f.session->fork());
    auto loaded = new_session(f.model, f.options);
    CHECK(ok(loaded->load_kv(dir.path(name), {})) == tokens.size());
    CHECK(std::ranges::equal(loaded->tokens(), tokens));
    auto part = new_session(f.model, f.options);
    const std::vector<int32_t> swapped = f.prompt("img2", {&f.image0, &f.image0});
    const size_t kept = ok(part->load_kv(dir.path(name), swapped));
    CHECK(kept <= 71);
    feed(*f.session, more, 3);
    const std::vector<float> expected = logits_of(*f.session);
    for (Session* other : {forked.get(), loaded.get()}) {
      feed(*other, more, 3);
      CHECK(logits_of(*other) == expected);
    }
    REQUIRE(f.session->truncate(static_cast<int>(tokens.size())).ok());
    feed(*f.session, more, 3);
    CHECK(logits_of(*f.session) == expected);
    // Never into a picture: its rows begin at 6.
    for (const bool reevaluate : {false, true}) {
      const Status cut = f.session->truncate(20, reevaluate);
      CHECK(absl::IsInvalidArgument(cut));
      CHECK(cut.message().find("begins at 6") != std::string::npos);
    }
    CHECK(f.session->position() == static_cast<int>(tokens.size() + 3));
    REQUIRE(f.session->truncate(66, true).ok());
    CHECK(f.session->position() == 66);
  }
}

TEST_CASE("Five turns with a picture each, only what is new is evaluated", "[media]") {
  Fixture f("mm-tiny", 64);
  std::vector<int32_t> tokens = {2};
  for (int turn = 0; turn < 5; ++turn) {
    const Media& media = turn % 2 == 0 ? f.image0 : f.audio0;
    const std::vector<int32_t> ids = ok(media_tokens(media, *f.model->tokenizer()));
    const size_t before = tokens.size();
    tokens.insert(tokens.end(), ids.begin(), ids.end());
    tokens.insert(tokens.end(), {300 + turn, 301});
    CHECK(ok(f.session->extend(tokens, {})) == (turn == 0 ? 0 : before));
    for (int i = 0; i < 3; ++i) {
      SamplingOptions greedy;
      greedy.temperature = 0;
      greedy.repetition_penalty = 1.2f;  // over a history with media
      tokens.push_back(ok(f.session->decode(greedy)));
    }
  }
  auto fresh = new_session(f.model, f.options);
  feed(*fresh, tokens, tokens.size());
  CHECK(logits_of(*fresh) == logits_of(*f.session));
}

TEST_CASE("Rows that nobody holds any more are refused, and the session goes on", "[media]") {
  Fixture f("mm-tiny");
  const std::vector<int32_t> tokens = f.prompt("img2", {&f.image0, &f.image1});
  std::vector<int32_t> cut(tokens.begin(), tokens.begin() + 30);
  const Status part = f.session->prefill(cut, nullptr, {});
  CHECK(absl::IsInvalidArgument(part));
  CHECK(part.message().find("index 6") != std::string::npos);
  f.image1 = Media{};
  CHECK(absl::IsInvalidArgument(f.session->prefill(tokens, nullptr, {})));
  CHECK(f.session->position() == 0);
  CHECK(absl::IsInvalidArgument(f.session->prefill(std::vector<int32_t>{2, -5}, nullptr, {})));
  CHECK(f.session->prefill(std::vector<int32_t>{2, 300}, nullptr, {}).ok());
}

TEST_CASE("Without an mmproj file, or one of another width, there is a reason", "[media]") {
  auto session = open_tiny("e2b-tiny");
  const uint8_t pixel[3] = {};
  const auto media = session->encode_image({pixel, 1, 1, 3, 3}, 70);
  CHECK(absl::IsUnimplemented(media.status()));
  CHECK(media.status().message().find("mmproj") != std::string::npos);
  ModelOptions options;
  options.mmproj_path = golden_path("tiny/mm31b-tiny/mmproj.gguf");
  const auto model = Model::open(golden_path("tiny/mm-tiny/model.gguf"), options, {});
  CHECK(absl::IsDataLoss(model.status()));
  CHECK(model.status().message().find("mm.input_projection.weight") != std::string::npos);
}
}  // namespace g4
