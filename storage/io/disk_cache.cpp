#include "storage/io/disk_cache.h"

#include "core/json_text.h"
#include "storage/io/atomic_file.h"
#include "storage/io/directory_lock.h"

#include <sluice/units.h>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::uint64_t kMaxFileBytes = kMiB;

struct Entry {
  DiskKey key;
  DiskProfile profile;
};

std::string file_system_name(std::uint64_t magic) {
  struct Name {
    std::uint64_t magic;
    const char* name;
  };
  constexpr std::array<Name, 8> kNames{{{0xef53, "ext4"},
                                        {0x58465342, "xfs"},
                                        {0x9123683e, "btrfs"},
                                        {0x01021994, "tmpfs"},
                                        {0x794c7630, "overlay"},
                                        {0x6969, "nfs"},
                                        {0x2fc12fc1, "zfs"},
                                        {0xf2f52010, "f2fs"}}};
  for (const Name& known : kNames) {
    if (known.magic == magic) return known.name;
  }
  return fmt::format("{:#x}", magic);
}

Json to_json(const Entry& entry) {
  const DiskRates& rates = entry.profile.rates();
  const DiskOrigin& origin = entry.profile.origin();
  return {{"disk", entry.key.disk},
          {"file_system", entry.key.file_system},
          {"engine", entry.key.engine},
          {"depth", entry.key.depth},
          {"kernel", entry.key.kernel},
          {"measured_unix", origin.measured.time_since_epoch().count()},
          {"direct", origin.direct},
          {"buffer_bytes", origin.buffer_bytes},
          {"request_bytes", DiskRates::kRequestBytes},
          {"read_seconds", rates.read_seconds},
          {"sequential_read", rates.sequential_read},
          {"sequential_write", rates.sequential_write},
          {"why_no_write", origin.why_no_write}};
}

/// Throws nlohmann's errors where something is missing or of another type.
std::optional<Entry> from_json(const Json& json) {
  DiskRates rates;
  if (json.at("request_bytes") != Json(DiskRates::kRequestBytes)) return std::nullopt;
  json.at("read_seconds").get_to(rates.read_seconds);
  json.at("sequential_read").get_to(rates.sequential_read);
  json.at("sequential_write").get_to(rates.sequential_write);
  if (!rates.plausible()) return std::nullopt;
  DiskKey key;
  json.at("disk").get_to(key.disk);
  json.at("file_system").get_to(key.file_system);
  json.at("engine").get_to(key.engine);
  json.at("depth").get_to(key.depth);
  json.at("kernel").get_to(key.kernel);
  DiskOrigin origin;
  origin.engine = key.engine;
  origin.depth = key.depth;
  json.at("direct").get_to(origin.direct);
  json.at("buffer_bytes").get_to(origin.buffer_bytes);
  json.at("why_no_write").get_to(origin.why_no_write);
  origin.measured =
      std::chrono::sys_seconds(std::chrono::seconds(json.at("measured_unix").get<std::int64_t>()));
  return Entry{std::move(key), DiskProfile(rates, std::move(origin))};
}

/// What of the file is whole. A cache that cannot be read is an empty one: it is made again.
std::vector<Entry> read_entries(const fs::path& file) {
  std::vector<Entry> entries;
  const auto text = read_text_file(file, kMaxFileBytes);
  if (!text) return entries;
  const Json json = Json::parse(text.value(), nullptr, false);
  if (!json.is_object() || !json.contains("version") || !json.contains("disks") ||
      json.at("version") != DiskCache::kVersion)
    return entries;
  for (const Json& disk : json.at("disks")) {
    try {
      if (auto entry = from_json(disk)) entries.push_back(*std::move(entry));
    } catch (const Json::exception&) {
      continue;  // damaged: as if it were not there
    }
  }
  return entries;
}

std::chrono::sys_seconds age_base(const Entry& entry) {
  return entry.profile.origin().measured;
}

}  // namespace

Result<DiskKey> disk_key(const fs::path& place, std::string_view engine, std::size_t depth) {
  struct stat status {};
  struct statfs system {};
  if (::stat(place.c_str(), &status) != 0 || ::statfs(place.c_str(), &system) != 0)
    return system_error(errno, "cannot look at", place);
  struct utsname kernel {};
  ::uname(&kernel);  // fails on an invalid pointer only
  return DiskKey{fmt::format("{}:{}", major(status.st_dev), minor(status.st_dev)),
                 file_system_name(static_cast<std::uint64_t>(system.f_type)),
                 std::string(engine),
                 depth,
                 kernel.release};
}

fs::path default_disk_cache() {
  const auto folder_in = [](const char* variable) {
    const char* value = std::getenv(variable);
    return value == nullptr ? fs::path() : fs::path(value);
  };
  // The XDG specification has relative paths ignored.
  fs::path base = folder_in("XDG_CACHE_HOME");
  if (!base.is_absolute()) {
    base = folder_in("HOME");
    if (!base.is_absolute()) return {};
    base /= ".cache";
  }
  return base / "sluice" / "disks.json";
}

std::optional<DiskProfile> DiskCache::find(const DiskKey& key,
                                           std::chrono::sys_seconds now,
                                           std::uint64_t buffer_bytes) const {
  for (Entry& entry : read_entries(file_)) {
    if (entry.profile.origin().buffer_bytes < buffer_bytes) continue;
    const auto age = now - age_base(entry);
    // A time in the future is a clock that was set back.
    if (entry.key == key && age <= kMaxAge && age >= -std::chrono::days(1))
      return std::move(entry.profile);
  }
  return std::nullopt;
}

Result<void> DiskCache::store(const DiskKey& key, const DiskProfile& profile) {
  try {
    fs::create_directories(file_.parent_path());
    // AtomicFile wants one writer at a time, and two that read and write would lose an entry.
    const auto lock = DirectoryLock::try_lock(file_.parent_path());
    if (!lock) {
      return Error(ErrorCode::kIo,
                   "another process is writing the disk cache",
                   "nothing to do: the disk is measured again next time",
                   Place{file_.string(), -1, -1, -1});
    }
    std::vector<Entry> entries = read_entries(file_);
    std::erase_if(entries, [&](const Entry& entry) {
      return entry.key == key || profile.origin().measured - age_base(entry) > kMaxAge;
    });
    entries.push_back({key, profile});
    std::ranges::stable_sort(entries, std::greater{}, age_base);
    if (entries.size() > kMaxEntries) entries.erase(entries.begin() + kMaxEntries, entries.end());
    Json disks = Json::array();
    for (const Entry& entry : entries) disks.push_back(to_json(entry));
    write_text_file(file_, json_text(Json{{"version", kVersion}, {"disks", disks}}, 2) + "\n");
    return {};
  } catch (const Error& error) {
    return error;
  } catch (const fs::filesystem_error& error) {
    return system_error(error.code().value(), "cannot make the folder", file_.parent_path());
  }
}

Result<FoundDisk> find_disk_profile(const fs::path& place,
                                    const DiskProbeOptions& options,
                                    MemoryLedger* ledger,
                                    const fs::path& cache) {
  // The engine that reads will have: "auto" depends on what the system lets us.
  std::optional<DiskKey> key;
  {
    auto engine = make_io_engine(options.engine);
    if (!engine) return std::move(engine).error();
    const IoEngine& made = *engine.value().engine;
    auto found = disk_key(place, made.name(), made.depth());
    if (!found) return std::move(found).error();
    key = std::move(found).value();
  }
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  DiskCache remembered(cache);
  if (!cache.empty()) {
    if (auto profile = remembered.find(*key, now, options.buffer_bytes))
      return FoundDisk{*std::move(profile), true, {}};
  }
  auto measured = DiskProfile::measure(place, options, ledger);
  if (measured && !measured.value().origin().doubt.empty())
    measured = DiskProfile::measure(place, options, ledger);
  if (!measured) return std::move(measured).error();
  FoundDisk found{std::move(measured).value(), false, {}};
  if (cache.empty()) return found;
  const DiskOrigin& origin = found.profile.origin();
  if (!origin.doubt.empty()) {
    found.warning = "the disk's figures are in doubt and not remembered: " + origin.doubt;
  } else if (!origin.why_no_write.empty()) {
    found.warning = "the disk's figures are not remembered, as writing could not be measured: " +
                    origin.why_no_write;
  } else if (auto stored = remembered.store(*key, found.profile); !stored) {
    found.warning =
        fmt::format("the disk's figures cannot be remembered: {}", stored.error().what());
  }
  return found;
}

}  // namespace sluice
