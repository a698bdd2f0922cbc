#include "train/run_device.h"

#include "device/library.h"

#include <sluice/nn/tensor_view.h>

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace sluice {
namespace {

constexpr const char* kKnob = "[memory] gpu";

// Where [memory] gpu names no number: this share of what is free, the rest for what comes and goes.
constexpr std::uint64_t kSharePercent = 90;

std::uint64_t budget_of(const RunOptions& options, const DeviceInfo& info) {
  const std::uint64_t asked = options.memory.gpu.bytes;
  if (asked == 0) return info.free_bytes / 100 * kSharePercent;
  if (asked <= info.free_bytes) return asked;
  throw Error(ErrorCode::kResource,
              fmt::format("[memory] gpu = {} is more than {} has free: {} of {}",
                          format_bytes(asked),
                          info.name,
                          format_bytes(info.free_bytes),
                          format_bytes(info.total_bytes)),
              fmt::format("set [memory] gpu to at most \"{}MiB\", or leave it out",
                          info.free_bytes / kMiB));
}

}  // namespace

std::string RunDevice::kind() const {
  return device ? device->info().kind : "cpu";
}

torch::Device RunDevice::place() const {
  return nn::device_of(device ? device->space() : MemorySpace::kHost);
}

const kernels::KernelTable* RunDevice::kernels() const {
  return device ? &device->kernels() : nullptr;
}

// cuBLAS and its like say so by a code of their own, CUDA itself by its text.
bool RunDevice::is_out_of_memory(const c10::Error& error) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) return true;
  const std::string_view text = error.what_without_backtrace();
  return text.find("_STATUS_ALLOC_FAILED") != text.npos ||
         text.find("CUDA error: out of memory") != text.npos;
}

Error RunDevice::out_of_memory(const c10::Error& error) const {
  const TensorPool pool = device ? device->tensor_pool() : TensorPool{};
  const std::string text = error.what_without_backtrace();
  return Error(ErrorCode::kResource,
               fmt::format("the GPU has no memory left for tensors, which hold {}: {}\n{}",
                           format_bytes(pool.held),
                           text.substr(0, text.find('\n')),
                           ledger ? ledger->table() : ""),
               fmt::format("raise {}, or lower train.batch_size, sampler.fanout or "
                           "eval.batch_size",
                           kKnob));
}

bool is_of_device_budget(const Error& error) {
  return error.code() == ErrorCode::kResource && error.hint().find(kKnob) != std::string::npos;
}

RunDevice open_run_device(const RunOptions& options, Logger& log) {
  if (options.train.device == DeviceChoice::kCpu) return {};
  auto found = find_device();
  if (!found) {
    if (options.train.device == DeviceChoice::kCuda) throw std::move(found).error();
    // Where the library is, a GPU was meant to be used.
    const auto level = find_device_library().empty() ? spdlog::level::debug : spdlog::level::info;
    log.log(level, "device: cpu ({})", found.error().message());
    return {};
  }
  RunDevice run;
  run.device = std::move(found).value();
  const DeviceInfo info = run.device->info();
  log.info("device: {}, {} of {} free; {}",
           info.name,
           format_bytes(info.free_bytes),
           format_bytes(info.total_bytes),
           info.version);
  run.ledger = std::make_shared<MemoryLedger>(budget_of(options, info), kKnob);
  return run;
}

}  // namespace sluice
