// Manifest: `manifest.json`, the one file that makes a directory a dataset. Written last; names
// every other file with its size and checksum; carries a checksum of itself. Format: FORMAT.md,
// "Manifest".
#pragma once

#include "storage/format/layout.h"

#include <sluice/error.h>
#include <sluice/graph_schema.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace sluice {

struct FileEntry {
  std::string path;          ///< below the dataset directory, '/'-separated
  std::uint64_t bytes = 0;   ///< size of the file, a whole number of pages
  std::uint64_t digest = 0;  ///< ChecksumFile::digest
};

struct Manifest {
  int version = kFormatVersion;  ///< of the text this was read from
  std::uint64_t generation = 1;  ///< grows by one with each change to the dataset
  std::string created_by;        ///< tool, version and command, for people
  std::uint64_t checksum = 0;    ///< of the text this was read from; 0 for one that was not read
  GraphSchema schema;
  std::map<std::string, FileEntry> files;  ///< by path

  /// The layout of a feature table of this manifest's schema.
  static FeatureLayout layout_of(const FeatureSchema& features);

  /// The oldest format version that has what the schema says: 7 with sparse rows or listed nodes; 6
  /// with appended edges that have times; 5 with a scaled or filled feature table; 4 with edge
  /// weights, features or labels, times of nodes, named classes, splits of edges or many graphs; 3
  /// with times or appended edges; 2 with a bf16 or int8 table; else 1.
  static int version_of(const GraphSchema& schema);

  /// Serialized text with its checksum in place; its version is `version_of(schema)`.
  std::string to_text() const;

  /// Checks the checksum, the version, and that every key is there and sane. Errors are kData and
  /// name `file`.
  static Result<Manifest> from_text(const std::string& text, const std::string& file);

  /// Reads DATASET/manifest.json; a directory without one is "not a dataset".
  static Result<Manifest> load(const std::filesystem::path& dataset);
};

}  // namespace sluice
