/* Who acts: clients, the controller (one process for each worker's frames; its turns never interleave), workers, guardians, clocks. */

#define EACH_OP_1(macro, w) macro(w, 0)
#define EACH_OP_2(macro, w) macro(w, 0) macro(w, 1)
#define EACH_OP_3(macro, w) macro(w, 0) macro(w, 1) macro(w, 2)
#if NOPS == 1
#define EACH_OP EACH_OP_1
#elif NOPS == 2
#define EACH_OP EACH_OP_2
#else
#define EACH_OP EACH_OP_3
#endif

/* ---- clients: create in order, cancel anything at any time, or nothing; a child is created below a known parent -------- */

active proctype client() {
  byte created = 0, cancelled = 0;
  do
#if DEFER
  :: created < NOPS && said[created % NOPS] == 0 && next_seq > 1 && st[created % NOPS] == NONE ->
     said[created % NOPS] = next_seq - 1                     /* it is decided now and registered later */
#endif
  :: atomic {
       created < NOPS && st[created % NOPS] == NONE ->
       d_step { remember(); create(created % NOPS) };
       commit_and_leave();
       if :: st[created % NOPS] != NONE -> created++ :: else fi   /* without an answer it asks again, with the same id */
     }
  :: atomic {
       cancelled < NK ->
       if
       :: k_target[cancelled % NK] = WHOLE_SCOPE
       :: k_target[cancelled % NK] = 0
#if NOPS > 1
       :: k_target[cancelled % NK] = 1
#endif
       fi;
       d_step { remember(); cancel(cancelled % NK) };
       commit_and_leave();
       cancelled++
     }
  :: break
  od
}

#define IN_TOUCH(w) (c_session[w] == w_session[w] && (w_phase[w] == GREETING || w_phase[w] == ATTACHED && lease_on[w]))

/* ---- the controller ------------------------------------------------------------------------------------------------- */

#define PLACE_AND_SWEEP(w, i) \
  :: atomic { PLACEABLE(w, i) -> d_step { remember(); assign(w, i) }; commit_and_leave() } \
  :: atomic { w == 0 && NEVER_SENT(i) && STOP_OF(i) -> d_step { remember(); visit(i) }; commit_and_leave() }

/* @code controller/fleet/frames.cpp frame, numbered, report
   @code controller/commit_gate.cpp frame, absorb, tick, end_burst */
proctype controller(byte w) {
end: do
  :: atomic {
       w2c[w]?kind, x, y, v, r ->
       d_step {
         remember();
         if
         :: kind == HELLO -> if :: x == w_session[w] -> hello_out[w] = false :: else fi; take_hello(w)
         :: kind == STARTED && x == c_session[w] -> started(w, y)
         :: kind == ENDED && x == c_session[w] -> ended(w, y, r)
#ifdef FREE_AT_SIGNAL
         :: kind == STOPPING && x == c_session[w] -> stopping(w, y)
#endif
         :: else                                             /* of another session: unread */
         fi;
         kind = 0; x = 0; y = 0; v = 0; r = 0
       };
       commit_and_leave()
     }
#ifdef LATE_HELLO
  :: atomic {
       late_session[w] != 0 ->
       d_step {
         remember();
         x = late_session[w]; y = late_life[w]; v = late_inventory[w]; r = late_results[w];
         late_session[w] = 0; late_life[w] = 0; late_inventory[w] = 0; late_results[w] = 0;
         take_hello(w)
       };
       commit_and_leave()
     }
#endif
  EACH_OP(PLACE_AND_SWEEP, w)
  /* with a live session, or a welcome on its way, only something that was frozen for so long lets it come to this */
  :: atomic {
       DEAD_BY(w) && !lost[w] && granted[w] != 0 && (!IN_TOUCH(w) || freezes > 0) ->
       if :: IN_TOUCH(w) -> freezes-- :: else fi;
       d_step { remember(); expire(w) };
       commit_and_leave()
     }
  :: atomic { w == 0 && c_crashes > 0 -> d_step { restart() } }
  od
}

/* ---- the worker ----------------------------------------------------------------------------------------------------- */

#define TASK_STEPS(w, i) \
  :: d_step { t_at[T(w, i)] == T_QUEUED && !guardian_gone[w] -> pump(w, i) } \
  :: d_step { (g_event[T(w, i)] & E_HELD) && HEARD(w) -> hear_held(w, i) } \
  :: d_step { (g_event[T(w, i)] & (E_HELD | E_EXECUTING)) == E_EXECUTING && HEARD(w) -> hear_executing(w, i) } \
  :: d_step { g_event[T(w, i)] == E_ENDED && HEARD(w) -> hear_ended(w, i) } \
  :: d_step { t_at[T(w, i)] == T_ENDED && !t_told[T(w, i)] && w_phase[w] == ATTACHED -> tell_end(w, i) }

#if NOPS == 1
#define ALL_GONE(w) (GONE(w, 0))
#elif NOPS == 2
#define ALL_GONE(w) (GONE(w, 0) && GONE(w, 1))
#else
#define ALL_GONE(w) (GONE(w, 0) && GONE(w, 1) && GONE(w, 2))
#endif

/* @code worker/session_loop.cpp run, hear_guardian, perform, tell_lease
   @code worker/session_loop_life.cpp keep_session
   @code worker/controller_session.cpp tick, end, refused */
proctype worker(byte w) {
end: do
  :: d_step { w_phase[w] == APART && HEARD(w) -> greet(w) }
  :: d_step { w_phase[w] != APART && nempty(c2w[w]) -> c2w[w]?kind, y, x, z; receive(w) }
  EACH_OP(TASK_STEPS, w)
  /* the other side's state has changed: heartbeats are refused or unanswered, the lease is over */
  :: d_step { w_phase[w] == ATTACHED && (c_session[w] != w_session[w] || !lease_on[w]) -> w_phase[w] = APART }
  /* no answer to the hello: it was lost or refused */
  :: d_step { w_phase[w] == GREETING && !hello_out[w] && c_session[w] != w_session[w] -> w_phase[w] = APART }
  /* the connection breaks; what was on its way to the controller arrives, or not */
  :: atomic {
       breaks > 0 && w_phase[w] != APART ->
       breaks--;
       if
       :: skip
       :: d_step {
            do
            :: nempty(w2c[w]) -> w2c[w]?kind, x, y, v, r
            :: empty(w2c[w]) -> break
            od;
            kind = 0; x = 0; y = 0; v = 0; r = 0;
            hello_out[w] = false
          }
#ifdef LATE_HELLO
       :: hello_out[w] && late_session[w] == 0 ->
          d_step {
            w2c[w]??HELLO, x, y, v, r;
            late_session[w] = x; late_life[w] = y; late_inventory[w] = v; late_results[w] = r;
            x = 0; y = 0; v = 0; r = 0;
            hello_out[w] = false
          }
#endif
       fi;
       w_phase[w] = APART
     }
  :: d_step { guardian_gone[w] && !worker_gone[w] && ALL_GONE(w) -> swept(w) }
  :: d_step { w_crashes > 0 && !worker_gone[w] && !guardian_gone[w] -> w_crashes--; worker_dies(w) }
  od
}

/* ---- the guardian, and the tasks, whose steps are their own ------------------------------------------------------------- */

#define MUST_KILL(w) (!lease_on[w] || worker_gone[w] || guardian_gone[w])

/* @code worker/guardian/guardian_spawn.cpp spawn, apply, lease_over, renew
   @code worker/guardian/guardian_stop.cpp stop, signal_task, kill_task, check_leases, try_finish
   @code worker/guardian/guardian.cpp worker_left, reap_children */
#define GUARD(w, i) \
  :: d_step { g_at[T(w, i)] == G_REQUESTED && !MUST_KILL(w) -> \
       g_at[T(w, i)] = G_HELD; g_event[T(w, i)] = E_HELD } \
  :: d_step { g_at[T(w, i)] == G_REQUESTED && MUST_KILL(w) -> dies(w, i, G_DEAD) } \
  :: d_step { g_at[T(w, i)] == G_HELD && (MUST_KILL(w) || g_stop[T(w, i)] != 0) -> dies(w, i, G_DEAD) } \
  :: d_step { EXECUTES(w, i) && g_stop[T(w, i)] == 1 -> g_stop[T(w, i)] = 2 } \
  :: d_step { EXECUTES(w, i) && g_stop[T(w, i)] == 2 -> dies(w, i, G_DEAD) } \
  :: d_step { EXECUTES(w, i) && g_stop[T(w, i)] == 0 && MUST_KILL(w) -> dies(w, i, G_DEAD_BY_LEASE) }

proctype guardian(byte w) {
end: do
  EACH_OP(GUARD, w)
  /* the next life of the worker waits for the end of this one: @code worker/guardian/life_lock.cpp take */
#ifdef NOBODY_WAITS_FOR_THE_EARLIER_LIFE
  :: d_step { worker_gone[w] -> worker_gone[w] = false; lease_on[w] = true }
#else
  :: d_step {
       worker_gone[w] && ALL_GONE(w) ->
       j = 0;
       do
       :: j < NOPS -> g_at[T(w, j)] = G_NONE; g_stop[T(w, j)] = 0; go[T(w, j)] = false; g_event[T(w, j)] = 0; j++
       :: else -> break
       od;
       worker_gone[w] = false; guardian_gone[w] = false; j = 0
     }
#endif
  :: d_step { g_crashes > 0 && HEARD(w) -> g_crashes--; guardian_gone[w] = true }
  od
}

/* @code worker/guardian/leader.cpp run_leader
   @code worker/guardian/keeper.cpp run_keeper */
#define TASK(w, i) \
  :: d_step { g_at[T(w, i)] == G_HELD && go[T(w, i)] -> executes(w, i, G_OBEDIENT) } \
  :: d_step { g_at[T(w, i)] == G_HELD && go[T(w, i)] -> executes(w, i, G_STUBBORN) } \
  :: d_step { g_at[T(w, i)] == G_OBEDIENT -> dies(w, i, G_DEAD) }

proctype tasks(byte w) {
end: do
  EACH_OP(TASK, w)
  od
}

/* ---- time ----------------------------------------------------------------------------------------------------------- */

/* The worker's lease ends: without a session it must, in touch only if something was frozen for so long. */
proctype clock(byte w) {
end: do
  :: d_step { lease_on[w] && !(w_phase[w] == ATTACHED && c_session[w] == w_session[w]) -> lease_on[w] = false }
  :: d_step { lease_on[w] && w_phase[w] == ATTACHED && c_session[w] == w_session[w] && freezes > 0 -> freezes--; lease_on[w] = false }
  od
}

/* ---- what must hold when nothing can move any more: no fault is left, all has been delivered --------------------------------- */

#define IS_DONE(k) (!accepted[k] || k_at[k] == SETTLED || (k_at[k] == JOINED && k_at[k_joined[k]] == SETTLED))
#define SETTLES_0 IS_DONE(0)
#if NK > 1
#define SETTLES_1 IS_DONE(1)
#else
#define SETTLES_1 true
#endif
#if NK > 2
#define SETTLES_2 IS_DONE(2)
#else
#define SETTLES_2 true
#endif

active proctype judge() {
  timeout ->
  atomic {
    assert(SETTLES_0 && SETTLES_1 && SETTLES_2);                            /* P every_accepted_cancel_settles */
    j = 0;
    do
    :: j < NOPS ->
       assert(!IS_TERMINAL(st[j]) || NOWHERE(j));                           /* P nothing_left_behind */
       assert(!IS_TERMINAL(st[j]) || held_by[j] == 0);                      /* P slots come back */
       j++
    :: else -> break
    od;
    j = 0
  }
}

init {
  atomic {
    x = 0;
    do
    :: x < NW -> run controller(x); run worker(x); run guardian(x); run tasks(x); run clock(x); x++
    :: else -> break
    od;
    x = 0
  }
}

#ifdef LIVENESS
/* P every_accepted_cancel_settles, under weak fairness; and P terminal_is_final over the whole run. */
ltl settles { [] (accepted[0] -> <> (IS_DONE(0))) && [] (accepted[NK - 1] -> <> (IS_DONE(NK - 1))) }
#endif
