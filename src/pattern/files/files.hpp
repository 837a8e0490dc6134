// Pattern files: JSON (exact), CSV and Matrix Market. docs/formats/pattern.md describes each.
//
// Contract: a reader takes the whole text and the name of its source, accepts only what the format's page allows,
// and reports the first error as one message with source and place (field path, or line). What a reader returns
// passes `check`. Writers take a checked pattern; reading back what a writer wrote gives the same matrix, and for
// JSON the same pattern.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"
#include "pattern/pattern.hpp"

namespace corewise::pattern {

/// Format "corewise-pattern", version 1.
Result<Pattern> from_json(std::string_view text, std::string_view source);
std::string to_json(const Pattern& pattern);

/// Columns from,to,bytes[,count][,phase]. Phases come in order of their first row. The name is the comment
/// `# name=...`, or the source's file name without its extension.
Result<Pattern> from_csv(std::string_view text, std::string_view source);
/// Phases of equal name become one, phases without messages are left out.
std::string to_csv(const Pattern& pattern);

/// Coordinate format; integer, real (whole numbers only) or pattern (1 byte each); general or symmetric.
Result<Pattern> from_matrix_market(std::string_view text, std::string_view source);
/// Bytes only: counts and phases have no place in this format.
std::string to_matrix_market(const Matrix& matrix);

/// Any of the three, told apart by how the text begins ('{', "%%MatrixMarket", or else CSV).
Result<Pattern> from_text(std::string_view text, std::string_view source);
/// Reads the file, then from_text.
Result<Pattern> from_file(const std::string& path);

}  // namespace corewise::pattern
