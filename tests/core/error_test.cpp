#include <doctest/doctest.h>
#include <sluice/error.h>

using namespace sluice;

TEST_CASE("an error says where and what") {
  CHECK(std::string(Error(ErrorCode::kData, "no").what()) == "no");
  CHECK(std::string(Error(ErrorCode::kData, "no", "h", {"a.csv", 3, 7, -1}).what()) ==
        "a.csv:3:7: no");
  CHECK(std::string(Error(ErrorCode::kData, "no", "h", {"a.csv", 3, -1, -1}).what()) ==
        "a.csv:3: no");
  CHECK(std::string(Error(ErrorCode::kIo, "no", "h", {"a.bin", -1, -1, 4096}).what()) ==
        "a.bin at byte 4096: no");
}

TEST_CASE("codes are the exit codes the tools promise") {
  CHECK(static_cast<int>(ErrorCode::kUsage) == 2);
  CHECK(static_cast<int>(ErrorCode::kData) == 3);
  CHECK(static_cast<int>(ErrorCode::kResource) == 4);
  CHECK(static_cast<int>(ErrorCode::kIo) == 5);
  CHECK(static_cast<int>(ErrorCode::kInternal) == 70);
  CHECK(static_cast<int>(ErrorCode::kInterrupted) == 130);
  CHECK(to_string(ErrorCode::kResource) == "resource");
}

TEST_CASE("a result is a value or an error") {
  const auto half = [](int x) -> Result<int> {
    if (x % 2 != 0) return Error(ErrorCode::kData, "odd");
    return x / 2;
  };
  CHECK(half(4).value() == 2);
  CHECK(half(4).or_throw() == 2);
  CHECK_FALSE(half(3).ok());
  CHECK_THROWS_AS(half(3).or_throw(), Error);
  CHECK(Result<void>{}.ok());
  CHECK_THROWS_AS(Result<void>(Error(ErrorCode::kIo, "x")).or_throw(), Error);
}
