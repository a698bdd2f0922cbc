#include "core/cgroup.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

namespace sluice {
namespace {

namespace fs = std::filesystem;

// cgroup v1 writes "no limit" as a page-rounded LONG_MAX.
constexpr std::uint64_t kNoLimitV1 = std::uint64_t{1} << 60;

std::optional<std::string> read_text(const fs::path& path) {
  std::ifstream in(path);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{}) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> read_number(const fs::path& path) {
  const auto text = read_text(path);
  return text ? parse_number(*text) : std::nullopt;
}

// The number behind `key` in a "key value" file (memory.stat, /proc/self/status with its
// "key:\tvalue kB").
std::optional<std::uint64_t> read_field(const fs::path& path, std::string_view key) {
  const auto text = read_text(path);
  if (!text) return std::nullopt;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (line.size() > key.size() && line.compare(0, key.size(), key) == 0 &&
        (line[key.size()] == ' ' || line[key.size()] == ':')) {
      return parse_number(std::string_view(line).substr(key.size() + 1));
    }
  }
  return std::nullopt;
}

struct Membership {
  int version;
  std::string group;  // path below the hierarchy's mount
};

std::optional<Membership> find_membership(const fs::path& root) {
  const auto text = read_text(root / "proc/self/cgroup");
  if (!text) return std::nullopt;
  std::optional<Membership> unified;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string controllers = line.substr(first, second - first);  // ":cpu,memory"
    controllers.front() = ',';
    controllers += ',';
    if (controllers.find(",memory,") != std::string::npos)
      return Membership{1, line.substr(second + 1)};
    if (controllers == ",,") unified = Membership{2, line.substr(second + 1)};
  }
  return unified;
}

struct Mount {
  fs::path point;    // where the hierarchy is mounted
  std::string base;  // which group of the hierarchy is mounted there
};

std::optional<Mount> find_mount(const fs::path& root, int version) {
  const auto text = read_text(root / "proc/self/mountinfo");
  if (!text) return std::nullopt;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<std::string> field;
    for (std::string word; words >> word;) field.push_back(word);
    const auto dash = std::find(field.begin(), field.end(), "-");
    if (field.size() < 6 || field.end() - dash < 4) continue;
    const std::string& type = *(dash + 1);
    const std::string options = "," + *(dash + 3) + ",";
    const bool matches = version == 2
                             ? type == "cgroup2"
                             : type == "cgroup" && options.find(",memory,") != std::string::npos;
    if (matches) return Mount{fs::path(field[4]), field[3]};
  }
  return std::nullopt;
}

}  // namespace

CgroupMemory read_cgroup_memory(const fs::path& root) {
  CgroupMemory memory;
  const auto membership = find_membership(root);
  if (!membership) return memory;
  const auto mount = find_mount(root, membership->version);
  if (!mount) return memory;

  // A container often mounts its own group as the root of the hierarchy: strip that base from the
  // path.
  std::string group = membership->group;
  if (mount->base != "/" && group.compare(0, mount->base.size(), mount->base) == 0) {
    group = group.substr(mount->base.size());
  }
  const fs::path top = root / mount->point.relative_path();
  fs::path own = top / fs::path(group).relative_path();
  std::error_code ignored;
  if (!fs::exists(own, ignored)) own = top;

  const bool v2 = membership->version == 2;
  const char* limit_file = v2 ? "memory.max" : "memory.limit_in_bytes";
  memory.usage = read_number(own / (v2 ? "memory.current" : "memory.usage_in_bytes")).value_or(0);
  memory.anonymous = read_field(own / "memory.stat", v2 ? "anon" : "total_rss").value_or(0);
  if (v2 && !fs::exists(own / "memory.max", ignored) && own == top)
    return memory;  // no memory controller here
  memory.version = membership->version;
  memory.path = own.string();
  for (fs::path at = own;; at = at.parent_path()) {
    const auto limit = read_number(at / limit_file);  // "max" is no number: no limit
    if (limit && *limit < kNoLimitV1 && (memory.limit == 0 || *limit < memory.limit)) {
      memory.limit = *limit;
      memory.path = at.string();
    }
    if (at == top || !at.has_relative_path()) break;
  }
  return memory;
}

std::uint64_t memory_granted(const fs::path& root) {
  const std::uint64_t physical = read_field(root / "proc/meminfo", "MemTotal").value_or(0) * 1024;
  const std::uint64_t limit = read_cgroup_memory(root).limit;
  if (limit == 0) return physical;
  return physical == 0 ? limit : std::min(limit, physical);
}

ProcessMemory read_process_memory(const fs::path& root) {
  const fs::path status = root / "proc/self/status";
  return {read_field(status, "VmRSS").value_or(0) * 1024,
          read_field(status, "VmHWM").value_or(0) * 1024,
          read_field(status, "RssAnon").value_or(0) * 1024};
}

}  // namespace sluice
