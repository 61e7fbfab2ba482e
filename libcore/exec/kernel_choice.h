// What plans compute with, for those who look at a machine: kernel_choice().
#pragma once

#include "ops/kernel_choice.h"
