#include "wire/asio.h"

#include <boost/asio/impl/src.hpp>
