// The functions of libpulse that quell uses, loaded when `quell talk` needs them: `quell` also runs where libpulse is
// not installed, and its other commands do not wait for the twenty libraries behind it.
#pragma once

#include <pulse/pulseaudio.h>

#include <string>

namespace quell::cli {

#define QUELL_PULSE_FUNCTIONS(X)                                                                                       \
  X(pa_threaded_mainloop_new)                                                                                          \
  X(pa_threaded_mainloop_free)                                                                                         \
  X(pa_threaded_mainloop_start)                                                                                        \
  X(pa_threaded_mainloop_stop)                                                                                         \
  X(pa_threaded_mainloop_lock)                                                                                         \
  X(pa_threaded_mainloop_unlock)                                                                                       \
  X(pa_threaded_mainloop_get_api)                                                                                      \
  X(pa_context_new)                                                                                                    \
  X(pa_context_unref)                                                                                                  \
  X(pa_context_connect)                                                                                                \
  X(pa_context_disconnect)                                                                                             \
  X(pa_context_get_state)                                                                                              \
  X(pa_context_set_state_callback)                                                                                     \
  X(pa_context_errno)                                                                                                  \
  X(pa_strerror)                                                                                                       \
  X(pa_proplist_new)                                                                                                   \
  X(pa_proplist_free)                                                                                                  \
  X(pa_proplist_sets)                                                                                                  \
  X(pa_stream_new_with_proplist)                                                                                       \
  X(pa_stream_unref)                                                                                                   \
  X(pa_stream_get_state)                                                                                               \
  X(pa_stream_set_state_callback)                                                                                      \
  X(pa_stream_set_write_callback)                                                                                      \
  X(pa_stream_set_read_callback)                                                                                       \
  X(pa_stream_connect_playback)                                                                                        \
  X(pa_stream_connect_record)                                                                                          \
  X(pa_stream_disconnect)                                                                                              \
  X(pa_stream_write)                                                                                                   \
  X(pa_stream_peek)                                                                                                    \
  X(pa_stream_drop)                                                                                                    \
  X(pa_stream_readable_size)                                                                                           \
  X(pa_stream_cork)                                                                                                    \
  X(pa_stream_flush)                                                                                                   \
  X(pa_stream_get_device_name)                                                                                         \
  X(pa_operation_unref)

struct pulse_library {
#define QUELL_POINTER(name) decltype(&::name) name = nullptr;
  QUELL_PULSE_FUNCTIONS(QUELL_POINTER)
#undef QUELL_POINTER
  std::string error; ///< "" = loaded
};

/// Loads it once per process.
const pulse_library& pulse();

} // namespace quell::cli
