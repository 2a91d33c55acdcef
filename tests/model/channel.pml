/* One direction of one session's channel: frames with numbers over a link that loses, repeats and reorders.
 * Shows what cancel.pml takes for granted: each frame is applied once, in order, and an acknowledgement means applied.
 * @code protocol/channel.cpp push, acknowledged, resend, accept, applied
 */
#ifndef FRAMES
#define FRAMES 3
#endif
#ifndef LOSSES
#define LOSSES 2
#endif
#ifndef COPIES
#define COPIES 1
#endif

chan out = [4] of { byte, byte };      /* number, what was pushed */
chan back = [3] of { byte, bool };     /* ack, resend */
byte pushed, last_acknowledged, sent_up_to;
byte accepted, applied;
byte losses = LOSSES, copies = COPIES;

active proctype sender() {
  byte ack, n; bool again;
end: do
  :: d_step { pushed < FRAMES -> pushed++ }
  :: d_step { sent_up_to < pushed && nfull(out) -> sent_up_to++; out!sent_up_to, sent_up_to }
  :: d_step {
       back?ack, again ->
       assert(ack <= pushed);
       assert(ack <= applied);                               /* P acknowledged means applied */
       if :: ack > last_acknowledged -> last_acknowledged = ack :: else fi;
       if :: again && last_acknowledged < sent_up_to -> sent_up_to = last_acknowledged :: else fi;
       ack = 0; again = false
     }
  :: atomic { timeout -> if :: last_acknowledged < pushed -> sent_up_to = last_acknowledged :: else fi }  /* waited: send again */
  :: last_acknowledged == FRAMES -> break
  od
}

active proctype receiver() {
  byte number, body;
end: do
  :: d_step {
       out?number, body ->
       if
#ifdef DELIVER_REPEATS
       :: number <= accepted -> assert(body == accepted + 1)
#else
       :: number <= accepted -> if :: nfull(back) -> back!applied, false :: full(back) fi         /* a repeat: said again */
#endif
#ifdef DELIVER_GAPS
       :: number > accepted -> assert(body == accepted + 1); accepted = number
#else
       :: number > accepted + 1 -> if :: nfull(back) -> back!applied, true :: full(back) fi       /* a gap */
       :: number == accepted + 1 ->
          assert(body == accepted + 1);                      /* P in order, once */
          accepted = number
#endif
       fi;
#ifdef ACKNOWLEDGED_AT_RECEIPT
       if :: nfull(back) -> back!accepted, false :: full(back) fi;
#endif
       number = 0; body = 0
     }
  :: d_step { applied < accepted && nfull(back) -> applied++; back!applied, false }
  od
}

active proctype network() {
  byte n, m; bool flag;
end: do
  :: d_step { losses > 0 && nempty(out) -> out?n, m; losses--; n = 0; m = 0 }
  :: d_step { losses > 0 && nempty(back) -> back?n, flag; losses--; n = 0; flag = false }
  :: d_step { copies > 0 && nempty(out) && nfull(out) -> out?<n, m>; out!n, m; copies--; n = 0; m = 0 }   /* comes again later */
  :: d_step { copies > 0 && len(out) > 1 -> out?n, m; out!n, m; copies--; n = 0; m = 0 }                  /* comes later */
  od
}

/* All arrives, whatever was lost. */
active proctype judge() {
  last_acknowledged == FRAMES -> assert(applied == FRAMES)
}
