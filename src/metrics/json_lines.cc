#include <fmt/format.h>

#include "base/text.h"
#include "metrics/object_scan.h"
#include "metrics/parsers.h"
#include "metrics/piece_splitter.h"
#include "metrics/point_sink.h"

// JSON lines: one object per line, `{"step": 1, "loss": 0.5}`.
//
//  - nested objects give dotted names; true and false are 1 and 0; null and lists are left out;
//    strings are left out with a note, unless they spell NaN or an infinity
//  - the bare words NaN, Infinity, -Infinity are accepted, as Python's json module writes them
//  - several objects on one line are several rows (two writes without a line end between them)
//  - a line that is no object is left out with a note, but what follows a torn object on the same
//    line is still read: the writer was killed in the middle, and its successor went on
//  - the last line counts when its end has come, or when the file is finished and it is complete
//  - a line longer than 64 KiB is left out with a note

namespace seedbed {
namespace {

constexpr std::string_view kStateKind = "jsonl1";
constexpr int kMostTries = 16;  // at one torn line

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\0'; }

class JsonLinesParser : public MetricParser {
 public:
  void feed(std::string_view bytes, std::vector<ParsedPoint>& points) override {
    splitter_.feed(bytes, [&](std::string_view text, bool whole) { line(text, whole, points); });
  }

  void finish(std::vector<ParsedPoint>& points) override {
    splitter_.finish([&](std::string_view text, bool whole) { line(text, whole, points); });
    sink_.finish(points);
  }

  void restart() override {
    splitter_.clear();
    sink_.restart();
  }

  std::string state() const override {
    StateWriter state;
    state.text(kStateKind);
    splitter_.save(state);
    sink_.save(state);
    return state.take();
  }

  Status restore(std::string_view text) override {
    StateReader state(text);
    const bool known = state.text() == kStateKind;
    splitter_.load(state);
    sink_.load(state);
    if (known && state.at_end()) return {};
    return fail(ErrorCode::damaged,
                "the stored reading position of a JSON-lines file is not understood");
  }

  std::vector<std::string> names() const override { return sink_.names(); }
  void next_attempt() override { sink_.next_attempt(); }
  std::vector<std::string> take_notes() override { return sink_.notes().take(); }

 private:
  void line(std::string_view text, bool whole, std::vector<ParsedPoint>& points) {
    if (!whole) {
      sink_.notes().add("a line longer than 64 KiB was left out");
      return;
    }
    if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
    while (true) {
      while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
      if (text.empty()) return;
      row_.clear();
      std::size_t length = objects_.scan(text, Rule::object, row_);
      if (length == 0) {
        sink_.notes().add("lines that are not one complete JSON object were left out");
        length = after_torn(text);
        if (length == 0) return;
      }
      for (const std::string& name : objects_.text_names()) {
        sink_.notes().add(
            fmt::format("`{}` holds text, which is not a metric", one_line(name, 60)));
      }
      sink_.add_row(row_, std::nullopt, points);
      text.remove_prefix(length);
    }
  }

  /// Reads the object that begins behind a torn one. It has to reach to the end of the line: what
  /// ends earlier may be an inner part of the bad object. 0: there is none.
  std::size_t after_torn(std::string_view text) {
    std::size_t at = 0;
    for (int tries = 0; tries < kMostTries; ++tries) {
      at = text.find("{\"", at + 1);
      if (at == std::string_view::npos) return 0;
      row_.clear();
      const std::size_t length = objects_.scan(text.substr(at), Rule::object, row_);
      if (length > 0 && text.find_first_not_of(" \t\r", at + length) == std::string_view::npos) {
        return text.size();
      }
    }
    return 0;
  }

  PieceSplitter splitter_{false};
  PointSink sink_;
  ObjectScanner objects_;
  Row row_;
};

}  // namespace

std::unique_ptr<MetricParser> make_json_lines_parser() {
  return std::make_unique<JsonLinesParser>();
}

}  // namespace seedbed
