#include "cli/print_table.h"

#include <unistd.h>

#include <cstdio>

#include "reporters/output.h"

namespace seedbed {

void print_table(const Table& table, const std::string& output) {
  std::string text;
  if (output == "json") {
    text = json_table(table);
  } else if (output == "jsonl") {
    text = json_lines_table(table);
  } else if (output == "csv") {
    text = csv_table(table);
  } else {
    auto terminal = make_descriptor_output(STDOUT_FILENO, terminal_words_of_environment());
    TextTableOptions options;
    options.width = terminal->is_terminal() ? terminal->width() : 0;
    options.colour = terminal->colour();
    text = text_table(table, options);
  }
  if (!text.empty() && text.back() != '\n') text += '\n';
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace seedbed
