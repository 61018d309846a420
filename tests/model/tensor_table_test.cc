#include "model/tensor_table.h"

#include <catch2/catch.hpp>
#include <set>

#include "model/read_config.h"
#include "tests/model/tiny_model.h"

namespace g4 {
namespace {
ModelConfig config_of(const TinyModel& model) {
  const GgufInMemory file(model.write());
  REQUIRE(file.ok());
  return *read_config(*file);
}
}  // namespace

TEST_CASE("tensor table: the letters stand for the sizes of the layer", "[model]") {
  const ModelConfig config = config_of(TinyModel());
  const auto value = [&](Dim dim, int layer) { return dim_value(dim, config, layer); };
  CHECK(value(Dim::kD, 0) == 32);
  CHECK(value(Dim::kV, 0) == 20);
  CHECK(value(Dim::kP, 0) == 8);
  CHECK(value(Dim::kLP, 0) == 40);
  CHECK(value(Dim::kE, 0) == 8);
  CHECK(value(Dim::kE, 2) == 16);
  CHECK(value(Dim::kHE, 0) == 32);
  CHECK(value(Dim::kHE, 2) == 64);
  CHECK(value(Dim::kKE, 0) == 16);
  CHECK(value(Dim::kKE, 2) == 16);
  CHECK(value(Dim::kF, 2) == 48);
  CHECK(value(Dim::kF, 3) == 64);
  CHECK(value(Dim::kHalfE, 0) == 8);
  CHECK(value(Dim::kOne, 4) == 1);
  const ModelConfig mixture = config_of(tiny_mixture());
  CHECK(dim_value(Dim::kX, mixture, 0) == 5);
  CHECK(dim_value(Dim::kFx, mixture, 0) == 24);
  CHECK(dim_value(Dim::kTwoFx, mixture, 0) == 48);
}

TEST_CASE("tensor table: who needs what, and why", "[model]") {
  const ModelConfig shared = config_of(TinyModel()), mixture = config_of(tiny_mixture());
  CHECK(presence(Need::kAlways, shared, 4) == Presence::kRequired);
  CHECK(presence(Need::kOptional, shared, 4) == Presence::kOptional);
  CHECK(presence(Need::kOwnsKv, shared, 2) == Presence::kRequired);
  CHECK(presence(Need::kOwnsKv, shared, 3) == Presence::kUnused);
  CHECK(presence(Need::kOwnsKvMaybe, shared, 2) == Presence::kOptional);
  CHECK(presence(Need::kOwnsKvMaybe, shared, 3) == Presence::kUnused);
  CHECK(presence(Need::kPle, shared, 0) == Presence::kRequired);
  CHECK(presence(Need::kPle, mixture, 0) == Presence::kUnused);
  CHECK(presence(Need::kExperts, shared, 0) == Presence::kUnused);
  CHECK(presence(Need::kExperts, mixture, 0) == Presence::kRequired);
  CHECK(reason(Need::kOwnsKv, shared, 2) == "layer 2 owns its K and V");
  CHECK(reason(Need::kExperts, mixture, 0) == "the model is a mixture of 5 experts");
}

TEST_CASE("tensor table: no name is there twice", "[model]") {
  std::set<std::string> names;
  for (const auto& row : model_tensors()) CHECK(names.insert(row.name).second);
  names.clear();
  for (const auto& row : layer_tensors()) CHECK(names.insert(row.name).second);
}
}  // namespace g4
