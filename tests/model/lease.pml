/* The lease from both ends, with clocks that drift apart, answers that are lost or late, a handover, a new session, a restart.
 * Shows what cancel.pml takes for granted: when the controller concludes, the worker's lease is over on the worker's own clock.
 * Ticks are coarse: a lease of 2, a handover of 4, and one tick of waiting more stands for 1 % and 1 s.
 * @code protocol/lease.cpp sent, granted, welcomed, handover_received, end, answered, recovered, session_begins, session_taken, dead_by
 * @code protocol/lease.hpp lease_wait
 * @code controller/fleet/frames.cpp beat, take_acknowledgement
 * @code controller/fleet/orders.cpp hand_over
 */
#ifndef BEATS
#define BEATS 1
#endif
#ifndef HELLOS
#define HELLOS 1
#endif
#define LEASE 2
#define HANDOVER 4
#define HORIZON 8
#define DRIFT_WINDOW 6      /* the worker's clock loses at most one tick in so many */
#ifdef NO_DRIFT_ALLOWED_FOR
#define WAIT(length) (length)
#else
#define WAIT(length) ((length) + 1)
#endif

mtype = { HELLO, BEAT, WELCOME, GRANT, HANDED, TAKEN };
chan up = [2] of { mtype, byte, byte };     /* what, session, when it was sent by the worker's clock */
chan down = [2] of { mtype, byte, byte };   /* what, session, the sending that is answered */

byte w_clock = 1, c_clock = 1, lagged_at;
byte w_base, w_length, w_newest;        /* 0 = no lease */
byte earlier, current, stored;          /* furthest instants by the controller's clock; 0 = none */
byte beats = BEATS, hellos = HELLOS;
byte w_session, c_session;              /* frames of any other session are dropped unread */
bool handing_over, restarted;

#define DEAD_BY (earlier > current -> earlier : current)

inline answered(length) {
  if :: c_clock + WAIT(length) > current -> current = c_clock + WAIT(length) :: else fi;
  if :: length > stored -> stored = length :: else fi
}

active proctype time() {
end: do
  :: d_step { c_clock < HORIZON -> c_clock++; w_clock++ }
  :: d_step { c_clock < HORIZON && (lagged_at == 0 || c_clock - lagged_at >= DRIFT_WINDOW) -> c_clock++; lagged_at = c_clock }
  od
}

active proctype worker() {
  mtype what; byte asked, session;
end: do
  :: d_step { hellos > 0 && nfull(up) -> hellos--; w_session++; up!HELLO, w_session, w_clock }
  :: d_step { beats > 0 && w_length > 0 && nfull(up) -> beats--; up!BEAT, w_session, w_clock }
  :: d_step {
       nempty(down) -> down?what, session, asked;
       if
       :: session != w_session -> skip
#ifdef COUNT_FROM_RECEIPT
       :: session == w_session && (what == WELCOME || what == GRANT) -> w_base = w_clock; w_length = LEASE
#else
       :: session == w_session && what == WELCOME -> w_base = asked; w_length = LEASE; w_newest = asked; if :: nfull(up) -> up!TAKEN, session, 0 :: full(up) fi
       :: session == w_session && what == GRANT && asked >= w_newest -> w_base = asked; w_length = LEASE; w_newest = asked
#endif
#ifdef HANDOVER_MOVES_BASE
       :: session == w_session && what == HANDED && w_length > 0 -> w_base = w_clock; w_length = HANDOVER
#else
       :: session == w_session && what == HANDED && w_length > 0 -> w_length = HANDOVER
#endif
       :: else
       fi;
       what = 0; asked = 0; session = 0
     }
  :: d_step { nempty(down) -> down?what, session, asked; what = 0; asked = 0; session = 0 }      /* lost */
  od
}

active proctype controller() {
  mtype what; byte asked, session;
end: do
  :: d_step {
       nempty(up) && nfull(down) -> up?what, session, asked;
       if
       :: what == HELLO && !handing_over ->
          c_session = session;
#ifndef FORGET_THE_SESSION_BEFORE
          if :: current > earlier -> earlier = current :: else fi;
#else
          earlier = 0;
#endif
          current = 0;
          answered(LEASE); down!WELCOME, session, asked
       :: what == TAKEN && session == c_session -> earlier = 0; stored = (handing_over -> HANDOVER : LEASE)
       :: what == BEAT && session == c_session && !handing_over && current > 0 -> answered(LEASE); down!GRANT, session, asked
       :: else
       fi;
       what = 0; asked = 0; session = 0
     }
  :: d_step { nempty(up) -> up?what, session, asked; what = 0; asked = 0; session = 0 }          /* lost */
  :: d_step { !handing_over && current > 0 && nfull(down) -> handing_over = true; answered(HANDOVER); down!HANDED, c_session, 0 }
  :: d_step {
       !restarted && stored > 0 ->                                   /* all that is known: an answer of that length went out before */
       restarted = true; handing_over = false; earlier = 0; current = 0; c_session = 0;
       do :: nempty(up) -> up?what, session, asked :: empty(up) -> break od;   /* connections die with the process */
#ifdef RESTART_FORGETS_LENGTH
       answered(LEASE);
#else
       answered(stored);
#endif
       what = 0; asked = 0; session = 0
     }
  od
}

/* P the worker's end comes first: may the controller conclude, then the lease is over there. */
active proctype judge() {
  do
  :: d_step { DEAD_BY > 0 && c_clock >= DEAD_BY -> assert(w_length == 0 || w_clock >= w_base + w_length) }
  :: c_clock == HORIZON -> break
  od
}
