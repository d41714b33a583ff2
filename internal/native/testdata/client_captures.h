/* What a capture refuses beyond one stream. */
#ifndef CLIENT_CAPTURES_H
#define CLIENT_CAPTURES_H

enum { CAPTURE_UNSUPPORTED = 900, CAPTURE_MERGE = 902, CAPTURE_UNMATCHED };

static hipStream_t captured, other_stream;
static hipEvent_t mark;

static void begin_capture(hipStream_t stream) {
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal) == hipSuccess);
}

static void end_capture(hipStream_t stream, int want) {
  hipGraph_t graph = NULL;
  CHECK((int)hipStreamEndCapture(stream, &graph) == want);
  CHECK(graph == NULL || hipGraphDestroy(graph) == hipSuccess);
}

/* The default stream has no capture (ROCm/clr, hipamd/src/hip_graph.cpp,
 * hipStreamBeginCapture_common). */
static void no_capture_of_the_null_stream(void) {
  CHECK((int)hipStreamBeginCapture(NULL, hipStreamCaptureModeThreadLocal) == CAPTURE_UNSUPPORTED);
}

/* A stream is in one capture (CUDA Driver API, CUDA_ERROR_STREAM_CAPTURE_MERGE; HIP has the
 * number, and makes a graph of it that lacks the order: hipStreamWaitEvent_common). */
static void captures_do_not_merge(void) {
  begin_capture(captured);
  begin_capture(other_stream);
  CHECK(hipEventRecord(mark, captured) == hipSuccess);
  CHECK((int)hipStreamWaitEvent(other_stream, mark, 0) == CAPTURE_MERGE);
  end_capture(other_stream, hipSuccess);
  end_capture(captured, hipSuccess);
}

/* The stream that began a capture ends it (hip_runtime_api.h, hipStreamEndCapture;
 * hipErrorStreamCaptureUnmatched). */
static void a_capture_ends_where_it_began(void) {
  begin_capture(captured);
  CHECK(hipEventRecord(mark, captured) == hipSuccess);
  CHECK(hipStreamWaitEvent(other_stream, mark, 0) == hipSuccess);
  end_capture(other_stream, CAPTURE_UNMATCHED);
  CHECK(hipEventRecord(mark, other_stream) == hipSuccess);
  CHECK(hipStreamWaitEvent(captured, mark, 0) == hipSuccess);
  end_capture(captured, hipSuccess);
}

/* An event of a capture that has ended is as it was before, here never recorded: nobody
 * waits for it (ROCm/clr, hipamd/src/hip_stream.cpp, hipStreamWaitEvent_common, and
 * hip_event.cpp, Event::streamWait and hipEventSynchronize). */
static void an_ended_capture_leaves_its_events(void) {
  begin_capture(captured);
  CHECK(hipEventRecord(mark, captured) == hipSuccess);
  CHECK((int)hipEventSynchronize(mark) == CAPTURE_UNSUPPORTED);
  end_capture(captured, hipSuccess);
  CHECK(hipEventSynchronize(mark) == hipSuccess);
  CHECK(hipStreamWaitEvent(other_stream, mark, 0) == hipSuccess);
  CHECK(hipStreamSynchronize(other_stream) == hipSuccess);
}

static void captures(void) {
  CHECK(hipSetDevice(0) == hipSuccess && hipEventCreate(&mark) == hipSuccess);
  CHECK(hipStreamCreate(&captured) == hipSuccess && hipStreamCreate(&other_stream) == hipSuccess);
  no_capture_of_the_null_stream();
  captures_do_not_merge();
  a_capture_ends_where_it_began();
  an_ended_capture_leaves_its_events();
  CHECK(hipEventDestroy(mark) == hipSuccess);
  CHECK(hipStreamDestroy(captured) == hipSuccess && hipStreamDestroy(other_stream) == hipSuccess);
}

#endif
