// Spans as comma-separated values (RFC 4180), one line each, for spreadsheets and pandas.
#pragma once
#include <ostream>
#include <string_view>

#include "core/record/run_record.h"

namespace tandem {

inline constexpr std::string_view csv_heading =
    "span,rank,lane,stage,device,node,step,start_s,end_s,duration_s,label,phase,kind,microbatch,message,chunk,"
    "held_by,cause,detail,"
    "flops,bytes,group_size";

// Under csv_heading. Empty fields: no microbatch, no message, no cause. Numbers in their shortest exact form.
void write_csv(const RunRecord&, std::ostream&);

}  // namespace tandem
