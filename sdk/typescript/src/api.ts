// Made by `npm run generate` from the server's own description. Do not edit.

export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description What somebody answered. */
        AnswerView: {
            approved: boolean;
            by: string;
            comment?: string;
        };
        /** @description `event.data.order` has to be `"o-7"`. */
        AwaitKey: {
            is: unknown;
            of: string;
        };
        /**
         * @description The name of a blob. Wherever a value says it, the value mentions that blob.
         * @example blob:sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad
         */
        BlobRef: string;
        /**
         * @description How a cancelled task came to be so.
         * @enum {string}
         */
        CancelCause: "asked" | "cleared" | "expired" | "shed" | "replaced";
        CancelledView: {
            by: string;
            cause: components["schemas"]["CancelCause"];
            reason: string;
        };
        /**
         * @description A place in the stream of records: opaque to clients, handed back as `Last-Event-ID`.
         * @example r1042
         */
        Cursor: string;
        /** @enum {string} */
        EndingView: "cancel" | "timed_out";
        /** @description The body of every answer that is not a success. */
        ErrorBody: {
            error: components["schemas"]["Problem"];
        };
        /**
         * @description Something that happened. Everything but `name` may be left out.
         * @example {
         *       "data": {
         *         "ref": "refs/heads/main"
         *       },
         *       "id": "delivery-7",
         *       "name": "github/push"
         *     }
         */
        EventEmit: {
            /** @description Any JSON; null when left out. */
            data?: unknown;
            /** @description By which handlers that ask for it tell that one came before. */
            dedup_key?: string | null;
            /** @description Sent again with the same id, it is the same event: the answer is the same and nothing happens twice. */
            id?: string | null;
            /** @description Its family is the part before the last `/` or `.`. */
            name: string;
            priority?: components["schemas"]["Priority"] | null;
            /** @description Who or what sent it. */
            source?: string | null;
            trace?: components["schemas"]["EventTrace"] | null;
            ts?: components["schemas"]["Instant"] | null;
        };
        /** @description What became of an event: at each handler that takes it. */
        EventEmitted: {
            /** @description It had come before with another name or other data: those stay, and these are not kept. */
            differs?: boolean;
            /** @description It had come before: this is what became of it then. */
            duplicate: boolean;
            event: string;
            /** @description Empty, and nobody heard it: it is kept, and counted as unhandled. */
            handled: components["schemas"]["HandledView"][];
            /** @description Runs that waited for it and go on with it, the first ones. */
            heard?: string[];
        };
        /** @description How events belong together, as their senders say it. */
        EventTrace: {
            causation_id?: string | null;
            correlation_id?: string | null;
        };
        /** @description Turns of a loop, or items of an each, that were begun. */
        FrameCounts: {
            /**
             * Format: int64
             * @default 0
             */
            done: number;
            /**
             * Format: int64
             * @default 0
             */
            dropped: number;
            /**
             * Format: int64
             * @default 0
             */
            failed: number;
            /**
             * Format: int64
             * @default 0
             */
            open: number;
            /**
             * Format: int64
             * @description Turns or items that restarts have undone. They are not among the others.
             * @default 0
             */
            undone: number;
        };
        /** @description `outcome`: `queued`, `debounced`, `batched`, `duplicate`, `skipped`, `rate_dropped`, `backlog_dropped`, `failed` or `shadow`. */
        HandledView: {
            handler: string;
            outcome: string;
            /** @description The run that does its work, and how that is now; likewise. */
            run?: string | null;
            run_status?: components["schemas"]["RunStatus"] | null;
            status?: components["schemas"]["Status"] | null;
            /** @description The task that stands for it. */
            task?: string | null;
            /** @description A sentence. */
            why: string;
        };
        Holding: {
            fence: string;
            /** @description Lines that were said since the last poll, for people: `GET /v1/tasks/{task}/log`. */
            log?: string[];
            /** @description What it is at, in a few words; told with `progress`. */
            message?: string | null;
            /**
             * Format: double
             * @description From 0 to 1, for people.
             */
            progress?: number | null;
            task: string;
        };
        HoldingAnswer: {
            /** @description Stop, and say so with a result. */
            cancel?: boolean;
            code?: string | null;
            /** Format: int32 */
            heartbeat_ms?: number | null;
            message?: string | null;
            /** @description False: the lease is lost, the work no longer counts. */
            ok: boolean;
            task: string;
        };
        /**
         * Format: date-time
         * @description An instant, `2026-11-15T08:57:00.250000Z`.
         * @example 2026-11-15T08:57:00.250000Z
         */
        Instant: string;
        /** @description Who works on it, and how long it may. */
        LeaseView: {
            budget_until: components["schemas"]["Instant"];
            ending?: components["schemas"]["EndingView"] | null;
            fence: string;
            /** Format: int32 */
            heartbeat_ms: number;
            message?: string | null;
            /**
             * Format: double
             * @description How far the worker is, from 0 to 1, and at what, by its own word.
             */
            progress?: number | null;
            /** @description The run that does the work: no worker is heard of, and no budget counts. */
            run?: string | null;
            since: components["schemas"]["Instant"];
            worker: string;
        };
        /** @description A command and what it is for. */
        NextAction: {
            command: string;
            description: string;
        };
        /** @description Its nodes by status, those of loops and eaches included. */
        NodeCounts: {
            /**
             * Format: int64
             * @default 0
             */
            asking: number;
            /**
             * Format: int64
             * @default 0
             */
            awaiting: number;
            /**
             * Format: int64
             * @default 0
             */
            cancelled: number;
            /**
             * Format: int64
             * @default 0
             */
            done: number;
            /**
             * Format: int64
             * @default 0
             */
            failed: number;
            /**
             * @description There are more than were counted.
             * @default false
             */
            more: boolean;
            /**
             * Format: int64
             * @default 0
             */
            queued: number;
            /**
             * Format: int64
             * @default 0
             */
            running: number;
            /**
             * Format: int64
             * @default 0
             */
            skipped: number;
            /**
             * Format: int64
             * @default 0
             */
            sleeping: number;
            /**
             * Format: int64
             * @description Nodes that restarts have undone, where those were asked for. They are not among the others.
             * @default 0
             */
            undone: number;
            /**
             * Format: int64
             * @default 0
             */
            waiting: number;
        };
        /** @description Who said what a node gives, instead of its worker. */
        NodeSetBy: {
            by: string;
            reason: string;
        };
        /**
         * @description Where a node stands.
         * @enum {string}
         */
        NodeStatus: "waiting" | "queued" | "running" | "asking" | "sleeping" | "awaiting" | "done" | "failed" | "skipped" | "cancelled";
        /** @description One node of one frame of a run. */
        NodeView: {
            again_at?: components["schemas"]["Instant"] | null;
            answer?: components["schemas"]["AnswerView"] | null;
            /**
             * Format: int32
             * @description How often its task was tried; of one node alone.
             */
            attempts?: number | null;
            await_key?: components["schemas"]["AwaitKey"] | null;
            /** @description What else has to hold for that event, as its `match` is written; left out where `await_key` is all of it. */
            await_match?: string | null;
            /** @description The name of the event that it waits for, or waited for. */
            awaits?: string | null;
            /** @description Why it was skipped: `untaken`, or `failed` when something before it failed. */
            cause?: string | null;
            /** Format: int64 */
            duration_ms?: number | null;
            ended_at?: components["schemas"]["Instant"] | null;
            error?: components["schemas"]["TaskError"] | null;
            /** @description The turn or item it stands in; left out for the run's own frame. */
            frame?: string;
            frames?: components["schemas"]["FrameCounts"] | null;
            /** @description The event by which it is done. */
            heard?: string | null;
            /** @description What its definition calls it. */
            id: string;
            /** @description What it was given, of one node alone: its task's input, the called run's, what it asks, what it turns or goes over. */
            input?: unknown;
            /**
             * Format: int32
             * @description Of an each: over how many it goes.
             */
            items?: number | null;
            last_error?: components["schemas"]["TaskError"] | null;
            message?: string | null;
            /** @description `pay`, or `rounds[1].check[4]/lint` in a loop or an each. */
            node: string;
            /** @description Only where it was asked for; one that passes on what it was given has none of its own. */
            output?: unknown;
            /**
             * Format: double
             * @description How far that is, from 0 to 1, and at what, by its own word; of a node that is shown alone.
             */
            progress?: number | null;
            /**
             * Format: int32
             * @description A patch has taken it out: the first revision of the run's definition without it.
             */
            removed?: number | null;
            set?: components["schemas"]["NodeSetBy"] | null;
            since?: components["schemas"]["Instant"] | null;
            status: components["schemas"]["NodeStatus"];
            /** @description The run it called. */
            sub_run?: string | null;
            task?: string | null;
            /** @description What its failure means: `fail`, `to` or `ignore`. */
            then?: string | null;
            /** @description Where that way leads. */
            to?: string[];
            type?: string | null;
            /** @description A restart has undone the turn or item that it stands in. */
            undone?: boolean;
            until?: components["schemas"]["Instant"] | null;
            /** @description Of one that waits: the nodes before it that have not ended. */
            waits_for?: string[];
            /** @description The way it took, where there was a choice: `rules[0]`, `default`, `named`, `rejected`, `timed_out`, `max`. */
            way?: string | null;
            /** @description What made it so: a condition that did not hold, the way that another node went, a failure. */
            why?: string | null;
            /** @description The worker that is at its task; of one that was cancelled, the worker that has still to stop. */
            worker?: string | null;
        };
        Priority: ("critical" | "high" | "normal" | "background") | number;
        Problem: {
            changes?: string[];
            /**
             * @description Stable: programs may match on it.
             * @example wrong_state
             */
            code: string;
            /** @description What to do about it. */
            fix: string;
            /** @description A sentence for people; its wording may change. */
            message: string;
            /** @description Commands that help, to be run as they are. */
            next_actions?: components["schemas"]["NextAction"][];
            /** @description Each on its own, where a text or a value is wrong in several places. */
            problems?: components["schemas"]["ProblemAt"][];
            /** Format: int64 */
            retry_after_ms?: number | null;
            /** @description Whether the same request may succeed later. */
            retryable: boolean;
            /**
             * Format: int32
             * @description Of a run that was changed by somebody else meanwhile: the revision it is at, and what is different by that.
             */
            revision?: number | null;
        };
        /** @description What is wrong at one place of a text or a value. */
        ProblemAt: {
            /**
             * Format: int32
             * @description From 1, in characters.
             */
            column?: number | null;
            /**
             * Format: int32
             * @description From 1.
             */
            line?: number | null;
            message: string;
            /** @description Such as `nodes.route.rules[0].to`, or `/order` in a value. */
            path: string;
            suggestion?: string | null;
        };
        ResultAnswer: {
            code?: string | null;
            /** @description The same result had counted before. */
            duplicate?: boolean;
            message?: string | null;
            ok: boolean;
            task: string;
        };
        /** @description When a failed attempt is tried again. */
        Retry: {
            /**
             * Format: int32
             * @description Attempts in all, the first included.
             */
            attempts?: number;
            /** Format: int64 */
            backoff_max_ms?: number;
            /**
             * Format: int64
             * @description Wait after the first failure; it doubles after each further one.
             */
            backoff_ms?: number;
            /**
             * Format: int32
             * @description How much of the wait, in percent, chance may add.
             */
            jitter_percent?: number;
        };
        RunCancelledView: {
            by: string;
            reason: string;
        };
        /** @description Where the run stands after the command. */
        RunNow: {
            /** @description Of one that was cancelled: the node that called it, which fails by that. */
            caller?: string | null;
            /** @description Whether the command made a difference: one that is paused already, or was not, stays as it is. */
            changed: boolean;
            /**
             * Format: int32
             * @description Of one that was restarted: how often it was, with that.
             */
            generation?: number | null;
            /** @description It is paused: nothing new begins in it. */
            paused?: boolean;
            /**
             * Format: int32
             * @description Of one whose definition was changed: its revision with that.
             */
            revision?: number | null;
            run: string;
            status: components["schemas"]["RunStatus"];
            was?: components["schemas"]["RunStatus"] | null;
        };
        /** @description Where a run was forked from another. */
        RunOrigin: {
            /** @description It goes on from before this one. */
            node?: string | null;
            record: components["schemas"]["Cursor"];
            run: string;
        };
        RunPauseView: {
            by: string;
            reason: string;
            since: components["schemas"]["Instant"];
        };
        /** @description A run to start. Everything but `workflow` may be left out. */
        RunStart: {
            by?: string | null;
            deadline?: components["schemas"]["Instant"] | null;
            /**
             * Format: int64
             * @description Instead of `deadline`: so long after its start.
             */
            deadline_ms?: number | null;
            /**
             * @description Starting again with the same key answers the run it made the first time. Keys are of one workflow: another may use the
             *     same.
             */
            idempotency_key?: string | null;
            /** @description As the workflow's `input` says; null when left out. */
            input?: unknown;
            priority?: components["schemas"]["Priority"] | null;
            tags?: string[];
            /**
             * Format: int32
             * @description The newest when left out.
             */
            version?: number | null;
            workflow: string;
        };
        RunStarted: {
            /** @description The idempotency key was used before: this is the run it made then. */
            duplicate: boolean;
            /** @description And that was for another input, which was used; nothing of this request was. */
            input_differs?: boolean;
            run: string;
        };
        /**
         * @description Where a run stands.
         * @enum {string}
         */
        RunStatus: "running" | "done" | "failed" | "cancelled";
        /** @description A run as it stands. In lists `input`, `output`, `counts` and `nodes` are left out. */
        RunView: {
            cancelled?: components["schemas"]["RunCancelledView"] | null;
            counts?: components["schemas"]["NodeCounts"] | null;
            deadline?: components["schemas"]["Instant"] | null;
            /** @description What belongs to it is being deleted. */
            deleting?: boolean;
            /**
             * Format: int64
             * @description From its first start to its end, with all that lay between: a retry or a restart later does not count from there.
             */
            duration_ms?: number | null;
            ended_at?: components["schemas"]["Instant"] | null;
            error?: components["schemas"]["TaskError"] | null;
            /** @description The event it was started for, the newest if several. */
            event?: string | null;
            /** @description The node that failed it. */
            failed_at?: string | null;
            /**
             * Format: int32
             * @description How often it was restarted from a node.
             */
            generation?: number;
            /** @description It is paused with the run that called it. */
            held?: boolean;
            idempotency_key?: string | null;
            input?: unknown;
            nodes?: components["schemas"]["NodeView"][];
            origin?: components["schemas"]["RunOrigin"] | null;
            output?: unknown;
            /** @description The node that called it, such as `run-7/pay`. */
            parent?: string | null;
            pause?: components["schemas"]["RunPauseView"] | null;
            /** Format: int32 */
            priority?: number | null;
            /** @description It has ended short, and what stopped can be tried again. */
            retryable?: boolean;
            /**
             * Format: int32
             * @description How often its definition was changed.
             */
            revision?: number;
            run: string;
            started_at: components["schemas"]["Instant"];
            status: components["schemas"]["RunStatus"];
            /** @description It has ended, and what was under way in it is still being stopped. */
            stopping?: boolean;
            tags?: string[];
            /** @description In a list of what one run has called: a restart has undone that call. */
            undone?: boolean;
            /** Format: int32 */
            version: number;
            workflow: string;
        };
        /**
         * @description Where a task stands.
         * @enum {string}
         */
        Status: "idle" | "queued" | "running" | "done" | "failed" | "cancelled";
        /**
         * @description A task to add. Everything but `type` may be left out.
         * @example {
         *       "input": {
         *         "file": "a.rs"
         *       },
         *       "keys": {
         *         "tenant": "acme"
         *       },
         *       "priority": "high",
         *       "type": "lint"
         *     }
         */
        TaskAdd: {
            /** @description Waits until each of these is done. */
            blocked_by?: string[];
            /**
             * Format: int64
             * @description How long one attempt may run.
             */
            budget_ms?: number | null;
            /**
             * Format: int64
             * @description Instead of `scheduled_for`: so long after it is added.
             */
            delay_ms?: number | null;
            /** @description Adding again with the same key answers the task it made the first time. */
            idempotency_key?: string | null;
            /** @description Added without entering its queue. */
            idle?: boolean;
            /** @description Any JSON; null when left out. */
            input?: unknown;
            /** @description A value for each limit key it counts under. */
            keys?: {
                [key: string]: string;
            };
            priority?: components["schemas"]["Priority"] | null;
            /** @description The type's own name when left out. */
            queue?: string | null;
            retry?: components["schemas"]["Retry"] | null;
            scheduled_for?: components["schemas"]["Instant"] | null;
            start_by?: components["schemas"]["Instant"] | null;
            tags?: string[];
            type: string;
        };
        TaskAdded: {
            /** @description The idempotency key was used before: this is the task it made then. */
            duplicate: boolean;
            task: string;
        };
        /** @description Why an attempt did not succeed. */
        TaskError: {
            code: string;
            message?: string;
        };
        /**
         * @description Where the task stands after the command. A deleted task is shown with the status it had, or as cancelled if it
         *     was waiting.
         */
        TaskStatus: {
            status: components["schemas"]["Status"];
            task: string;
        };
        /** @description A task as it stands. In lists `input` and `output` are left out. */
        TaskView: {
            /**
             * Format: int32
             * @description Attempts begun.
             */
            attempt: number;
            blocked_by?: string[];
            cancelled?: components["schemas"]["CancelledView"] | null;
            created_at: components["schemas"]["Instant"];
            error?: components["schemas"]["TaskError"] | null;
            finished_at?: components["schemas"]["Instant"] | null;
            /** @description Its run is paused. */
            held?: boolean;
            idempotency_key?: string | null;
            input?: unknown;
            keys?: {
                [key: string]: string;
            };
            lease?: components["schemas"]["LeaseView"] | null;
            /** @description The node of that run, such as `rounds[1].check[4]/lint`. */
            node?: string | null;
            output?: unknown;
            /** Format: int32 */
            priority: number;
            queue: string;
            ready_at?: components["schemas"]["Instant"] | null;
            /** @description The run it is work of. */
            run?: string | null;
            /** @description Waits on an override slot, past the queue's limits. */
            run_now?: boolean;
            scheduled_for?: components["schemas"]["Instant"] | null;
            since?: components["schemas"]["Instant"] | null;
            start_by?: components["schemas"]["Instant"] | null;
            status: components["schemas"]["Status"];
            tags?: string[];
            task: string;
            trigger?: components["schemas"]["TriggerView"] | null;
            type: string;
        };
        /** @description What a task was made of. */
        TriggerView: {
            critical?: boolean;
            /** @description The newest, where there are several. */
            event: string;
            /**
             * Format: int32
             * @description How many events came together in it.
             */
            events: number;
            handler: string;
            name: string;
            /** @description `debounce` or `batch`. */
            window?: string | null;
            /** @description A run of it does the work. */
            workflow?: string | null;
        };
        /** @description A task whose input cannot be made. */
        UnmadeTask: {
            error: components["schemas"]["TaskError"];
            task: string;
            type: string;
        };
        WorkAnswer: {
            /**
             * @description One for each lease held, in order.
             * @default []
             */
            holding: components["schemas"]["HoldingAnswer"][];
            /**
             * @description One for each result, in order.
             * @default []
             */
            results: components["schemas"]["ResultAnswer"][];
            /**
             * @description The server goes away: no more work comes until it is back.
             * @default false
             */
            stopping: boolean;
            /** @default [] */
            tasks: components["schemas"]["WorkTask"][];
            /**
             * @description Tasks that this worker would have been given, had their input not failed to be made: they have failed, and there is nothing to do.
             * @default []
             */
            unmade: components["schemas"]["UnmadeTask"][];
        };
        /**
         * @example {
         *       "types": [
         *         "lint"
         *       ],
         *       "wait_ms": 20000,
         *       "want": 1,
         *       "worker": "py-1"
         *     }
         */
        WorkPoll: {
            /** @description Every lease it still works on: one that is neither here nor in `results` is taken back. */
            holding?: components["schemas"]["Holding"][];
            /** @description Only from these queues; from all when empty. */
            queues?: string[];
            results?: components["schemas"]["WorkResult"][];
            types: string[];
            /**
             * Format: int64
             * @description How long to wait for one when there is nothing to report; with `want` 0, for word that something held should stop.
             */
            wait_ms?: number;
            /** @description Tasks it can take on. */
            want?: number;
            /** @description One poll in flight per name. */
            worker: string;
        };
        WorkResult: {
            error?: components["schemas"]["TaskError"] | null;
            fence: string;
            /** @description Lines that were said since the last poll, for people. */
            log?: string[];
            /** @description Of a task that is done; any JSON, null when left out. */
            output?: unknown;
            output_ref?: components["schemas"]["BlobRef"] | null;
            /**
             * Format: int64
             * @description Not before so long, whatever the backoff says.
             */
            retry_after_ms?: number | null;
            /** @description Whether another attempt could help; true when left out. */
            retryable?: boolean | null;
            status: components["schemas"]["WorkStatus"];
            task: string;
        };
        /** @enum {string} */
        WorkStatus: "done" | "failed" | "released";
        /** @description One attempt at a task, leased to this worker. */
        WorkTask: {
            /**
             * Format: int32
             * @description From 1.
             */
            attempt: number;
            /**
             * Format: int64
             * @description How long this attempt may take.
             */
            budget_ms: number;
            /** @description Proves the lease; with it a worker may also patch its own run. */
            fence: string;
            /**
             * Format: int32
             * @description Poll at least so often, with this lease in `holding`.
             */
            heartbeat_ms: number;
            /** @description The same over all attempts: that of the run's node, the caller's, or the task's id. */
            idempotency_key: string;
            input: unknown;
            /** @description The node of that run it is the work of, such as `rounds[1].check[4]/lint`. */
            node?: string | null;
            queue: string;
            /** @description The run it is part of. */
            run?: string | null;
            task: string;
            trigger?: components["schemas"]["TriggerView"] | null;
            type: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
