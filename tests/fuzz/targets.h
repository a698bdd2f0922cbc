// All targets, each made in the file of its name.
#pragma once

#include "fuzz/target.h"

namespace sluice::fuzz {

Target npy_target();
Target npz_target();
Target raw_target();
Target manifest_target();
Target checksum_target();
Target csv_target();
Target list_target();
Target triples_target();
Target openke_target();
Target multiplex_target();
Target metis_target();
Target mtx_target();
Target graphs_target();
Target compressed_target();
Target graph_toml_target();
Target layout_target();
Target safetensors_target();

}  // namespace sluice::fuzz
