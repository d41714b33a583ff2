/* Messages over links: a rank has one link to each other, and the messages to all of them use
 * all of its links. */

enum { LINK_BYTES = 1000, LINK_TO = 4 };

/* Rank 0 sends the same to each rank below `peers`, in `parts` messages. Returns the seconds
 * until its stream is done. */
static double sends_to(int peers, int parts) {
  zbl_stream *s = stream[0];
  double began = zbl_later(s->s, *zbl_host_clock(0));
  CHECK(t.groupStart() == 0);
  for (int to = 1; to < peers; to++) {
    for (int k = 0; k < parts; k++) {
      CHECK(t.setDevice(0) == 0 && t.sendTo(sendbuf[0], LINK_BYTES, 0, to, comm[0], stream[0]) == 0);
      CHECK(t.setDevice(to) == 0 && t.recvFrom(recvbuf[to], LINK_BYTES, 0, 0, comm[to], stream[to]) == 0);
    }
  }
  CHECK(t.groupEnd() == 0);
  for (int i = 0; i < 4; i++) {
    CHECK(t.setDevice(i) == 0 && t.streamQuery(stream[i]) == ZB_OK);
  }
  return s->s - began;
}

static void links_are_shared_by_what_goes_along_them(void) {
  const double launches = 5e-6; /* the hosts' */
  zbl_curve one = {.b = 1e6, .floor = 1e-9, .k = 1, .ranks = 4}, all = one;
  open_world();
  for (double lanes = 1; lanes < 4; lanes++) { /* all of a rank's links as fast as so many */
    all.b = lanes * one.b;
    ((zbl_comm *)comm[0])->clique->curve[ZBL_SEND_RECV] = one;
    ((zbl_comm *)comm[0])->clique->curve[ZBL_ALL_TO_ALL] = all;
    for (int peers = 2; peers <= LINK_TO; peers++) {
      for (int parts = 1; parts < 4; parts++) {
        double along = parts * LINK_BYTES / one.b, out = (peers - 1) * parts * LINK_BYTES / all.b;
        CHECK(fabs(sends_to(peers, parts) - zbl_later(along, out)) < launches);
      }
    }
  }
  close_world();
}
