// Embeddings of nodes from a file: NumPy's .npy, .csv or .safetensors, as `sluice-train embed`
// writes them, or other programs.
//
//   .npy          [n, d] of f2, f4 or f8, or records: an id (i4, i8 or bytes), then floats
//   .csv          a header id,e0,e1,... and a line a row; without ids a header without them, or
//   none .safetensors  `rows`, f32 [n, d], and `ids`: i64 [n], or u8 with `ids.offsets`, i64 [n +
//   1]
//
// Rows without ids go by the nodes' numbers. Read whole: rows into tensors, which a
// LedgerAllocation charges, and ids beside them, which are charged to a ledger before they are
// kept. Functions throw Error: kIo, kData naming file and line or row, kResource.
#pragma once

#include <sluice/dataset.h>
#include <sluice/memory.h>

#include <torch/torch.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sluice::probe {

/// Charges what ids take, as "embedding ids": some more than is taken, ahead of it.
class IdMemory {
 public:
  IdMemory() = default;  ///< charges nothing
  /// @param ledger null: charges nothing; else outlives this
  explicit IdMemory(MemoryLedger* ledger);
  /// So many bytes are about to be taken. Throws kResource.
  void take(std::uint64_t bytes);

 private:
  Charge charge_;
  bool charges_ = false;
  std::uint64_t taken_ = 0;
};

struct EmbeddingFile {
  using Numbers = std::vector<std::int64_t>;
  using Texts = std::vector<std::string>;

  torch::Tensor rows;                                ///< f32 [m, d]
  std::variant<std::monostate, Numbers, Texts> ids;  ///< by row; none: by node
  IdMemory memory;                                   ///< that the ids take
};

/// By the name's ending; kUsage for another. @param ledger of the ids; null: they are not charged
EmbeddingFile read_embedding_file(const std::filesystem::path& path, MemoryLedger* ledger);

/// f32 [n, d] by node. Each node of the type must have one row, and each row a node.
torch::Tensor read_embeddings(const std::filesystem::path& path,
                              const Dataset& dataset,
                              std::string_view node_type);

// One format each.
EmbeddingFile read_npy_embeddings(const std::filesystem::path& path, MemoryLedger* ledger);
EmbeddingFile read_csv_embeddings(const std::filesystem::path& path, MemoryLedger* ledger);
EmbeddingFile read_safetensors_embeddings(const std::filesystem::path& path, MemoryLedger* ledger);

}  // namespace sluice::probe
