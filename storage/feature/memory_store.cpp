#include "storage/feature/memory_store.h"

#include "storage/feature/gather_check.h"
#include "storage/format/data_file_reader.h"

#include <cstring>

namespace sluice {

std::unique_ptr<MemoryFeatureStore> MemoryFeatureStore::load(const std::filesystem::path& root,
                                                             const Manifest& manifest,
                                                             const FeatureSchema& schema,
                                                             const std::string& path,
                                                             const DatasetOptions& options,
                                                             IoChoice io,
                                                             std::shared_ptr<HostPinning> device) {
  auto store = std::make_unique<MemoryFeatureStore>();
  store->schema_ = schema;
  store->layout_ = Manifest::layout_of(schema);
  store->table_ =
      AlignedBuffer::make(store->layout_.file_bytes(), options.ledger, "features").or_throw();
  fill_from_file(root, manifest, path, store->table_.bytes(), options, io).or_throw();
  // Not before: its pages are made by several threads while it is read.
  store->pinned_ = Pinned(std::move(device), store->table_.bytes());
  return store;
}

Result<void> MemoryFeatureStore::gather(const GatherRequest& request) {
  const std::size_t row_bytes = layout_.row_bytes;
  if (auto checked = check_gather(schema_, row_bytes, request); !checked) return checked;
  for (std::size_t i = 0; i < request.rows.size(); ++i) {
    const std::size_t place = request.places.empty() ? i : request.places[i];
    std::memcpy(request.out.data() + place * row_bytes,
                table_.data() + layout_.offset_of(request.rows[i]),
                row_bytes);
  }
  stats_.rows += request.rows.size();
  stats_.bytes_useful += request.rows.size() * row_bytes;
  return {};
}

}  // namespace sluice
