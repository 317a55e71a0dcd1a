// Parts of reading a config.json that decide what each layer is; faults are collected in the file.
#pragma once
#include "core/model/config_file.h"
#include "core/model/model_family.h"
#include "core/model/model_spec.h"

namespace tandem {

// A family without a name is that of an unknown model_type: its file must say what has no default.
void read_activation(ConfigFile&, const ModelFamily&, ModelSpec&);  // and whether the MLP is gated
void read_windows(ConfigFile&, const ModelFamily&, ModelSpec&);     // needs num_hidden_layers
void read_experts(ConfigFile&, const ModelFamily&, ModelSpec&);  // needs num_hidden_layers, intermediate_size

}  // namespace tandem
