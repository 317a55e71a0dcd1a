// The Boost.Graph type behind ModelGraph: operators at the vertices, the tensors they hand on at the edges.
#pragma once
#include <boost/graph/adjacency_list.hpp>

#include "core/model/operator.h"

namespace tandem {

struct Dag : boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, Operator, TensorId> {};

}  // namespace tandem
