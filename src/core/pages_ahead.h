// PagesAhead: has the system make the pages of fresh memory on threads of its own, so that who
// fills them in does not wait for each to be found and zeroed: on a virtual machine that can take
// as long as reading from a fast disk does.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <thread>
#include <vector>

namespace sluice {

class PagesAhead {
 public:
  /// Nothing but speed depends on it: systems that cannot do it (Linux before 5.14) make pages when
  /// they are met, as ever. Others may use the memory meanwhile.
  /// @param memory page-aligned; must live until this is destroyed
  explicit PagesAhead(std::span<std::byte> memory);
  PagesAhead(const PagesAhead&) = delete;
  PagesAhead& operator=(const PagesAhead&) = delete;
  /// Ends within a few MiB, whatever is still wanted.
  ~PagesAhead();

  /// The first `bytes` will be filled in. No memory is taken a few MiB beyond what is wanted.
  void want(std::size_t bytes);
  std::size_t size() const { return memory_.size(); }

 private:
  void make_pages();

  std::span<std::byte> memory_;
  std::atomic<std::size_t> wanted_{0};
  std::atomic<std::size_t> next_{0};  // piece to be made
  std::vector<std::thread> threads_;
};

}  // namespace sluice
