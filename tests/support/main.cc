// Runs the test cases. The last line of the output is "N passed, N failed, N skipped", counted in test cases.
#define CATCH_CONFIG_RUNNER
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <string>

#include "tests/support/test_data.h"

namespace {
struct Counts {
  int passed = 0, failed = 0, skipped = 0;
};
Counts counts;
bool skipping = false;

// Counts what Catch2 2 cannot: skipped test cases, and test cases that check nothing (those fail).
class Counter : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    skipping = false;
    if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r\033[K%s", info.name.c_str());
  }
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r\033[K");
    if (stats.totals.assertions.failed > 0) {
      ++counts.failed;
    } else if (skipping) {
      ++counts.skipped;
    } else if (stats.totals.assertions.total() == 0) {
      std::printf("test case \"%s\" checks nothing\n", stats.testInfo.name.c_str());
      ++counts.failed;
    } else {
      ++counts.passed;
    }
  }
};
CATCH_REGISTER_LISTENER(Counter)
}  // namespace

void g4::skip_test_case(const std::string& reason) {
  std::printf("skipped \"%s\": %s\n", Catch::getResultCapture().getCurrentTestName().c_str(), reason.c_str());
  skipping = true;
  throw Catch::TestFailureException();  // ends the test case; nothing has failed unless a check did
}

int main(int argc, char** argv) {
  Catch::Session session;
  const int status = session.run(argc, argv);
  const auto& config = session.config();
  if (config.listTests() || config.listTags() || config.listReporters() || config.listTestNamesOnly())
    return status;
  std::printf("%d passed, %d failed, %d skipped\n", counts.passed, counts.failed, counts.skipped);
  return status != 0 || counts.failed > 0;
}
