#include "device/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

namespace sluice {
namespace {

constexpr const char* kName = "libsluice_cuda.so";

Error unusable(const std::filesystem::path& library, std::string_view why, std::string hint) {
  return Error(ErrorCode::kResource,
               fmt::format("the device library cannot be used: {}", why),
               std::move(hint),
               Place{library.string(), -1, -1, -1});
}

std::string last_dl_error() {
  const char* text = ::dlerror();
  return text == nullptr ? "no reason given" : text;
}

}  // namespace

std::filesystem::path find_device_library() {
  if (const char* named = std::getenv("SLUICE_CUDA_LIBRARY"); named != nullptr) return named;
  std::error_code problem;
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe", problem).parent_path();
  for (const char* folder : {"", "..", "../lib"}) {
    const std::filesystem::path candidate = program / folder / kName;
    if (std::filesystem::exists(candidate, problem)) return candidate.lexically_normal();
  }
  return {};
}

Result<void> probe_driver() {
  const auto none = [](std::string why) {
    return Error(ErrorCode::kResource,
                 "this machine has no NVIDIA GPU that works: " + std::move(why),
                 "install the NVIDIA driver, or set train.device = \"cpu\"");
  };
  void* driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) return none("no driver (libcuda.so.1)");
  using Init = int (*)(unsigned int);
  using Count = int (*)(int*);
  const auto init = reinterpret_cast<Init>(::dlsym(driver, "cuInit"));
  const auto count = reinterpret_cast<Count>(::dlsym(driver, "cuDeviceGetCount"));
  if (init == nullptr || count == nullptr) return none("libcuda.so.1 is no driver");
  if (const int code = init(0); code != 0) return none(fmt::format("cuInit gives {}", code));
  int gpus = 0;
  if (const int code = count(&gpus); code != 0 || gpus == 0)
    return none(fmt::format("the driver shows {} GPUs (code {})", gpus, code));
  return {};
}

Result<std::shared_ptr<ComputeDevice>> load_device(const std::filesystem::path& library) {
  if (library.empty()) {
    return Error(ErrorCode::kResource,
                 fmt::format("there is no {} beside this program", kName),
                 "build with -DSLUICE_CUDA=ON (scripts/build cuda), or name it in "
                 "SLUICE_CUDA_LIBRARY");
  }
  // For good: LibTorch registers what it brings and cannot be unloaded.
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    return unusable(library,
                    last_dl_error(),
                    "it needs the CUDA half of LibTorch: scripts/setup --cuda installs it");
  }
  using Entry = const DeviceLibrary* (*)();
  const auto entry = reinterpret_cast<Entry>(::dlsym(handle, DeviceLibrary::kSymbol));
  if (entry == nullptr) return unusable(library, last_dl_error(), "name another library");
  const DeviceLibrary* found = entry();
  if (found->abi != DeviceLibrary::kAbi || std::string_view(found->build) != device_build()) {
    return unusable(library,
                    fmt::format("it is of another build ({}) than this program ({})",
                                found->abi == DeviceLibrary::kAbi ? found->build : "?",
                                device_build()),
                    "build both together");
  }
  return found->open();
}

// The library brings in all of LibTorch's CUDA half, so the driver is asked first. One that was
// named by hand speaks for itself.
Result<std::shared_ptr<ComputeDevice>> find_device() {
  const std::filesystem::path library = find_device_library();
  if (std::getenv("SLUICE_CUDA_LIBRARY") == nullptr && !library.empty()) {
    if (auto driver = probe_driver(); !driver) return std::move(driver).error();
  }
  return load_device(library);
}

}  // namespace sluice
