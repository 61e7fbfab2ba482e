// Runs something in a child process: what must not happen to the test itself.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace paddle {

// The child's exit code, or minus the signal that ended it.
inline int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 99;
    try {
      code = body();
    } catch (...) {
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace paddle
