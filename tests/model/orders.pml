/* What starts a turn of the controller from this side: orders of clients, placing, sweeping. As in controller.pml, inside one atomic step. */

/* ---- orders of clients ---------------------------------------------------------------------------------------------- */

/* @code controller/ledger/create.cpp create, refuse_id, refuse_parent, refuse_scope */
inline create(i) {
  as_of[i] = (said[i] != 0 -> said[i] : next_seq);
  if
  :: tombs & (1 << i) -> st[i] = REFUSED
  :: PARENT && i == 1 && (STOP_OF(0) || self_status[0] != NONE || st[0] == REFUSED) -> st[i] = REFUSED
#ifdef CUTOFF_LESS
  :: said[i] != 0 && cutoff > as_of[i] -> st[i] = REFUSED
  :: else ->
     if :: said[i] != 0 && cutoff == as_of[i] -> seq[i] = next_seq; next_seq++; st[i] = PENDING
#else
  :: said[i] != 0 && cutoff >= as_of[i] -> st[i] = REFUSED
  :: else ->
     if
#endif
     :: else -> if :: st[i] == NONE -> seq[i] = next_seq; next_seq++; st[i] = PENDING :: else fi
     fi
  fi
}

/* @code controller/ledger/coverage.cpp send_stops
   @code controller/ledger/cancel_coverage.cpp workers_below */
inline send_stops(k) {
  x = 0;
  do
  :: x < NW ->
     y = 0; z = 0;
     do
     :: y < NOPS -> if :: held_by[y] == x + 1 && COVERS(k, y) -> z = 1 :: else fi; y++
     :: else -> break
     od;
     if
     :: z == 1 && c_session[x] != 0 ->
        if
        :: k_target[k] == WHOLE_SCOPE -> push(x, STOP_SCOPE, k_seq[k], k + 1)
        :: else -> push(x, STOP_OP, k_target[k], k + 1)
        fi
     :: else
     fi;
     x++
  :: else -> break
  od;
  x = 0; y = 0; z = 0
}

/* @code controller/ledger/cancel.cpp cancel, cancel_absent, accept, put_tombstone
   @code controller/ledger/cancel_runs.cpp joinable, open */
inline cancel(k) {
  v = NK;
  x = 0;
  do
  :: x < NK ->
     if
     :: k_at[x] == OPEN && k_target[x] == k_target[k] ->
        y = 0; z = 1;                                        /* is all that it would stop being stopped already? */
        do
        :: y < NOPS -> if :: LIVE(y) && AIMS(k, y) && !COVERS(x, y) -> z = 0 :: else fi; y++
        :: else -> break
        od;
        if :: z == 1 -> v = x :: else fi
     :: else
     fi;
     x++
  :: else -> break
  od;
  x = 0; y = 0; z = 0;
  if
  :: v < NK -> k_at[k] = JOINED; k_joined[k] = v
  :: else ->
     k_seq[k] = next_seq; next_seq++;
     if
     :: k_target[k] == WHOLE_SCOPE -> k_at[k] = OPEN; cutoff = k_seq[k]
     :: k_target[k] < NOPS && st[k_target[k] % NOPS] == NONE -> k_at[k] = OPEN; tombs = tombs | (1 << k_target[k])
     :: else -> k_at[k] = OPEN
     fi;
     send_stops(k)                                           /* with nothing live below it settles in this very turn */
  fi;
  v = 0
}

/* ---- placing and sweeping ------------------------------------------------------------------------------------------- */

/* @code controller/ledger/reports.cpp is_placeable
   @code controller/fleet/placement.cpp choose */
#if NOPS == 1
#define USED(w) (held_by[0] == (w) + 1)
#elif NOPS == 2
#define USED(w) ((held_by[0] == (w) + 1) + (held_by[1] == (w) + 1))
#else
#define USED(w) ((held_by[0] == (w) + 1) + (held_by[1] == (w) + 1) + (held_by[2] == (w) + 1))
#endif
#define NEVER_SENT(i) (st[i] == PENDING && held_by[i] == 0 && self_status[i] == NONE)
#define PLACEABLE(w, i) (NEVER_SENT(i) && !STOP_OF(i) && c_session[w] != 0 && USED(w) < SLOTS)

/* @code controller/ledger/reports.cpp assign
   @code controller/fleet/fleet.cpp place */
inline assign(w, i) {
  assert(!WAS_MEANT(i));                                                    /* P no_escape: fenced */
  held_by[i] = w + 1;
  push(w, START, i, 0)
}

/* @code controller/ledger/sweep.cpp visit
   @code controller/ledger/ends.cpp apply_stop */
inline visit(i) { end_own_work(i, CANCELLED) }
