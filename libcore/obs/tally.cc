#include "obs/tally.h"

namespace paddle {

Histogram histogram_of(std::span<const int64_t> positive, std::span<const int64_t> negative) {
  Histogram out;
  for (size_t b = 0; b < positive.size(); ++b)
    if (positive[b] != 0 || negative[b] != 0)
      out.push_back({b, static_cast<uint64_t>(positive[b]), static_cast<uint64_t>(negative[b])});
  return out;
}

bool well_formed(const Histogram& counts) {
  for (size_t i = 0; i < counts.size(); ++i)
    if ((counts[i].positive | counts[i].negative) == 0 ||
        (i > 0 && counts[i].bin <= counts[i - 1].bin))
      return false;
  return true;
}

void add(const Histogram& counts, Histogram& to) {
  Histogram sum;
  sum.reserve(counts.size() + to.size());
  auto a = counts.begin(), b = to.cbegin();
  while (a != counts.end() || b != to.cend()) {
    if (b == to.cend() || (a != counts.end() && a->bin < b->bin)) {
      sum.push_back(*a++);
    } else if (a == counts.end() || b->bin < a->bin) {
      sum.push_back(*b++);
    } else {
      sum.push_back({a->bin, a->positive + b->positive, a->negative + b->negative});
      ++a, ++b;
    }
  }
  to = std::move(sum);
}

bool subtract(const Histogram& counts, Histogram& from) {
  Histogram rest;
  rest.reserve(from.size());
  auto a = counts.begin();
  for (const wire::BinCount& f : from) {
    wire::BinCount left = f;
    if (a != counts.end() && a->bin == f.bin) {
      if (a->positive > f.positive || a->negative > f.negative) return false;
      left.positive -= a->positive;
      left.negative -= a->negative;
      ++a;
    }
    if ((left.positive | left.negative) != 0) rest.push_back(left);
  }
  if (a != counts.end()) return false;
  from = std::move(rest);
  return true;
}

double roc_area(const Histogram& counts) {
  double area = 0, positive = 0, negative = 0;
  for (size_t b = counts.size(); b-- > 0;) {
    const auto up = static_cast<double>(counts[b].positive),
               right = static_cast<double>(counts[b].negative);
    area += right * (positive + positive + up) / 2;
    positive += up;
    negative += right;
  }
  return positive > 0 && negative > 0 ? area / positive / negative : 0;
}

}  // namespace paddle
