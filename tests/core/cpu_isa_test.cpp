#include "core/cpu_isa.h"

#include <doctest/doctest.h>

#include <cstdlib>

using namespace sluice;

namespace {

constexpr CpuFeatures kOld{true, false, false}, kMiddle{true, true, false}, kNew{true, true, true};

}  // namespace

TEST_CASE("the newest instruction set of a processor is used, and no newer than is asked for") {
  struct Row {
    CpuFeatures features;
    const char* most;
    CpuIsa isa;
  };
  for (const Row& row : {Row{kOld, nullptr, CpuIsa::kBaseline},
                         Row{kMiddle, nullptr, CpuIsa::kAvx2},
                         Row{kNew, nullptr, CpuIsa::kAvx512},
                         Row{kNew, "", CpuIsa::kAvx512},
                         Row{kNew, "avx2", CpuIsa::kAvx2},
                         Row{kNew, "baseline", CpuIsa::kBaseline},
                         Row{kMiddle, "avx512", CpuIsa::kAvx2},
                         Row{kOld, "avx512", CpuIsa::kBaseline}}) {
    CHECK(choose_cpu_isa(row.features, row.most).or_throw() == row.isa);
  }
}

TEST_CASE("a processor with less than the least, and words that mean nothing, are errors") {
  const auto old = choose_cpu_isa({}, nullptr);
  REQUIRE_FALSE(old);
  CHECK(old.error().code() == ErrorCode::kResource);
  CHECK(old.error().message() ==
        "this processor lacks SSE4.2, the least that Sluice's libraries need");
  CHECK(old.error().hint().find("x86-64-v2") != std::string::npos);
  for (const char* word : {"avx3", "AVX2", "sse4"}) {
    CAPTURE(word);
    const auto unknown = choose_cpu_isa(kNew, word);
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error().code() == ErrorCode::kUsage);
    CHECK(unknown.error().message().find("SLUICE_MAX_CPU_ISA is '") != std::string::npos);
    CHECK(unknown.error().hint().find("baseline, avx2 or avx512") != std::string::npos);
  }
}

TEST_CASE("this process uses what its processor and its environment allow") {
  const auto expected = choose_cpu_isa(cpu_features(), std::getenv(kMaxCpuIsaVariable));
  REQUIRE(expected);
  CHECK(cpu_isa() == expected.value());
  CHECK(cpu_isa() == cpu_isa());
}
