// The main() of the test programs where Catch2 comes without a library that has one.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
