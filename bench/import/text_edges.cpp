#include "bench/import/text_edges.h"

#include "core/threads.h"
#include "prep/generate/rmat.h"
#include "storage/io/file.h"

#include <fmt/compile.h>
#include <fmt/format.h>
#include <sluice/random.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace sluice::bench {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{1} << 17;  // edges that are put into text at a time

void put(std::string& text, std::uint64_t node, IdText ids) {
  if (ids == IdText::kDense) {
    fmt::format_to(std::back_inserter(text), FMT_COMPILE("{}"), node);
  } else {
    // Names in no order of their numbers, as users' are.
    fmt::format_to(
        std::back_inserter(text), FMT_COMPILE("u{:010x}"), RandomKey(node).draw(0) >> 24);
  }
}

}  // namespace

std::uint64_t write_text_edges(const std::filesystem::path& path,
                               std::uint64_t scale,
                               std::uint64_t edges,
                               IdText ids,
                               std::uint64_t threads) {
  RmatGenerator::Options options;
  options.scale = static_cast<std::int64_t>(scale);
  const RmatDraw draw(options);
  ThreadArena arena(static_cast<int>(threads));
  File file = File::create(path).or_throw();
  std::string head = "src,dst\n";
  file.write_at(0, std::as_bytes(std::span(head))).or_throw();
  std::uint64_t at = head.size();
  std::vector<std::string> texts(2 * threads);
  for (std::uint64_t first = 0; first < edges; first += kPiece * texts.size()) {
    arena.for_each(texts.size(), [&](std::size_t i) {
      texts[i].clear();
      const std::uint64_t begin = first + i * kPiece;
      for (std::uint64_t edge = begin; edge < std::min(begin + kPiece, edges); ++edge) {
        const auto [source, target] = draw(edge);
        put(texts[i], source, ids);
        texts[i] += ',';
        put(texts[i], target, ids);
        texts[i] += '\n';
      }
    });
    for (const std::string& text : texts) {
      file.write_at(at, std::as_bytes(std::span(text))).or_throw();
      at += text.size();
    }
  }
  file.close().or_throw();
  return at;
}

}  // namespace sluice::bench
