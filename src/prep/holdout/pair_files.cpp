#include "prep/holdout/pair_files.h"

#include "core/csv_line.h"
#include "core/interrupt.h"
#include "storage/io/atomic_file.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <system_error>

namespace sluice {
namespace {

constexpr std::size_t kTextAtOnce = std::size_t{1} << 20;

}  // namespace

void write_pair_file(const std::filesystem::path& path,
                     const PairIds& ids,
                     std::span<const NodePair> links,
                     std::span<const NodePair> others) {
  std::error_code problem;
  std::filesystem::create_directories(path.parent_path(), problem);
  if (problem)
    throw Error(ErrorCode::kIo,
                "cannot make the folder: " + problem.message(),
                "choose another --pairs",
                Place{path.parent_path().string(), -1, -1, -1});
  AtomicFile file(path);
  std::string text = "source,target,label\n";
  const auto add = [&](std::span<const NodePair> pairs, int label) {
    for (const auto& [source, destination] : pairs) {
      text += fmt::format("{},{},{}\n",
                          csv_field(ids.source.text(source)),
                          csv_field(ids.destination.text(destination)),
                          label);
      if (text.size() < kTextAtOnce) continue;
      throw_if_interrupted();
      file.append(text);
      text.clear();
    }
  };
  add(links, 1);
  add(others, 0);
  file.append(text);
  file.commit();
}

}  // namespace sluice
