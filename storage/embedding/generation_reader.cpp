#include "storage/embedding/generation_reader.h"

#include "storage/io/engine_kind.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <vector>

namespace sluice {
namespace {

std::unique_ptr<IoEngine> reading_engine() {
  IoEngineOptions engine;
  engine.kind = engine_kind(IoChoice::kAuto);
  return make_io_engine(engine).or_throw().engine;
}

}  // namespace

GenerationReader::GenerationReader(const std::filesystem::path& folder, std::uint64_t generation) {
  const TableManifest manifest = read_manifest(folder, generation, nullptr);
  const auto initial = InitialValues::described(manifest.initial);
  if (!initial)
    throw Error(ErrorCode::kUsage,
                "rows of this embedding table that were never trained stand in another file: " +
                    manifest.initial,
                "read it with the config that it was made with",
                Place{folder.string(), -1, -1, -1});
  store_ = std::make_unique<GroupStore>(
      GroupStoreOptions{
          folder, manifest.layout, manifest.optimizer, reading_engine, nullptr, TableAccess::kRead},
      *initial,
      &manifest);
  sweep_ = std::make_unique<GroupSweep>(*store_);
}

void GenerationReader::read(std::uint64_t first, std::span<float> out) {
  const std::uint64_t count = out.size() / dim();
  if (out.size() % dim() != 0 || first > rows() || count > rows() - first)
    throw Error(ErrorCode::kInternal,
                fmt::format("{} values from row {} on are to be read of an embedding table of {} "
                            "rows of {}",
                            out.size(),
                            first,
                            rows(),
                            dim()),
                "ask for whole rows that it has");
  std::vector<RowMove> reads;
  reads.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) reads.push_back({first + i, out.data() + i * dim()});
  sweep_->read(reads, dim());
}

}  // namespace sluice
