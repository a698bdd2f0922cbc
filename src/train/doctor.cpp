#include "train/doctor.h"

#include "core/cpu_isa.h"
#include "core/threads.h"
#include "device/library.h"
#include "storage/io/disk_profile.h"

#include <sluice/units.h>

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <fmt/format.h>
#include <torch/version.h>

#include <cstdlib>

namespace sluice {
namespace {

void measure_disk(DoctorReport& report, const std::filesystem::path& folder, std::uint64_t bytes) {
  const IoEngineChoice choice = make_io_engine({}).or_throw();
  report.engine = choice.engine->name();
  report.why_engine = choice.reason;
  report.folder = folder.string();
  if (bytes == 0) return;
  DiskProbeOptions options;
  options.scratch_bytes = bytes;
  const DiskProfile disk = DiskProfile::measure(folder, options, nullptr).or_throw();
  const DiskRates& rates = disk.rates();
  report.direct = disk.origin().direct;
  report.request_overhead_bytes = disk.request_overhead_bytes();
  for (std::size_t i = 0; i < DiskRates::kRequestBytes.size(); ++i) {
    const std::uint64_t length = DiskRates::kRequestBytes[i];
    report.figures.push_back(
        {fmt::format("random read {}", format_bytes(length)), length, rates.read_seconds[i]});
  }
  report.figures.push_back({"sequential read 1 MiB", kMiB, kMiB / rates.sequential_read});
  report.figures.push_back({"sequential write 1 MiB", kMiB, kMiB / rates.sequential_write});
}

void look_for_device(DoctorReport& report) {
  auto found = find_device();
  if (!found) {
    report.why_device = found.error().message();
    return;
  }
  const DeviceInfo info = found.value()->info();
  report.device = info.name;
  report.why_device = fmt::format("{} of {} free; {}",
                                  format_bytes(info.free_bytes),
                                  format_bytes(info.total_bytes),
                                  info.version);
}

}  // namespace

DoctorReport examine(const std::filesystem::path& folder, std::uint64_t scratch_bytes) {
  DoctorReport report;
  look_for_device(report);  // before anything of LibTorch
  report.cores = available_cores();
  report.memory_granted = memory_granted();
  report.cgroup = read_cgroup_memory();
  report.processor = cpu_name();
  report.newest_isa = to_string(choose_cpu_isa(cpu_features(), nullptr).or_throw());
  report.used_isa = to_string(cpu_isa());
  report.libtorch = TORCH_VERSION;
  report.isa = at::get_cpu_capability();
  report.torch_threads = at::get_num_threads();
  const char* mkl = std::getenv("MKL_CBWR");
  report.mkl = mkl == nullptr ? "not set" : mkl;
  measure_disk(report, folder, scratch_bytes);
  return report;
}

std::string to_text(const DoctorReport& report) {
  const auto line = [](const char* name, const std::string& value) {
    return fmt::format("{:<12}  {}\n", name, value);
  };
  std::string memory = format_bytes(report.memory_granted) + " granted";
  if (report.cgroup.limit != 0) {
    memory += fmt::format(" by memory cgroup v{} {}", report.cgroup.version, report.cgroup.path);
  } else {
    memory += ", no memory cgroup limit";
  }
  std::string text =
      line("cores", std::to_string(report.cores)) +
      line("processor",
           fmt::format(
               "{}; needed at the least: {}, newest that it has: {}, used by our kernels: {}",
               report.processor.empty() ? "unnamed" : report.processor,
               kLeastIsa,
               report.newest_isa,
               report.used_isa)) +
      line("memory", memory) +
      line("LibTorch",
           fmt::format("{}, {}, {} threads, MKL_CBWR {}",
                       report.libtorch,
                       report.isa,
                       report.torch_threads,
                       report.mkl)) +
      line("device",
           report.device.empty() ? "cpu (" + report.why_device + ")"
                                 : fmt::format("{} ({})", report.device, report.why_device)) +
      line("engine", fmt::format("{} ({})", report.engine, report.why_engine));
  if (report.figures.empty()) return text;
  text += line("folder",
               fmt::format("{}, reads {}",
                           report.folder,
                           report.direct ? "pass the page cache by" : "go through the page cache"));
  for (const IoFigure& figure : report.figures) {
    text += fmt::format("  {:<22}  {:>9.1f} MB/s  {:>9} requests/s\n",
                        figure.name,
                        figure.bytes_per_second() / 1e6,
                        format_count(static_cast<std::uint64_t>(figure.requests_per_second())));
  }
  return text +
         fmt::format("  a gap up to {} is read through as quickly as a request more is made\n",
                     format_bytes(report.request_overhead_bytes));
}

}  // namespace sluice
