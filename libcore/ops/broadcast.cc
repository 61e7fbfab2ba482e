#include "ops/broadcast.h"

namespace paddle {
namespace {

// Where y lies among x's dimensions: [first, first + length).
struct Place {
  int first = 0, length = 0;
};

Place place_of(const Shape& x, const Shape& y, int axis) {
  int length = y.rank();
  while (length > 0 && y[length - 1] == 1) --length;
  if (length == 0) return {x.rank(), 0};
  return {axis == -1 ? x.rank() - y.rank() : axis, length};
}

}  // namespace

Extents extents(const Shape& x, const Shape& y, int axis) {
  if (x == y) return {.n = x.numel()};
  const Place place = place_of(x, y, axis);
  return {x.product(0, place.first), x.product(place.first, place.first + place.length),
          x.product(place.first + place.length, x.rank())};
}

void check_broadcast(const Infer& i) {
  const Shape &x = i.shape("X"), &y = i.shape("Y");
  const auto axis = i.attr<int32_t>("axis");
  const auto refuse = [&](const auto&... why) {
    i.fail("cannot broadcast ", i.describe("Y"), " to ", i.describe("X"), " with axis ", axis, ": ",
           why...);
  };
  if (y.rank() > x.rank()) refuse("Y has more dimensions than X");
  const Place place = place_of(x, y, axis);
  if (place.first < 0 || place.first + place.length > x.rank())
    refuse("Y does not fit at that axis");
  for (int k = 0; k < place.length; ++k)
    if (x[place.first + k] != y[k] && x[place.first + k] >= 0 && y[k] >= 0)
      refuse("dimension ", place.first + k, " of X is ", x[place.first + k], ", that of Y is ",
             y[k]);
  i.check(i.dtype("X") == i.dtype("Y"), "X is ", name_of(i.dtype("X")), " and Y is ",
          name_of(i.dtype("Y")), ": cast one of them");
}

}  // namespace paddle
