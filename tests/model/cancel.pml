/* Cancel against start, crash, reconnect and lease: the protocol of quell at small sizes, for an exhaustive search by SPIN.
 *
 * What is modelled as it is: seqs, cutoffs and tombstones; operations with an own end and a terminal status; placing; the
 * order of frames on the channel of one session; hello, inventory, results that are kept until stored; the worker's table
 * and its book of stops; the held child and the go; the guardian's signal, kill and proof; loss of everything that is not on
 * disk when the controller dies, of the table when a worker dies, of the tasks when a guardian dies.
 * What is abstracted, and why that is sound:
 *  - A controller turn and its commit are one step. A turn that is lost in a crash is the same as a crash before it, since a
 *    crash loses what it had read, too. A crash between commit and effects is a step of its own (commit_and_leave).
 *  - Within one session a frame is delivered once and in order; channel.pml shows that for the numbered channel.
 *  - Time is order. A lease ends at the worker (lease_on falls) whenever it likes; the guardian kills; only then may the
 *    controller conclude (dead_by). lease.pml shows that the arithmetic of both ends gives exactly this order.
 *  - Heartbeats are not frames here: that a session is over is read off the other side's state.
 *  - The mark "signalled" is taken to be the instant at which the worker applies the stop, which is earlier than the
 *    acknowledgement; so what is checked from there on is more than what is promised.
 * Each step names the code that it stands for, in a comment that begins with @code; check_code_names.py looks them up.
 */
#ifndef NW
#define NW 1       /* workers */
#endif
#ifndef NOPS
#define NOPS 2     /* operations */
#endif
#ifndef NK
#define NK 2       /* cancels */
#endif
#ifndef SLOTS
#define SLOTS 2    /* of each worker */
#endif
#ifndef CCRASH
#define CCRASH 1   /* kill -9 of the controller, at most */
#endif
#ifndef WCRASH
#define WCRASH 1   /* of a worker */
#endif
#ifndef GCRASH
#define GCRASH 0   /* of a guardian */
#endif
#ifndef BREAKS
#define BREAKS 1   /* broken connections, given-up hellos */
#endif
#ifndef LEASES
#define LEASES 0   /* leases that end although both sides are in touch (a freeze); without touch they may always end */
#endif
#ifndef PARENT
#define PARENT 1   /* operation 1 is a child of operation 0 */
#endif
#ifndef DEFER
#define DEFER 1    /* operations may be registered with an as_of of before */
#endif

#ifdef LATE_FRAMES
#define QC 16
#else
#define QC 8
#endif
#define QW 8

mtype = { WELCOME, START, STOP_SCOPE, STOP_OP, STORED, HELLO, STARTED, STOPPING, ENDED }

/* status of an operation; what is being cancelled is derived and has no value of its own */
#define NONE 0
#define PENDING 1
#define RUNNING 2
#define COMPLETED 3
#define FAILED 4
#define CANCELLED 5
#define REFUSED 6
#define IS_TERMINAL(s) ((s) >= COMPLETED && (s) <= CANCELLED)
#define LIVE(i) (st[i] == PENDING || st[i] == RUNNING)

/* cancels */
#define OPEN 1
#define SETTLED 2
#define JOINED 3
#define WHOLE_SCOPE 9

/* a task in the worker's table */
#define T_NONE 0
#define T_QUEUED 1
#define T_SPAWNING 2
#define T_HELD 3
#define T_RUNNING 4
#define T_ENDED 5
#define T_FORGOTTEN 6

/* how a task ended, as its worker reports it */
#define BY_ITSELF 1
#define STOPPED_RAN 2
#define STOPPED_NEVER_RAN 3
#define LOST_RAN 4
#define LOST_NEVER_RAN 5

/* a task at the guardian */
#define G_NONE 0
#define G_REQUESTED 1
#define G_HELD 2
#define G_OBEDIENT 3   /* executes; may end by itself or on the signal */
#define G_STUBBORN 4   /* executes; only the kill ends it */
#define G_DEAD 5
#define G_DEAD_BY_LEASE 6
#define EXECUTES(w, i) (g_at[T(w, i)] == G_OBEDIENT || g_at[T(w, i)] == G_STUBBORN)
#define E_HELD 1
#define E_EXECUTING 2
#define E_ENDED 4

/* a session at the worker */
#define APART 0
#define GREETING 1
#define ATTACHED 2

#define T(w, i) ((w) * NOPS + (i))

/* ---- the controller: what is on disk after each turn ---------------------------------------------------------------- */
byte st[NOPS], seq[NOPS], as_of[NOPS], self_status[NOPS];
byte held_by[NOPS];                 /* worker + 1; 0 = none */
byte k_at[NK], k_seq[NK], k_target[NK], k_joined[NK];
byte cutoff;                        /* of the one scope */
byte tombs;                         /* bit i: operation i was cancelled before it was created */
byte next_seq = 1;
byte known_life[NW];
/* ---- and what is in its memory only */
byte c_session[NW], last_session[NW];
bool lost[NW];
/* ---- the network */
chan c2w[NW] = [QC] of { mtype, byte, byte, byte };           /* kind, session, operation or cutoff, cancel + 1 */
chan w2c[NW] = [QW] of { mtype, byte, byte, byte, short };    /* kind, session, life or operation, inventory, results */
byte late_session[NW], late_life[NW], late_inventory[NW];     /* a hello that is overtaken by the next one */
short late_results[NW];
/* ---- the workers */
byte life[NW], w_session[NW], w_phase[NW];
bool hello_out[NW];
byte t_at[NW * NOPS], t_end[NW * NOPS];
bool t_stop[NW * NOPS], t_told[NW * NOPS];
byte book_cutoff[NW], book_closed[NW];
bool lease_on[NW];
/* ---- the guardians and the tasks */
byte g_at[NW * NOPS], g_event[NW * NOPS];
byte g_stop[NW * NOPS];             /* 1 = ordered, 2 = signalled, the kill is due */
bool go[NW * NOPS];
bool worker_gone[NW], guardian_gone[NW];
/* ---- faults that are left */
byte c_crashes = CCRASH, w_crashes = WCRASH, g_crashes = GCRASH, breaks = BREAKS, freezes = LEASES;
/* ---- what the properties look at; no step depends on these, except dead_upto, which stands for the passing of time */
bool accepted[NK];
byte shown[NOPS];                   /* the terminal status that somebody has been told */
byte durable_on[NOPS];              /* bit w: the assignment to w has been on disk */
byte ever_executed;                 /* bit i */
byte applied[NW];                   /* bit k: the stop of cancel k was applied here */
byte granted[NW], dead_upto[NW];
byte said[NOPS];                    /* as_of of an operation that is registered later */

/* ---- scratch: zero between steps (not `hidden`: the search would find it stale after going back) */
mtype out_kind[QC];
byte out_to[QC], out_session[QC], out_a[QC], out_k[QC], n_out;
byte a, b, c, j, v, x, y, z;
short r;
mtype kind;

/* @code controller/ledger/stop_of.cpp stop_of
   @code controller/ledger/cancel_coverage.cpp covers */
#define AIMS(k, i) (k_target[k] == WHOLE_SCOPE || k_target[k] == (i) || (PARENT && (i) == 1 && k_target[k] == 0))
#define COVERS(k, i) (k_at[k] == OPEN && seq[i] < k_seq[k] && AIMS(k, i))
#if NK == 1
#define ANY_K(what, i) (what(0, i))
#elif NK == 2
#define ANY_K(what, i) (what(0, i) || what(1, i))
#else
#define ANY_K(what, i) (what(0, i) || what(1, i) || what(2, i))
#endif
/* @code controller/ledger/stop_of.cpp parent_end_stops */
#define PARENT_END_STOPS(i) (PARENT && (i) == 1 && (self_status[0] == FAILED || self_status[0] == CANCELLED))
#define STOP_OF(i) (ANY_K(COVERS, i) || PARENT_END_STOPS(i))
/* for the properties: of all cancels that there ever were, not only of the open ones */
#define REACHES(k, i) (k_at[k] != NONE && k_at[k] != JOINED && AIMS(k, i) && (k_target[k] != WHOLE_SCOPE || as_of[i] <= k_seq[k]))
#define WAS_MEANT(i) (ANY_K(REACHES, i) || PARENT_END_STOPS(i))

#if NW == 1
#define NOWHERE(i) (!EXECUTES(0, i))
#else
#define NOWHERE(i) (!EXECUTES(0, i) && !EXECUTES(1, i))
#endif

#include "controller.pml"
#include "orders.pml"
#include "worker.pml"
#include "processes.pml"
