// OneThread: while one lives, what the calling thread asks LibTorch for is computed by that thread
// alone: sums of products would otherwise depend on how many threads share them.
#pragma once

#include <ATen/Parallel.h>

namespace sluice::nn {

class OneThread {
 public:
  OneThread() : before_(at::get_num_threads()) { at::set_num_threads(1); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  ~OneThread() { at::set_num_threads(before_); }

 private:
  int before_;
};

}  // namespace sluice::nn
