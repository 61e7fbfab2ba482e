#include "pserver/last_job.h"

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "graph/text.h"
#include "obs/progress.h"

namespace paddle {
namespace {

constexpr double start_seconds = 30;     // within which all trainers of a new start come
constexpr double applicant_seconds = 5;  // one that does not ask for so long has given up
constexpr size_t max_applicants = 65536;

}  // namespace

std::string write_ended_job(const EndedJob& job, int64_t unix_seconds) {
  return text("ended ", unix_seconds, "\ntrainers ", job.trainers, "\nprogram ", job.program,
              "\njob ", job.job, "\n");
}

std::optional<EndedJob> read_ended_job(const std::string& content, int64_t unix_seconds) {
  std::istringstream in(content);
  std::string ended, trainers, program, job;
  int64_t when = 0;
  EndedJob out;
  in >> ended >> when >> trainers >> out.trainers >> program >> out.program >> job;
  in.get();  // the space
  if (!std::getline(in, out.job) || ended != "ended" || trainers != "trainers" ||
      program != "program" || job != "job")
    return {};
  out.seconds_ago = static_cast<double>(std::max<int64_t>(0, unix_seconds - when));
  return out;
}

void LastJob::remember(EndedJob job, Time now) {
  forget();
  ended_ = now - std::chrono::duration_cast<Time::duration>(
                     std::chrono::duration<double>(job.seconds_ago));
  job_ = std::move(job);
}

LastJob::Applicant& LastJob::applicant(const wire::Hello& h, Time now) {
  const bool by_id = !h.takes_id;
  const uint64_t key = by_id ? h.trainer : h.incarnation;
  const auto at = std::find_if(applicants_.begin(), applicants_.end(), [&](const Applicant& a) {
    return a.key == key && a.by_id == by_id;
  });
  if (at != applicants_.end()) {
    at->asked = now;
    return *at;
  }
  if (applicants_.size() == max_applicants) applicants_.pop_back();
  return applicants_.emplace_back(Applicant{key, by_id, now, now});
}

LastJob::Answer LastJob::ask(const wire::Hello& h, Time now) {
  using Verdict = Answer::Verdict;
  if (!job_) return {};
  std::erase_if(applicants_,
                [&](const Applicant& a) { return seconds(a.asked, now) > applicant_seconds; });
  const double ago = seconds(ended_, now);
  const bool other = escaped(h.job) != job_->job || escaped(h.program) != job_->program ||
                     h.trainers != job_->trainers;
  if (other || h.new_job || (ago > memory_seconds_ && applicants_.empty())) {
    forget();
    return {};
  }
  const std::string ended = text("the job '", job_->job, "' ended ", duration_text(ago), " ago");
  if (h.finished || std::count(job_->processes.begin(), job_->processes.end(), h.incarnation) > 0)
    return {Verdict::over, ended};
  const Applicant& own = applicant(h, now);
  const double waited = seconds(own.since, now);
  const size_t come = applicants_.size();
  if (come >= job_->trainers) {
    forget();
    return {};
  }
  if (waited > start_seconds)
    return {Verdict::refused,
            text(ended, ", and this trainer came too late for it; of ", job_->trainers,
                 " trainers only ", come, come == 1 ? " was" : " were", " started again within ",
                 duration_text(start_seconds),
                 ": to train again start all of them, or give them --new_job or another "
                 "--job_name")};
  return {
      Verdict::wait,
      text(ended, "; a new one begins when all ", job_->trainers, " trainers are started again (",
           come, come == 1 ? " is" : " are", " here), or at once with --new_job"),
      waited == 0};
}

}  // namespace paddle
