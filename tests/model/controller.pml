/* The controller's turns: ledger and fleet. Every inline here runs inside one atomic step of a process in processes.pml. */

/* ---- frames wait for the commit of their turn ------------------------------------------------------------------------ */

/* @code controller/fleet/frames.cpp send */
inline push(to, what, arg, cancel) {
  assert(n_out < QC);
  out_kind[n_out] = what; out_to[n_out] = to; out_session[n_out] = c_session[to];
  out_a[n_out] = arg; out_k[n_out] = cancel; n_out++
}

/* @code controller/commit_gate.cpp release
   The turn is on disk: answers, then frames. What anybody outside now knows is what the properties hold us to. */
inline leave() {
  j = 0;
  do
  :: j < NK -> if :: k_at[j] != NONE -> accepted[j] = true :: else fi; j++
  :: else -> break
  od;
  j = 0;
  do
  :: j < NOPS ->
     if
     :: IS_TERMINAL(st[j]) ->
        assert(shown[j] == NONE || shown[j] == st[j]);      /* P terminal_is_final */
        shown[j] = st[j]
     :: else -> assert(shown[j] == NONE)                    /* P terminal_is_final: nor back to life */
     fi;
     j++
  :: else -> break
  od;
  j = 0;
  do
  :: j < n_out ->
     assert(nfull(c2w[out_to[j]]));
     c2w[out_to[j]]!out_kind[j], out_session[j], out_a[j], out_k[j];
     j++
  :: else -> break
  od;
  nothing_leaves()
}

inline nothing_leaves() {
  j = 0;
  do
  :: j < n_out -> out_kind[j] = 0; out_to[j] = 0; out_session[j] = 0; out_a[j] = 0; out_k[j] = 0; j++
  :: else -> break
  od;
  n_out = 0; j = 0
}

inline on_disk() {
  j = 0;
  do
  :: j < NOPS -> if :: held_by[j] != 0 -> durable_on[j] = durable_on[j] | (1 << (held_by[j] - 1)) :: else fi; j++
  :: else -> break
  od;
  j = 0
}

/* @code controller/commit_gate.cpp submit_transaction, committed
   @code controller/ledger/recovery.cpp recover */
inline commit_and_leave() {
  d_step { settle() };
#ifdef SEND_BEFORE_COMMIT
  d_step { leave() };
  if
  :: d_step { on_disk() }
  :: c_crashes > 0 -> d_step { restore(); restart() }
  fi
#else
  if
  :: d_step { on_disk(); leave() }
  :: c_crashes > 0 -> d_step { on_disk(); nothing_leaves(); restart() }   /* on disk, and nothing of it left */
  fi
#endif
}

#ifdef SEND_BEFORE_COMMIT
byte o_st[NOPS], o_seq[NOPS], o_as_of[NOPS], o_own[NOPS], o_held[NOPS];
byte o_k_at[NK], o_k_seq[NK], o_k_target[NK], o_k_joined[NK], o_cutoff, o_tombs, o_next, o_life[NW];
#define COPY(n, to, from) j = 0; do :: j < n -> to[j] = from[j]; j++ :: else -> break od
inline remember() {
  COPY(NOPS, o_st, st); COPY(NOPS, o_seq, seq); COPY(NOPS, o_as_of, as_of); COPY(NOPS, o_own, self_status); COPY(NOPS, o_held, held_by);
  COPY(NK, o_k_at, k_at); COPY(NK, o_k_seq, k_seq); COPY(NK, o_k_target, k_target); COPY(NK, o_k_joined, k_joined);
  COPY(NW, o_life, known_life); o_cutoff = cutoff; o_tombs = tombs; o_next = next_seq
}
inline restore() {
  COPY(NOPS, st, o_st); COPY(NOPS, seq, o_seq); COPY(NOPS, as_of, o_as_of); COPY(NOPS, self_status, o_own); COPY(NOPS, held_by, o_held);
  COPY(NK, k_at, o_k_at); COPY(NK, k_seq, o_k_seq); COPY(NK, k_target, o_k_target); COPY(NK, k_joined, o_k_joined);
  COPY(NW, known_life, o_life); cutoff = o_cutoff; tombs = o_tombs; next_seq = o_next
}
#else
inline remember() { skip }
#endif

/* @code controller/fleet/fleet.cpp fleet_impl
   @code controller/ledger/recovery.cpp recover, recover_operation, recover_cancel
   All connections are gone; frames that had left may still arrive, frames to us do not. Nobody has a session. */
inline restart() {
  c_crashes--;
  j = 0;
  do
  :: j < NW ->
     c_session[j] = 0; last_session[j] = 0; lost[j] = false; late_session[j] = 0; hello_out[j] = false;
     do
     :: nempty(w2c[j]) -> w2c[j]?kind, x, y, z, r
     :: empty(w2c[j]) -> break
     od;
     j++
  :: else -> break
  od;
#ifdef FORGET_CUTOFF_ON_RESTART
  cutoff = 0; tombs = 0;
#endif
  kind = 0; j = 0; x = 0; y = 0; z = 0; r = 0
}

/* ---- ends ----------------------------------------------------------------------------------------------------------- */

/* @code controller/ledger/table.cpp release
   The slot is free for others: whatever ran there is gone. */
inline release_slot(i) {
  if
  :: held_by[i] != 0 ->
     assert(NOWHERE(i));                                                    /* P capacity_after_proof */
     held_by[i] = 0
  :: else
  fi
}

/* @code controller/ledger/ends.cpp finish_one */
inline finish_one(i) {
  assert(!IS_TERMINAL(st[i]));                                              /* P terminal_is_final */
  assert(self_status[i] != CANCELLED || WAS_MEANT(i));                          /* P only_what_was_meant */
  st[i] = self_status[i]
}

/* @code controller/ledger/ends.cpp end_own_work, finish, stop_children
   Terminal when nothing below it lives. An end other than a good one stops the children. */
inline end_own_work(i, how) {
  assert(self_status[i] == NONE);
  release_slot(i);
  self_status[i] = how;
  if
  :: PARENT && i == 0 && NOPS > 1 && LIVE(1 % NOPS) ->
     if
     :: how == FAILED && !(ANY_K(COVERS, i)) && held_by[1 % NOPS] != 0 && c_session[held_by[1 % NOPS] - 1] != 0 ->
        push(held_by[1 % NOPS] - 1, STOP_OP, 0, 0)
     :: else
     fi
  :: else ->
     finish_one(i);
     if
     :: PARENT && i == 1 && self_status[0] != NONE -> finish_one(0)
     :: else
     fi
  fi
}

/* @code controller/ledger/ends.cpp lose */
inline lose(i) {
  if
  :: STOP_OF(i) -> end_own_work(i, CANCELLED)
  :: else -> end_own_work(i, FAILED)
  fi
}

/* @code controller/ledger/progress.cpp check_settled
   @code controller/ledger/cancel_runs.cpp settle */
inline settle() {
  x = 0;
  do
  :: x < NK ->
     if
     :: k_at[x] == OPEN ->
        y = 0; z = 0;
        do
        :: y < NOPS -> if :: LIVE(y) && COVERS(x, y) -> z = 1 :: else fi; y++
        :: else -> break
        od;
        if :: z == 0 -> k_at[x] = SETTLED :: else fi
     :: else
     fi;
     x++
  :: else -> break
  od;
  x = 0; y = 0; z = 0
}

/* ---- what workers say ----------------------------------------------------------------------------------------------- */

/* @code controller/ledger/reports.cpp started
   @code controller/ledger/ends.cpp begin */
inline started(w, i) {
  if
  :: held_by[i] == w + 1 && st[i] == PENDING -> st[i] = RUNNING
  :: else
  fi
}

/* @code controller/ledger/reports.cpp ended, note_late */
inline ended(w, i, how) {
  push(w, STORED, i, 0);                                     /* @code controller/fleet/fleet.cpp result_stored */
#ifdef LATE_OVERWRITES
  if
  :: IS_TERMINAL(st[i]) -> st[i] = (how == BY_ITSELF -> COMPLETED : CANCELLED)
  :: else
  fi;
#endif
  if
  :: held_by[i] == w + 1 ->
     if
     :: (how == BY_ITSELF || how == STOPPED_RAN || how == LOST_RAN) && st[i] == PENDING -> st[i] = RUNNING
     :: else
     fi;
     if
     :: how >= LOST_RAN -> lose(i)
     :: (how == STOPPED_RAN || how == STOPPED_NEVER_RAN) && STOP_OF(i) -> end_own_work(i, CANCELLED)
     :: (how == STOPPED_RAN || how == STOPPED_NEVER_RAN) && !STOP_OF(i) -> assert(false)  /* P only_what_was_meant */
     :: else -> end_own_work(i, COMPLETED)
     fi
  :: else                                                    /* counted already, or not its business */
  fi
}

#ifdef FREE_AT_SIGNAL
inline stopping(w, i) { if :: held_by[i] == w + 1 -> release_slot(i) :: else fi }
#endif

/* @code controller/ledger/reconcile.cpp missing, put_back */
inline missing(w, i, same_life) {
  if
#ifdef RESTARTED_WORKER_IS_THE_SAME
  :: st[i] == RUNNING -> lose(i)
#else
  :: st[i] == RUNNING || !(same_life) -> lose(i)
#endif
  :: else ->
     if
     :: STOP_OF(i) -> end_own_work(i, CANCELLED)             /* never_started, never_ran */
     :: else -> release_slot(i)
     fi
  fi
}

/* @code controller/ledger/reconcile.cpp resend_stops */
inline resend_stops(w) {
  b = 0;
  do
  :: b < NK ->
     a = 0; z = 0;
     do
     :: a < NOPS -> if :: held_by[a] == w + 1 && COVERS(b, a) -> z = 1 :: else fi; a++
     :: else -> break
     od;
     if
     :: z == 1 && k_target[b] == WHOLE_SCOPE -> push(w, STOP_SCOPE, k_seq[b], b + 1)
     :: z == 1 && k_target[b] != WHOLE_SCOPE -> push(w, STOP_OP, k_target[b], b + 1)
     :: else
     fi;
     b++
  :: else -> break
  od;
  a = 0;
  do
  :: a < NOPS ->
     if
     :: held_by[a] == w + 1 && PARENT_END_STOPS(a) && !(ANY_K(COVERS, a)) -> push(w, STOP_OP, a, 0)
     :: else
     fi;
     a++
  :: else -> break
  od;
  a = 0; b = 0; z = 0
}

/* The hello is in (x session, y life, v inventory, r results).
   @code controller/fleet/hello.cpp greet, held_until, begin_session
   @code controller/ledger/reconcile.cpp reconcile, take_inventory */
inline take_hello(w) {
  if
#ifndef ACCEPT_OLD_HELLO
  :: x < last_session[w] && !lost[w] -> skip                 /* it was late on its way: refused, its inventory is history */
#endif
  :: else ->
     c_session[w] = x; last_session[w] = x; lost[w] = false;
     granted[w] = (x > granted[w] -> x : granted[w]);         /* time goes on, whatever is late */
     push(w, WELCOME, 0, 0);
     c = (known_life[w] == y -> 1 : 0);
     known_life[w] = y;
     a = 0;
     do
     :: a < NOPS ->
        if
        :: ((r >> (3 * a)) & 7) != 0 -> ended(w, a, ((r >> (3 * a)) & 7))
        :: else
        fi;
        a++
     :: else -> break
     od;
     a = 0;
     do
     :: a < NOPS ->
        if
        :: held_by[a] == w + 1 && (v & (1 << a)) -> if :: v & (8 << a) -> started(w, a) :: else fi
        :: held_by[a] == w + 1 && !(v & (1 << a)) -> missing(w, a, c == 1)
        :: else
        fi;
        a++
     :: else -> break
     od;
#ifndef NO_STOP_RESENT
     resend_stops(w);
#endif
     a = 0;
     do
     :: a < NOPS ->
        if
        :: (v & (1 << a)) && held_by[a] != w + 1 ->
           assert(self_status[a] != NONE);                       /* what lives there and is not ours to hold has ended here */
           push(w, STOP_OP, a, 0)
        :: else
        fi;
        a++
     :: else -> break
     od;
     a = 0; c = 0
  fi;
  x = 0; y = 0; v = 0; r = 0
}

/* ---- the end of a lease --------------------------------------------------------------------------------------------- */

/* What may be concluded, and when: the worker's end comes first, and killing is done by then (protocol/lease.hpp).
   @code protocol/lease.cpp dead_by, over
   @code protocol/lease.hpp lease_wait, kill_margin */
#define GONE(w, i) (!EXECUTES(w, i) && g_at[T(w, i)] != G_HELD && g_at[T(w, i)] != G_REQUESTED)
#ifdef DEAD_BY_TOO_EARLY
#define DEAD_BY(w) (true)
#elif NOPS == 1
#define DEAD_BY(w) (!lease_on[w] && GONE(w, 0))
#elif NOPS == 2
#define DEAD_BY(w) (!lease_on[w] && GONE(w, 0) && GONE(w, 1))
#else
#define DEAD_BY(w) (!lease_on[w] && GONE(w, 0) && GONE(w, 1) && GONE(w, 2))
#endif

/* @code controller/fleet/watch.cpp expire
   @code controller/ledger/reconcile.cpp lease_expired */
inline expire(w) {
  c_session[w] = 0; lost[w] = true;
  dead_upto[w] = granted[w];                                 /* a welcome that comes now brings a lease that is over */
  a = 0;
  do
  :: a < NOPS -> if :: held_by[a] == w + 1 -> lose(a) :: else fi; a++
  :: else -> break
  od;
  a = 0
}
