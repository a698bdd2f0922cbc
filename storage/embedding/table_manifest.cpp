#include "storage/embedding/table_manifest.h"

#include "core/json_text.h"
#include "storage/checkpoint/container.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

namespace sluice {
namespace {

using TableJson = nlohmann::ordered_json;

constexpr const char* kTableFormat = "sluice-embedding";
constexpr std::string_view kNameBegins = "rows-";
constexpr std::string_view kNameEnds = ".ckpt";
// Beyond what any table has: what is larger is no number of rows, or of floats in one.
constexpr std::uint64_t kMostRows = std::uint64_t{1} << 48;
constexpr std::uint32_t kMostFloats = 1 << 24;

// The generation that a file's name says, if it is a manifest's.
std::optional<std::uint64_t> generation_of(const std::string& name) {
  if (!name.starts_with(kNameBegins) || !name.ends_with(kNameEnds)) return std::nullopt;
  const char* begin = name.data() + kNameBegins.size();
  const char* end = name.data() + name.size() - kNameEnds.size();
  std::uint64_t generation = 0;
  const auto [parsed, problem] = std::from_chars(begin, end, generation);
  if (problem != std::errc{} || parsed != end || generation == 0) return std::nullopt;
  return generation;
}

Error not_a_table(const std::filesystem::path& path, std::string what) {
  return Error(ErrorCode::kData,
               std::move(what),
               "use another generation of the table, or train it again",
               Place{path.string(), -1, -1, -1});
}

void check_shapes(const TableManifest& manifest, const std::filesystem::path& path) {
  const auto shaped = [](const Array& list, std::uint64_t items) {
    return list.shape().size() == 1 && std::cmp_equal(list.numel(), items);
  };
  const auto known = [](std::uint8_t side) { return side < kMostSides || side == kNoSide; };
  // What is looked into has the shape and the type that it should.
  if (!shaped(manifest.sides, manifest.layout.groups()) ||
      !shaped(manifest.page_sums, manifest.layout.pages()) ||
      manifest.sides.dtype() != DType::kU8 || manifest.page_sums.dtype() != DType::kU32 ||
      !std::ranges::all_of(manifest.sides.as<std::uint8_t>(), known))
    throw not_a_table(path, "what the table is does not fit its page lists");
}

}  // namespace

std::filesystem::path manifest_path(const std::filesystem::path& folder, std::uint64_t generation) {
  return folder / fmt::format("{}{:06}{}", kNameBegins, generation, kNameEnds);
}

std::filesystem::path side_path(const std::filesystem::path& folder, std::uint8_t side) {
  return folder / fmt::format("side-{}.rows", side);
}

std::vector<std::uint64_t> list_generations(const std::filesystem::path& folder) {
  std::vector<std::uint64_t> generations;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing))
    if (const auto generation = generation_of(entry.path().filename().string()))
      generations.push_back(*generation);
  std::ranges::sort(generations);
  return generations;
}

std::uint64_t write_manifest(const std::filesystem::path& folder, const TableManifest& manifest) {
  const TableJson state = {{"format", kTableFormat},
                           {"version", kTableVersion},
                           {"generation", manifest.generation},
                           {"rows", manifest.layout.rows},
                           {"dim", manifest.layout.dim},
                           {"state", manifest.layout.state},
                           {"optimizer", manifest.optimizer},
                           {"initial", manifest.initial}};
  return write_checkpoint(
      manifest_path(folder, manifest.generation),
      {json_text(state), {{"sides", manifest.sides}, {"page_sums", manifest.page_sums}}});
}

TableManifest read_manifest(const std::filesystem::path& folder,
                            std::uint64_t generation,
                            MemoryLedger* ledger) {
  const std::filesystem::path path = manifest_path(folder, generation);
  CheckpointContent content = read_checkpoint(path, ledger).or_throw();
  try {
    const TableJson state = TableJson::parse(content.state);
    if (state.at("format").get<std::string>() != kTableFormat)
      throw not_a_table(path, "this is no generation of an embedding table");
    if (const int version = state.at("version").get<int>(); version > kTableVersion) {
      throw Error(
          ErrorCode::kUsage,
          fmt::format(
              "the table is of version {}; this program reads up to {}", version, kTableVersion),
          "use a newer Sluice",
          Place{path.string(), -1, -1, -1});
    }
    TableManifest manifest;
    manifest.generation = state.at("generation").get<std::uint64_t>();
    const auto rows = state.at("rows").get<std::uint64_t>();
    const auto dim = state.at("dim").get<std::uint32_t>();
    const auto state_width = state.at("state").get<std::uint32_t>();
    if (rows == 0 || rows > kMostRows || dim == 0 || dim > kMostFloats ||
        state_width > kMostFloats || generation != manifest.generation ||
        content.tensors.size() != 2)
      throw not_a_table(path, "what the table is makes no sense");
    manifest.layout = RowLayout::make(rows, dim, state_width);
    manifest.optimizer = state.at("optimizer").get<std::string>();
    manifest.initial = state.at("initial").get<std::string>();
    manifest.sides = std::move(content.tensors[0].value);
    manifest.page_sums = std::move(content.tensors[1].value);
    check_shapes(manifest, path);
    return manifest;
  } catch (const TableJson::exception& problem) {
    throw not_a_table(path, fmt::format("what the table is makes no sense: {}", problem.what()));
  }
}

std::uint64_t newest_readable(const std::filesystem::path& folder,
                              std::uint64_t but_for,
                              MemoryLedger* ledger) {
  std::vector<std::uint64_t> generations = list_generations(folder);
  std::ranges::reverse(generations);
  for (const std::uint64_t generation : generations) {
    if (generation == but_for) continue;
    try {
      (void)read_manifest(folder, generation, ledger);
      return generation;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kData && error.code() != ErrorCode::kUsage) throw;
    }
  }
  return 0;
}

}  // namespace sluice
