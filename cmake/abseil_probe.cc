// What cmake/abseil.cmake tries to link into a shared library: the parts of Abseil that src uses.
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

absl::StatusOr<std::string> probe(absl::string_view text) {
  double number = 0;
  if (!absl::SimpleAtod(text, &number)) return absl::DataLossError(absl::StrCat("not a number: ", text));
  const std::vector<std::string> parts = absl::StrSplit(text, '.');
  return absl::StrJoin(parts, ",");
}
std::string probe_text(absl::string_view text) {
  const auto result = probe(text);
  return result.ok() ? *result : result.status().ToString();
}
