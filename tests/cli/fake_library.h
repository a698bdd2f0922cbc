// Runs of sluice-train on the fake device (tests/device): the environment that names it.
#pragma once

#include "support/process.h"

#include <stdlib.h>  // setenv
#include <cstdlib>
#include <optional>
#include <string>

namespace sluice::test {

/// Sets a variable for children while it lives.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name); before != nullptr) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    if (before_) {
      ::setenv(name_, before_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// A GPU that is in host memory and runs late: for SLUICE_CUDA_LIBRARY.
inline std::string fake_library() {
  return tool("tests/libsluice_fake_device.so");
}

}  // namespace sluice::test
