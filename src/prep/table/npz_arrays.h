// The arrays in an .npz file: what each is, and its elements as a stream. Used by one thread.
#pragma once

#include "core/npy_header.h"
#include "prep/table/zip_archive.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sluice {

struct NpzArray {
  std::string name;  ///< of the member, without ".npy"
  ZipMember member;
  NpyInspection is;  ///< sound

  bool readable() const { return !is.problem; }
};

/// The members of an archive that are .npy files; throws Error(kData) where one is damaged. One of
/// a kind that we do not read is among them, with its problem.
std::vector<NpzArray> list_npz_arrays(const ZipArchive& archive);

/// Gives a column's rows from the first on, as they are stored.
class NpzColumn {
 public:
  virtual ~NpzColumn() = default;
  virtual void read(std::span<std::byte> out) = 0;
};

/// The elements of an array as they are in the file.
class NpzElements final : public NpzColumn {
 public:
  NpzElements(const ZipArchive& archive, const NpzArray& array);
  void read(std::span<std::byte> out) override { stream_.read(out); }

 private:
  ZipStream stream_;
};

/// The rows of an array of [N, 2] in Fortran order: its two columns, read side by side.
class NpzPairs final : public NpzColumn {
 public:
  NpzPairs(const ZipArchive& archive, const NpzArray& array);
  void read(std::span<std::byte> out) override;

 private:
  std::size_t element_;
  ZipStream first_, second_;
};

/// All elements of a small array of integers, the rank aside; throws Error(kData) for another one.
std::vector<std::int64_t> read_npz_integers(const ZipArchive& archive,
                                            const NpzArray& array,
                                            std::uint64_t count);

/// The text that an array of '|S' or '<U' without dimensions holds; empty for another array.
std::string read_npz_text(const ZipArchive& archive, const NpzArray& array);

}  // namespace sluice
