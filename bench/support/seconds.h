// Wall time of a benchmark's steps.
#pragma once

#include <chrono>

namespace sluice::bench {

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace sluice::bench
