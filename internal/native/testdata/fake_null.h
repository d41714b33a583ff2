/* A part of fake_test.c: the null stream, and what it waits for. */

/* No stream is the device's null stream: what is on it comes after what blocking
 * streams had, before what they get, and apart from the others (HIP's and CUDA's
 * documents on the default stream). */
static void the_null_stream(void) {
  void *blocking, *begun, *ended;
  float ms, one = 1, other = 0;
  open_world();
  t.setDevice(0);
  CHECK(t.streamCreate(&blocking, 0) == 0);
  CHECK(t.eventCreate(&begun) == 0 && t.eventCreate(&ended) == 0);
  CHECK(t.streamQuery(NULL) == ZB_OK);
  CHECK(t.streamDestroy(NULL) == 0);
  fill_all(64);
  t.moveData(1);
  CHECK(t.allReduce(sendbuf[0], recvbuf[0], 64, 7, 0, comm[0], blocking) == 0);
  CHECK(t.eventRecord(begun, NULL) == ZB_OK);
  CHECK(t.copyAsync(recvbuf[0], &one, 4, ZB_TO_DEVICE, NULL) == ZB_OK);
  CHECK(t.eventRecord(ended, blocking) == ZB_OK);
  CHECK(t.streamQuery(NULL) == ZB_ERR_NOT_READY); /* the others have not come */
  CHECK(t.streamQuery(stream[0]) == ZB_OK); /* does not take part */
  CHECK(t.eventQuery(begun) == ZB_ERR_NOT_READY);
  for (int i = 1; i < 4; i++) {
    t.setDevice(i);
    CHECK(t.allReduce(sendbuf[i], recvbuf[i], 64, 7, 0, comm[i], NULL) == 0);
  }
  t.setDevice(0);
  CHECK(t.streamQuery(NULL) == ZB_OK);
  CHECK(t.eventElapsed(&ms, begun, ended) == ZB_OK && ms >= 0);
  t.moveData(0);
  CHECK(t.streamQuery(blocking) == ZB_OK);
  CHECK(((float *)recvbuf[0])[0] == 1 && ((float *)recvbuf[0])[1] == 10);
  t.setDevice(1);
  CHECK(t.streamQuery(NULL) == ZB_OK && ((float *)recvbuf[1])[0] == 10);
  CHECK(t.copy(&other, recvbuf[1], 4, ZB_TO_HOST) == ZB_OK && other == 10);
  t.setDevice(0);
  CHECK(t.eventDestroy(begun) == ZB_OK && t.eventDestroy(ended) == ZB_OK);
  CHECK(t.streamDestroy(blocking) == ZB_OK);
  close_world();
}

/* A stream that goes with work in it leaves the null stream waiting for nothing. */
static void the_null_stream_outlives(void) {
  void *blocking;
  open_world();
  t.setDevice(0);
  CHECK(t.streamCreate(&blocking, 0) == 0);
  CHECK(t.allReduce(sendbuf[0], recvbuf[0], 64, 7, 0, comm[0], blocking) == 0);
  CHECK(t.copyAsync(sendbuf[0], &blocking, 4, ZB_TO_DEVICE, NULL) == ZB_OK);
  CHECK(t.streamQuery(NULL) == ZB_ERR_NOT_READY);
  CHECK(t.copy(sendbuf[0], &blocking, 4, ZB_TO_DEVICE) == ZB_ERR_NOT_READY);
  CHECK(t.streamDestroy(blocking) == ZB_OK);
  CHECK(t.streamQuery(NULL) == ZB_OK);
  close_world();
}

/* Streams that are not blocking delay it by nothing, made before a blocking one or after. */
static void the_null_stream_goes_ahead(void) {
  int value = 3;
  void *blocking, *later;
  open_world();
  t.setDevice(0);
  CHECK(t.streamCreate(&blocking, 0) == 0 && t.streamCreate(&later, 1) == 0);
  CHECK(t.allReduce(sendbuf[0], recvbuf[0], 64, 7, 0, comm[0], later) == 0);
  CHECK(t.copyAsync((char *)recvbuf[0] + 2048, &value, 4, ZB_TO_DEVICE, NULL) == ZB_OK);
  CHECK(t.streamQuery(later) == ZB_ERR_NOT_READY && t.streamQuery(NULL) == ZB_OK);
  CHECK(t.streamDestroy(later) == 0 && t.streamDestroy(blocking) == 0);
  close_world();
  open_world();
  CHECK(reduce(0, 64) == 0 && t.streamQuery(stream[0]) == ZB_ERR_NOT_READY);
  CHECK(t.copyAsync((char *)recvbuf[0] + 2048, &value, 4, ZB_TO_DEVICE, NULL) == ZB_OK);
  CHECK(t.streamQuery(NULL) == ZB_OK && ((int *)recvbuf[0])[512] == 3);
  close_world();
}
