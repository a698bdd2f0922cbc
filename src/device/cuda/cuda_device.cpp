#include "device/cuda/cuda_device.h"

#include "device/cuda/tensor_pool.h"
#include "kernels/cuda/table.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <string_view>

namespace sluice {
namespace {

constexpr int kGpu = 0;  // of those that CUDA_VISIBLE_DEVICES shows
constexpr int kLeastMajor = 8;

Result<void> outcome(cudaError_t code, std::string_view what) {
  if (code == cudaSuccess) return {};
  (void)cudaGetLastError();  // an error that does not stay must not be taken for the next call's
  return Error(
      ErrorCode::kResource,
      fmt::format(
          "the GPU failed to {}: {} ({})", what, cudaGetErrorString(code), cudaGetErrorName(code)),
      code == cudaErrorMemoryAllocation
          ? "lower [memory] gpu, train.batch_size or sampler.fanout"
          : "look into the kernel's log (dmesg, nvidia-smi), or set train.device = \"cpu\"");
}

// Blocking: a host thread that waits leaves its core to the data threads.
struct CudaEvent final : DeviceEvent {
  CudaEvent() = default;
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  ~CudaEvent() override {
    if (event != nullptr) (void)cudaEventDestroy(event);
  }
  cudaEvent_t event = nullptr;
};

cudaEvent_t event_of(const DeviceEvent& event) {
  return static_cast<const CudaEvent&>(event).event;
}

}  // namespace

Result<std::shared_ptr<ComputeDevice>> CudaDevice::open() {
  std::shared_ptr<CudaDevice> device(new CudaDevice);
  int gpus = 0;
  if (auto found = outcome(cudaGetDeviceCount(&gpus), "be found"); !found)
    return std::move(found).error();
  if (gpus == 0) return Error(ErrorCode::kResource, "CUDA shows no GPU");
  if (auto read = outcome(cudaGetDeviceProperties(&device->properties_, kGpu), "be looked at");
      !read)
    return std::move(read).error();
  if (device->properties_.major < kLeastMajor) {
    return Error(ErrorCode::kResource,
                 fmt::format("{} has compute capability {}.{}; Sluice's kernels need {}.0",
                             device->properties_.name,
                             device->properties_.major,
                             device->properties_.minor,
                             kLeastMajor),
                 "set train.device = \"cpu\"");
  }
  if (auto set = outcome(cudaSetDevice(kGpu), "be chosen"); !set) return std::move(set).error();
  if (auto made = outcome(cudaStreamCreateWithFlags(&device->copy_, cudaStreamNonBlocking),
                          "make a stream");
      !made)
    return std::move(made).error();
  int same_address = 0;
  (void)cudaDeviceGetAttribute(&same_address, cudaDevAttrCanUseHostPointerForRegisteredMem, kGpu);
  device->pins_ = same_address != 0;
  if (auto started = start_tensor_pool(); !started) return std::move(started).error();
  return std::shared_ptr<ComputeDevice>(std::move(device));
}

CudaDevice::~CudaDevice() {
  if (copy_ != nullptr) (void)cudaStreamDestroy(copy_);
}

DeviceInfo CudaDevice::info() const {
  DeviceInfo info;
  info.kind = "cuda";
  info.name = properties_.name;
  int driver = 0, runtime = 0;
  (void)cudaDriverGetVersion(&driver);
  (void)cudaRuntimeGetVersion(&runtime);
  info.version = fmt::format(
      "compute capability {}.{}, {} multiprocessors, driver for CUDA {}.{}, "
      "runtime {}.{}, {}",
      properties_.major,
      properties_.minor,
      properties_.multiProcessorCount,
      driver / 1000,
      driver % 1000 / 10,
      runtime / 1000,
      runtime % 1000 / 10,
      pins_ ? "reads pinned memory in place" : "no pinned memory in place");
  std::size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) == cudaSuccess) {
    info.free_bytes = free;
    info.total_bytes = total;
  }
  return info;
}

const kernels::KernelTable& CudaDevice::kernels() const {
  return kernels::cuda::cuda_kernels();
}

Result<std::byte*> CudaDevice::allocate(std::uint64_t bytes) {
  void* memory = nullptr;
  if (auto made = outcome(cudaMalloc(&memory, bytes), "give " + format_bytes(bytes)); !made)
    return std::move(made).error();
  return static_cast<std::byte*>(memory);
}

void CudaDevice::free(std::byte* memory) noexcept {
  (void)cudaFree(memory);
}

Result<void> CudaDevice::pin(std::span<std::byte> memory) {
  if (!pins_) return Error(ErrorCode::kResource, "the GPU cannot use the host's addresses");
  return outcome(
      cudaHostRegister(
          memory.data(), memory.size(), cudaHostRegisterPortable | cudaHostRegisterMapped),
      "pin " + format_bytes(memory.size()));
}

void CudaDevice::unpin(std::span<std::byte> memory) noexcept {
  (void)cudaHostUnregister(memory.data());
}

Result<void> CudaDevice::copy_in(Stream stream,
                                 std::span<const std::byte> host,
                                 std::byte* device) {
  return outcome(
      cudaMemcpyAsync(device, host.data(), host.size(), cudaMemcpyHostToDevice, stream_of(stream)),
      "copy to it");
}

Result<void> CudaDevice::copy_out(Stream stream,
                                  const std::byte* device,
                                  std::span<std::byte> host) {
  return outcome(
      cudaMemcpyAsync(host.data(), device, host.size(), cudaMemcpyDeviceToHost, stream_of(stream)),
      "copy from it");
}

Result<std::unique_ptr<DeviceEvent>> CudaDevice::make_event() {
  auto event = std::make_unique<CudaEvent>();
  if (auto made =
          outcome(cudaEventCreateWithFlags(&event->event, cudaEventBlockingSync), "make an event");
      !made)
    return std::move(made).error();
  return std::unique_ptr<DeviceEvent>(std::move(event));
}

Result<void> CudaDevice::record(DeviceEvent& event, Stream stream) {
  return outcome(cudaEventRecord(event_of(event), stream_of(stream)), "record an event");
}

Result<void> CudaDevice::wait(Stream stream, const DeviceEvent& event) {
  return outcome(cudaStreamWaitEvent(stream_of(stream), event_of(event), 0), "wait for an event");
}

Result<void> CudaDevice::synchronize(const DeviceEvent& event) {
  return outcome(cudaEventSynchronize(event_of(event)), "finish its work");
}

Result<double> CudaDevice::seconds_between(const DeviceEvent& begin, const DeviceEvent& end) {
  float milliseconds = 0;
  if (auto read = outcome(cudaEventElapsedTime(&milliseconds, event_of(begin), event_of(end)),
                          "tell the time");
      !read)
    return std::move(read).error();
  return 1e-3 * static_cast<double>(milliseconds);
}

Result<void> CudaDevice::limit_tensors(std::uint64_t bytes) {
  return limit_tensor_pool(bytes, properties_.totalGlobalMem);
}

TensorPool CudaDevice::tensor_pool() const {
  return read_tensor_pool();
}

void CudaDevice::reset_tensor_peak() {
  reset_tensor_pool_peak();
}

}  // namespace sluice
