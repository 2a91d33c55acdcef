/* The worker: its sessions with the controller and its table of tasks; and the guardian with the tasks themselves. */

/* ---- sessions ------------------------------------------------------------------------------------------------------- */

/* Whatever still lies in c2w is of the session before: lost with its connection, or (LATE_FRAMES) it comes later.
   Results and inventory go into the hello.
   @code worker/session_loop_life.cpp greet
   @code worker/controller_session.cpp greet
   @code worker/task_table.cpp describe */
inline greet(w) {
  w_session[w]++; w_phase[w] = GREETING; hello_out[w] = true;
#ifndef LATE_FRAMES
  do
  :: nempty(c2w[w]) -> c2w[w]?kind, x, y, z
  :: empty(c2w[w]) -> break
  od;
  kind = 0; x = 0; y = 0; z = 0;
#endif
  v = 0; r = 0; j = 0;
  do
  :: j < NOPS ->
     t_told[T(w, j)] = false;
     if
     :: t_at[T(w, j)] == T_ENDED -> r = r | (t_end[T(w, j)] << (3 * j)); t_told[T(w, j)] = true
     :: t_at[T(w, j)] == T_RUNNING -> v = v | (1 << j) | (8 << j)
     :: t_at[T(w, j)] == T_QUEUED || t_at[T(w, j)] == T_SPAWNING || t_at[T(w, j)] == T_HELD -> v = v | (1 << j)
     :: else
     fi;
     j++
  :: else -> break
  od;
  assert(nfull(w2c[w]));
  w2c[w]!HELLO, w_session[w], life[w], v, r;
#ifdef RESULTS_FORGOTTEN_WHEN_SENT
  j = 0;
  do
  :: j < NOPS -> if :: t_at[T(w, j)] == T_ENDED -> t_at[T(w, j)] = T_FORGOTTEN :: else fi; j++
  :: else -> break
  od;
#endif
  v = 0; r = 0; j = 0
}

/* @code worker/controller_session.cpp welcomed
   @code protocol/lease.cpp welcomed
   @code worker/task_table.cpp expire_unstarted
   The lease counts from the sending of the hello: it may be over before the welcome comes. */
inline welcomed(w) {
  if
  :: w_session[w] <= dead_upto[w] -> w_phase[w] = APART
  :: else ->
#ifndef QUEUE_OUTLIVES_LEASE
     if
     :: !lease_on[w] ->                                      /* what waited here has died with the lease before */
        j = 0;
        do
        :: j < NOPS -> if :: t_at[T(w, j)] == T_QUEUED -> end_unrun(w, j, LOST_NEVER_RAN) :: else fi; j++
        :: else -> break
        od
     :: else
     fi;
#endif
     w_phase[w] = ATTACHED; lease_on[w] = true
  fi
}

/* @code worker/controller_session.cpp receive
   @code worker/session_loop.cpp hear_controller, apply */
inline receive(w) {
  if
#ifdef ACCEPT_OLD_SESSION
  :: kind == START -> take_start(w, x)
#endif
  :: kind == WELCOME && y == w_session[w] && w_phase[w] == GREETING -> welcomed(w)
  :: kind == START && y == w_session[w] && w_phase[w] == ATTACHED -> take_start(w, x)
  :: (kind == STOP_SCOPE || kind == STOP_OP) && y == w_session[w] && w_phase[w] == ATTACHED -> take_stop(w)
  :: kind == STORED && y == w_session[w] && w_phase[w] == ATTACHED ->
     if :: t_at[T(w, x)] == T_ENDED -> t_at[T(w, x)] = T_FORGOTTEN :: else fi    /* @code worker/task_table.cpp results_stored, forget */
  :: else                                                    /* of another session: dropped unread */
  fi;
  kind = 0; x = 0; y = 0; z = 0; j = 0
}

/* ---- the table ------------------------------------------------------------------------------------------------------ */

/* @code worker/task_table.cpp end_unrun
   @code worker/task_table_ends.cpp end_unrun */
inline end_unrun(w, i, how) {
  t_at[T(w, i)] = T_ENDED; t_end[T(w, i)] = how; t_told[T(w, i)] = false
}

/* @code worker/applied_stops.cpp covers */
#define BOOK_COVERS(w, i) ((book_closed[w] & (1 << (i))) || (PARENT && (i) == 1 && (book_closed[w] & 1)) || as_of[i] <= book_cutoff[w])

/* @code worker/task_table.cpp start */
inline take_start(w, i) {
  assert(durable_on[i] & (1 << w));                                         /* P order: nothing uncommitted leaves */
#ifdef ACCEPT_OLD_SESSION
  if :: t_at[T(w, i)] == T_NONE -> t_at[T(w, i)] = T_QUEUED :: else fi
#else
  assert(t_at[T(w, i)] == T_NONE);                                          /* P at_most_one_run: no start is repeated; the code would ignore it */
  if
  :: BOOK_COVERS(w, i) -> end_unrun(w, i, STOPPED_NEVER_RAN)
  :: else -> t_at[T(w, i)] = T_QUEUED
  fi
#endif
}

/* The stop is in (kind, x operation or cutoff, z cancel + 1). When this returns it is applied.
   @code worker/task_table.cpp stop, touched_by, apply, tighten
   @code worker/applied_stops.cpp record, close */
inline take_stop(w) {
  if
  :: kind == STOP_SCOPE -> if :: x > book_cutoff[w] -> book_cutoff[w] = x :: else fi
  :: else -> book_closed[w] = book_closed[w] | (1 << x)
  fi;
  if :: z != 0 -> applied[w] = applied[w] | (1 << (z - 1)) :: else fi;
  j = 0;
  do
  :: j < NOPS ->                                             /* a parent comes before its child */
     if
     :: t_at[T(w, j)] != T_NONE && t_at[T(w, j)] < T_ENDED &&
        (kind == STOP_SCOPE && (as_of[j] <= x || (PARENT && j == 1 && (book_closed[w] & 1))) ||
         kind == STOP_OP && (j == x || (PARENT && j == 1 && x == 0))) ->
        assert(WAS_MEANT(j) || self_status[j] != NONE);                         /* P only_what_was_meant */
        book_closed[w] = book_closed[w] | (1 << j);
        if
        :: t_at[T(w, j)] == T_QUEUED -> end_unrun(w, j, STOPPED_NEVER_RAN)
        :: t_at[T(w, j)] == T_SPAWNING || t_at[T(w, j)] == T_HELD -> t_stop[T(w, j)] = true; g_stop[T(w, j)] = 2
        :: t_at[T(w, j)] == T_RUNNING && !t_stop[T(w, j)] ->
           t_stop[T(w, j)] = true;
           if :: g_stop[T(w, j)] == 0 -> g_stop[T(w, j)] = 1 :: else fi;
#ifdef FREE_AT_SIGNAL
           w2c[w]!STOPPING, w_session[w], j, 0, 0
#endif
        :: else
        fi
     :: else
     fi;
     j++
  :: else -> break
  od;
  j = 0
}

/* @code worker/task_table.cpp pump
   @code worker/session_loop.cpp spawn */
inline pump(w, i) {
  if
  :: !lease_on[w] -> end_unrun(w, i, LOST_NEVER_RAN)
  :: else -> t_at[T(w, i)] = T_SPAWNING; g_at[T(w, i)] = G_REQUESTED
  fi
}

/* The go: the last look at stop and lease, and the byte on the pipe, in one step of one thread.
   @code worker/task_table_ends.cpp hear, go_result
   @code worker/guardian/client.cpp go, stop */
inline hear_held(w, i) {
  g_event[T(w, i)] = g_event[T(w, i)] & ~E_HELD;
  if
  :: t_at[T(w, i)] == T_SPAWNING ->
     t_at[T(w, i)] = T_HELD;
     if
#ifndef NO_RECHECK_AT_GO
     :: t_stop[T(w, i)] -> skip
     :: !t_stop[T(w, i)] && !lease_on[w] -> g_stop[T(w, i)] = 2
#endif
     :: else ->
        if
        :: g_at[T(w, i)] == G_HELD ->
           let_go_is_right(w, i);
           go[T(w, i)] = true; t_at[T(w, i)] = T_RUNNING
        :: else                                              /* dead already: the byte finds nobody */
        fi
     fi
  :: else
  fi
}

/* No go after the stop was applied here, none for what has ended; and each runs once, in one place. */
#define APPLIED_HERE(k, i) ((applied[w] & (1 << k)) && REACHES(k, i))
inline let_go_is_right(w, i) {
  assert(!(ANY_K(APPLIED_HERE, i)));                                        /* P no_escape: at the go */
  assert(!IS_TERMINAL(st[i]));                                              /* P no_escape: nothing that is over begins */
  assert(!(ever_executed & (1 << i)));                                      /* P at_most_one_run: nothing runs again */
  assert(NOWHERE(i))                                                        /* P at_most_one_run */
}

/* @code worker/task_table_ends.cpp hear
   While greeting, the code keeps the report for after the welcome; here it is lost, which is weaker: the result tells it again. */
inline hear_executing(w, i) {
  g_event[T(w, i)] = g_event[T(w, i)] & ~E_EXECUTING;
  if
  :: t_at[T(w, i)] == T_RUNNING && !t_stop[T(w, i)] && w_phase[w] == ATTACHED ->
     assert(nfull(w2c[w]));
     w2c[w]!STARTED, w_session[w], i, 0, 0
  :: else
  fi
}

/* Who won is decided here: was a stop applied before the end was heard?
   @code worker/task_table_ends.cpp ended, decide, publish, spawn_refused
   @code worker/guardian/client.cpp note */
inline hear_ended(w, i) {
  g_event[T(w, i)] = 0;
  if
  :: t_at[T(w, i)] == T_RUNNING && t_stop[T(w, i)] -> end_unrun(w, i, STOPPED_RAN)
  :: t_at[T(w, i)] == T_RUNNING && !t_stop[T(w, i)] && g_at[T(w, i)] == G_DEAD_BY_LEASE -> end_unrun(w, i, LOST_RAN)
  :: t_at[T(w, i)] == T_RUNNING && !t_stop[T(w, i)] && g_at[T(w, i)] != G_DEAD_BY_LEASE -> end_unrun(w, i, BY_ITSELF)
  :: (t_at[T(w, i)] == T_SPAWNING || t_at[T(w, i)] == T_HELD) && t_stop[T(w, i)] -> end_unrun(w, i, STOPPED_NEVER_RAN)
  :: (t_at[T(w, i)] == T_SPAWNING || t_at[T(w, i)] == T_HELD) && !t_stop[T(w, i)] -> end_unrun(w, i, LOST_NEVER_RAN)
  :: else
  fi;
  g_at[T(w, i)] = G_NONE; g_stop[T(w, i)] = 0; go[T(w, i)] = false; t_stop[T(w, i)] = false
}

/* A result is told once per session and kept until it is stored.
   @code worker/task_table_ends.cpp publish
   @code worker/controller_session.cpp tell */
inline tell_end(w, i) {
  assert(nfull(w2c[w]));
  w2c[w]!ENDED, w_session[w], i, 0, t_end[T(w, i)];
  t_told[T(w, i)] = true;
#ifdef RESULTS_FORGOTTEN_WHEN_SENT
  t_at[T(w, i)] = T_FORGOTTEN
#endif
}

/* The guardian died; all that it had is dead.
   @code worker/session_loop_life.cpp renew_guardian
   @code worker/task_table_ends.cpp swept */
inline swept(w) {
  j = 0;
  do
  :: j < NOPS ->
     if
     :: t_at[T(w, j)] == T_RUNNING -> end_unrun(w, j, (t_stop[T(w, j)] -> STOPPED_RAN : LOST_RAN))
     :: t_at[T(w, j)] == T_SPAWNING || t_at[T(w, j)] == T_HELD ->
        end_unrun(w, j, (t_stop[T(w, j)] -> STOPPED_NEVER_RAN : LOST_NEVER_RAN))
     :: else
     fi;
     g_at[T(w, j)] = G_NONE; g_event[T(w, j)] = 0; g_stop[T(w, j)] = 0; go[T(w, j)] = false; t_stop[T(w, j)] = false;
     j++
  :: else -> break
  od;
  guardian_gone[w] = false; w_phase[w] = APART; j = 0
}

/* kill -9: the table, the book and the session are gone; the guardian reads EOF. */
inline worker_dies(w) {
  life[w]++; w_phase[w] = APART; worker_gone[w] = true; lease_on[w] = false;
  book_cutoff[w] = 0; book_closed[w] = 0;
  j = 0;
  do
  :: j < NOPS ->
     t_at[T(w, j)] = T_NONE; t_end[T(w, j)] = 0; t_stop[T(w, j)] = false; t_told[T(w, j)] = false;
     g_event[T(w, j)] = 0; j++
  :: else -> break
  od;
  j = 0
}

/* ---- the guardian and the tasks ------------------------------------------------------------------------------------- */

/* What begins to execute is not over for the controller, and never ran before. */
inline executes(w, i, how) {
  assert(!IS_TERMINAL(st[i]));                                              /* P no_escape: nothing that is over begins */
  assert(!(ever_executed & (1 << i)));                                      /* P at_most_one_run: nothing runs again */
  ever_executed = ever_executed | (1 << i);
  g_at[T(w, i)] = how; g_event[T(w, i)] = g_event[T(w, i)] | E_EXECUTING
}

#define HEARD(w) (!worker_gone[w] && !guardian_gone[w])
inline dies(w, i, how) {
  g_at[T(w, i)] = how;
  if :: HEARD(w) -> g_event[T(w, i)] = g_event[T(w, i)] | E_ENDED :: else fi
}
