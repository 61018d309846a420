// Packed weights: the rows of a matrix in groups of `lanes`, as many as the vectors of an instruction set
// have lanes. A block of a group holds each field (4 or 2 bytes, DTypeInfo::halves) of its rows side by side,
// so that one load brings it for all of them: field `offset` of row r is at offset * lanes + r * (field
// bytes). The blocks of a group follow one another, then comes the next group; rows that lack in the last one
// are zero. Nothing is lost and nothing grows.
#pragma once
#include "quant/dtype.h"

namespace g4 {
// Packs the groups [first_group, end_group) of w, which may be packed for another number of lanes, to their
// places in `out`, which holds all of w packed; lanes == 1: rows one after the other, as in a GGUF file.
void pack_groups(const Matrix& w, size_t lanes, size_t first_group, size_t end_group, uint8_t* out);

// The values [cols] of row r of a matrix, packed or not.
void decode_row(const Matrix& w, size_t r, float* values);
}  // namespace g4
