#pragma once

#include <string>

#include "reporters/table.h"

namespace seedbed {

/// Prints a table on standard output in the form asked for: text (fitted to the terminal), json,
/// jsonl or csv.
void print_table(const Table& table, const std::string& output);

}  // namespace seedbed
