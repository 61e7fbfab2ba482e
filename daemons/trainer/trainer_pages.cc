#include "trainer/trainer_pages.h"

#include "base/version.h"
#include "obs/board_files.h"
#include "obs/events.h"
#include "obs/http_pages.h"
#include "obs/metrics.h"
#include "options/cluster.h"

namespace paddle {
namespace {

// Who hears the events; shared with them, as the last one comes after the end of the trainer.
struct Listeners {
  std::shared_ptr<TrainerBoard> board = std::make_shared<TrainerBoard>();
  std::shared_ptr<BoardFiles> files;
};

// The board has the events of this process.
std::unique_ptr<HttpServer> open_http(const Options& o,
                                      const std::shared_ptr<const TrainerBoard>& board) {
  const auto fine = [] { return std::string(); };
  return serve_pages(
      {o.text("http_host"), o.integer("http_port")},
      {.metrics =
           [board] { return trainer_metrics(board->report()) + process_metrics(process_report()); },
       .status = [board] { return trainer_json(board->report()); },
       .sick = fine,
       .not_ready =
           [board] {
             return board->report().state == "starting" ? "not joined yet" : std::string();
           }},
      wire::client_credentials(credential_files(o)).token);
}

EventObserver observer_of(const Listeners& l, const Options& o) {
  if (o.integer("http_port") < 0 && !l.files) return {};
  return [l](const event::Any& event) {
    l.board->take(event);
    if (l.files) l.files->take(event);
  };
}

}  // namespace

std::unique_ptr<HttpServer> begin_telling(const Options& options, const std::string& config) {
  Listeners listeners;
  if (const std::string& directory = options.text("event_dir"); !directory.empty())
    listeners.files = std::make_shared<BoardFiles>(directory);
  start_events(options.text("event_file"), "trainer", observer_of(listeners, options));
  emit(event::Started{version_text(), options.text("job_name"), config});
  return open_http(options, listeners.board);
}

}  // namespace paddle
