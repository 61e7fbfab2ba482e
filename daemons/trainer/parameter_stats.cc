#include "trainer/parameter_stats.h"

#include <cmath>
#include <cstdio>

#include "base/log.h"

namespace paddle {

void log_parameter_stats(Session& session) {
  for (const ParamGrad& p : session.model().params) {
    const Tensor& t = session.scope().tensor(p.param);
    double sum = 0, largest = 0;
    with_float(t.dtype(), [&](auto z) {
      for (const auto v : t.values<decltype(z)>()) {
        sum += std::abs(static_cast<double>(v));
        largest = std::max(largest, std::abs(static_cast<double>(v)));
      }
    });
    char line[160];
    std::snprintf(line, sizeof line, " avg_abs_val=%-11.6g max_val=%-11.6g",
                  sum / std::max<double>(1, double(t.numel())), largest);
    std::string name = p.param;
    name.resize(std::max<size_t>(20, name.size()), ' ');
    log_info(name + line);
  }
}

}  // namespace paddle
