// One rank's part of a checkpoint: its own weights and moments out, those of any plan in.
#pragma once
#include "exec/rank_state.h"
#include "exec/training/checkpoint_reader.h"
#include "exec/training/checkpoint_writer.h"

namespace tandem {

// The fp32 weights and the optimizer's moments that this rank owns, where no other rank owns equal ones.
void save(const RankState&, CheckpointWriter&);

// Everything that this rank holds, in the place of its initial values. InputError as CheckpointReader::read,
// and when the checkpoint is of another optimizer.
void load(RankState&, CheckpointReader&);

}  // namespace tandem
