// Sums, copies and scalings of whole tensors, bound by memory traffic. Results may lie where an operand of
// their type does.
#pragma once
#include <cstdint>

#include "exec/cpu/kernels/element.h"

namespace tandem::cpu {

template <class T>
void add(std::int64_t count, const T* a, const T* b, T* y);
template <class T>
void add(std::int64_t count, const T* a, const T* b, const T* c, T* y);
// y += x; also fp32 += Bf16.
template <class From, class To>
void add_in_place(std::int64_t count, const From* x, To* y);
// y [rows, width] += bias [width] in each row.
template <class T>
void add_bias(std::int64_t rows, std::int64_t width, const T* bias, T* y);

// y = x, converted where the types differ.
template <class From, class To>
void copy(std::int64_t count, const From* x, To* y);
template <class T>
void fill_zero(std::int64_t count, T* y);

// y = factor x.
template <class T>
void scale(std::int64_t count, float factor, const T* x, T* y);
// y[i, :] = x[i, :] factors[i], x and y [rows, width].
template <class T>
void scale_rows(std::int64_t rows, std::int64_t width, const T* x, const T* factors, T* y);
// dx as scale_rows of dy; dfactors[i] = sum of x[i, :] dy[i, :].
template <class T>
void scale_rows_backward(std::int64_t rows, std::int64_t width, const T* x, const T* factors, const T* dy,
                         T* dx, T* dfactors);

}  // namespace tandem::cpu
