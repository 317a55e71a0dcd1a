// [[profile]] and [[cores]] rows of a calibration file.
#pragma once
#include "core/cost/calibration.h"
#include "core/cost/row_reader.h"

namespace tandem {

// All but the source, which every row has. Problems are noted in the reader.
ProfileRow read_profile_row(RowReader&);
CoresRow read_cores_row(RowReader&);

}  // namespace tandem
