#include "storage/format/dataset_writer.h"

#include <utility>

namespace sluice {

DatasetWriter::DatasetWriter(const std::filesystem::path& target,
                             Overwrite overwrite,
                             MemoryLedger* ledger)
    : ledger_(ledger), staging_(target, overwrite) {}

std::unique_ptr<DataFileWriter> DatasetWriter::create(const std::string& path) {
  return std::make_unique<DataFileWriter>(staging_.path(), path, ledger_);
}

void DatasetWriter::add(std::unique_ptr<DataFileWriter> file) {
  FileEntry entry = file->finish();
  bytes_ += entry.bytes;
  manifest_.files.emplace(entry.path, std::move(entry));
}

void DatasetWriter::commit(std::string created_by) {
  manifest_.created_by = std::move(created_by);
  const std::string text = manifest_.to_text();
  File file = File::create(staging_.path() / kManifestName).or_throw();
  file.write_at(0, std::as_bytes(std::span(text))).or_throw();
  file.sync().or_throw();
  file.close().or_throw();
  staging_.commit();
}

}  // namespace sluice
