// A C++ program on the loopback's shared libraries that sleeps and waits: one line for
// each way, the seconds it asked for, and those that its steady, its system and the
// kernel's clock show.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <ctime>
#include <functional>
#include <mutex>
#include <semaphore.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

extern "C" {
int hipMalloc(void **, size_t);
int hipMemsetAsync(void *, int, size_t, void *);
}

using clock_type = std::chrono::steady_clock;
using std::chrono::duration;
using std::chrono::milliseconds;

static std::mutex mutex;
static std::condition_variable never;

static timespec kernel() {
  timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return now;
}

static void timed(const char *name, milliseconds asked, const std::function<void()> &wait) {
  auto steady = clock_type::now();
  auto system = std::chrono::system_clock::now();
  timespec begun = kernel();
  wait();
  timespec end = kernel();
  printf("%s %.9f %.9f %.9f %.9f\n", name, duration<double>(asked).count(),
         duration<double>(clock_type::now() - steady).count(),
         duration<double>(std::chrono::system_clock::now() - system).count(),
         double(end.tv_sec - begun.tv_sec) + double(end.tv_nsec - begun.tv_nsec) * 1e-9);
}

int main() {
  void *memory = nullptr;
  sem_t unposted;
  timespec behind = {0, 200000000};
  syscall(SYS_nanosleep, &behind, nullptr); // the model's clock is behind the kernel's
  hipMalloc(&memory, 4); // from the first work on the program sees the model's clock
  hipMemsetAsync(memory, 0, 4, nullptr);
  sem_init(&unposted, 0, 0);
  timed("sleep_for", milliseconds(20), [] { std::this_thread::sleep_for(milliseconds(20)); });
  timed("sleep_until", milliseconds(30), [] { std::this_thread::sleep_until(clock_type::now() + milliseconds(30)); });
  timed("usleep", milliseconds(10), [] { usleep(10000); });
  timed("wait_for", milliseconds(40), [] {
    std::unique_lock<std::mutex> lock(mutex);
    never.wait_for(lock, milliseconds(40), [] { return false; });
  });
  timed("wait_until", milliseconds(50), [] {
    std::unique_lock<std::mutex> lock(mutex);
    never.wait_until(lock, std::chrono::system_clock::now() + milliseconds(50), [] { return false; });
  });
  timed("sem_timedwait", milliseconds(25), [&] {
    timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += 25000000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    while (sem_timedwait(&unposted, &at) == 0) {
    }
  });
}
