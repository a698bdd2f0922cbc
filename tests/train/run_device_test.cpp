// What a run says of its GPU: that its memory is used up, whoever found it so.
#include "train/run_device.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>

using namespace sluice;

namespace {

c10::Error said_by_torch(const std::string& text) {
  return {c10::SourceLocation{"work", "file.cpp", 1}, text};
}

// The error that work on a GPU ends with, ours, or none where it stays what it was.
std::optional<Error> guarded_error(const std::string& text) {
  const RunDevice device;
  try {
    device.guarded([&]() -> int { throw said_by_torch(text); });
  } catch (const Error& error) {
    return error;
  } catch (const c10::Error&) {
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("run device: no memory is the user's error, whichever library ran out of it") {
  for (const char* text : {"CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`",
                           "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
                           "CUDA error: out of memory"}) {
    CAPTURE(text);
    const auto error = guarded_error(text);
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::kResource);
    CHECK(error->message().find(text) != std::string::npos);
    CHECK(error->hint().find("[memory] gpu") != std::string::npos);
  }
  CHECK_FALSE(guarded_error("CUDA error: an illegal memory access was encountered"));
  CHECK_FALSE(
      guarded_error("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm`"));
}
