// Products of bf16 matrices with fp32 sums.
#pragma once
#include "exec/cpu/kernels/element.h"
#include "exec/cpu/kernels/gemm.h"
#include "exec/cpu/kernels/matrix.h"
#include "exec/cpu/kernels/scratch.h"

namespace tandem::cpu {

// c = op(a) op(b), or added to c; Result is Bf16 (rounded once, at the end) or float. Through oneDNN where it
// knows bf16 on this machine, else through fp32 copies.
template <class Result>
void bf16_product(Transpose transpose_a, Matrix<const Bf16> a, Transpose transpose_b, Matrix<const Bf16> b,
                  Write write, Matrix<Result> c, Scratch& scratch);

}  // namespace tandem::cpu
