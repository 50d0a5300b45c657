#include "store/memory_store.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "base/check.h"

namespace seedbed {

class MemoryStore : public Store {
 public:
  explicit MemoryStore(std::shared_ptr<MemoryDisk> disk) : disk_(std::move(disk)) {}

  Status commit(const std::vector<Entry>& entries) override {
    SEEDBED_CHECK(!closed_);
    if (disk_->full_) {
      return fail(ErrorCode::machine,
                  "while writing the records: database or disk is full; make room on the disk");
    }
    disk_->entries_.insert(disk_->entries_.end(), entries.begin(), entries.end());
    return {};
  }

  Status sync() override {
    if (disk_->sync_fails_ || sync_failed_) {
      sync_failed_ = true;
      return fail(ErrorCode::machine, "while syncing the records: input/output error");
    }
    disk_->synced_ = disk_->entries_.size();
    return {};
  }

  Status load_records(const std::function<void(const Entry&)>& take) const override {
    for (const Entry& entry : disk_->entries_) {
      if (!std::holds_alternative<MetricsReported>(entry.record)) take(entry);
    }
    return {};
  }

  Status load_points(const std::string& metric,
                     const std::function<void(const Entry&)>& take) const override {
    MetricsReported points;
    for (const Entry& entry : disk_->entries_) {
      const auto* report = std::get_if<MetricsReported>(&entry.record);
      if (report == nullptr) continue;
      for (const MetricPoint& point : report->points) {
        if (point.name != metric) continue;
        if (points.attempt != report->attempt) give(points, take);
        points.attempt = report->attempt;
        points.points.push_back(point);
      }
    }
    give(points, take);
    return {};
  }

  Result<std::vector<SourcePosition>> positions(AttemptId attempt) const override {
    std::map<std::string, SourcePosition> latest;
    for (const Entry& entry : disk_->entries_) {
      const auto* report = std::get_if<MetricsReported>(&entry.record);
      if (report == nullptr || report->attempt != attempt) continue;
      for (const SourcePosition& position : report->positions) latest[position.source] = position;
    }
    std::vector<SourcePosition> positions;
    for (auto& [source, position] : latest) positions.push_back(std::move(position));
    return positions;
  }

  Status close() override {
    if (closed_) return {};
    closed_ = true;
    return sync_failed_ ? Status() : sync();
  }

 private:
  static void give(MetricsReported& points, const std::function<void(const Entry&)>& take) {
    if (!points.points.empty()) {
      const Timestamp at = points.points.back().at;
      take(Entry{at, std::move(points)});
    }
    points = {};
  }

  std::shared_ptr<MemoryDisk> disk_;
  bool closed_ = false;
  bool sync_failed_ = false;
};

std::unique_ptr<Store> make_memory_store(std::shared_ptr<MemoryDisk> disk) {
  return std::make_unique<MemoryStore>(std::move(disk));
}

}  // namespace seedbed
