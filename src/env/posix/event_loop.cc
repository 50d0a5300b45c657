#include <signal.h>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/thread_pool.hpp>
#include <map>
#include <utility>

#include "base/check.h"
#include "env/posix/posix.h"

namespace seedbed {
namespace {

constexpr std::size_t kWorkers = 4;  // a slow fit or query must not hold up the record's sync

class AsioEventLoop : public EventLoop {
 public:
  ~AsioEventLoop() override {
    if (workers_) {
      workers_->stop();
      workers_->join();
    }
    while (!watches_.empty()) unwatch(watches_.begin()->first);
  }

  void post(Callback callback) override { asio::post(io_, std::move(callback)); }

  TimerId call_after(Milliseconds delay, Callback callback) override {
    const TimerId id = ++last_timer_;
    auto timer = std::make_unique<asio::steady_timer>(io_, delay);
    // Looked up by id: a timer cancelled after it expired has its handler queued already.
    timer->async_wait([this, id, callback = std::move(callback)](const asio::error_code&) {
      const auto found = timers_.find(id);
      if (found == timers_.end()) return;
      timers_.erase(found);
      callback();
    });
    timers_.emplace(id, std::move(timer));
    return id;
  }

  void cancel(TimerId timer) override { timers_.erase(timer); }

  void run_in_background(Callback work, Callback done) override {
    if (!workers_) start_workers();
    asio::post(*workers_, [this, work = std::move(work), done = std::move(done)]() mutable {
      work();
      post(std::move(done));
    });
  }

  void watch_readable(int descriptor, Callback callback) override {
    SEEDBED_CHECK(!watches_.contains(descriptor));
    auto watch = std::make_shared<Watch>(Watch{asio::posix::stream_descriptor(io_), {}, true});
    watch->callback = std::move(callback);
    asio::error_code failed;
    watch->stream.assign(descriptor, failed);
    SEEDBED_CHECK(!failed);
    watches_.emplace(descriptor, watch);
    wait(std::move(watch));
  }

  void unwatch(int descriptor) override {
    const auto found = watches_.find(descriptor);
    if (found == watches_.end()) return;
    found->second->active = false;
    found->second->stream.release();  // leaves epoll now: stale events would follow otherwise
    watches_.erase(found);
  }

  void run() override {
    io_.restart();
    io_.run();
  }
  void stop() override { io_.stop(); }

 private:
  struct Watch {
    asio::posix::stream_descriptor stream;
    Callback callback;
    bool active;
  };

  // Each wait arms the descriptor anew, which makes epoll look at its state again: so what the
  // callback left unread is told again.
  static void wait(std::shared_ptr<Watch> watch) {
    asio::posix::stream_descriptor& stream = watch->stream;
    stream.async_wait(asio::posix::stream_descriptor::wait_read,
                      [watch = std::move(watch)](const asio::error_code& failed) {
                        if (failed || !watch->active) return;
                        watch->callback();
                        if (watch->active) wait(watch);
                      });
  }

  void start_workers() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited: signals belong to the loop's thread
    workers_ = std::make_unique<asio::thread_pool>(kWorkers);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> keep_running_{io_.get_executor()};
  std::map<TimerId, std::unique_ptr<asio::steady_timer>> timers_;
  std::map<int, std::shared_ptr<Watch>> watches_;
  std::unique_ptr<asio::thread_pool> workers_;
  TimerId last_timer_ = 0;
};

}  // namespace

std::unique_ptr<EventLoop> make_posix_event_loop() { return std::make_unique<AsioEventLoop>(); }

}  // namespace seedbed
