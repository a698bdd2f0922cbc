// sluice._core: what of the engine the Python package is made of. Pure Python in python/sluice/
// gives it its shape; nothing else imports it.
#include "bindings.h"
#include "core/cpu_isa.h"
#include "feed/feed_options.h"
#include "interrupts.h"
#include "registry.h"

#include <sluice/registry.h>

#include <cstdlib>

#include <nanobind/stl/string.h>

namespace sluice::python {

const FeedRegistry& registry() {
  static const FeedRegistry all{builtin_samplers(), builtin_caches()};
  return all;
}

}  // namespace sluice::python

NB_MODULE(_core, module) {
  using namespace sluice;
  module.doc() = "The engine beneath the package; use `sluice` itself.";
  python::add_errors(module);
  choose_cpu_isa(cpu_features(), std::getenv(kMaxCpuIsaVariable)).or_throw();
  python::add_dataset(module);
  python::add_batch(module);
  python::add_loader(module);
  module.def("join", &python::join_left_behind, "Waits for what Ctrl-C left behind.");
  module.def(
      "options",
      [] {
        FeedOptions options(python::registry());
        Schema schema;
        options.describe(schema);
        return schema.reference();
      },
      "Every option of a loader with its type, default, range and meaning, as text.");
  module.attr("__version__") = SLUICE_VERSION;
}
