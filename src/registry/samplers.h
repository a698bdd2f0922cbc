// The built-in samplers: where their names meet their types. Without LibTorch, and without Arrow.
#pragma once

#include <sluice/sampler.h>

namespace sluice {

SamplerCatalog builtin_samplers();

}  // namespace sluice
