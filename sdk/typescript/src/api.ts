// Made by `make sdk-types` from the server's own description. Do not edit.

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
        /** @description Yes or no. The first answer counts. */
        ApprovalAnswer: {
            approved: boolean;
            /** @description One of those it asks. */
            by?: string | null;
            comment?: string | null;
            /** @description Such as `run-7/ask`. */
            node: string;
        };
        ApprovalAnswered: {
            approved: boolean;
            by: string;
            node: string;
        };
        /** @description The longest waiting first. */
        ApprovalList: {
            approvals: components["schemas"]["ApprovalView"][];
            /** @description The cursor of the next page; null on the last. */
            next?: string | null;
        };
        /** @description A node that waits for somebody's answer. */
        ApprovalView: {
            message?: unknown;
            /** @description What an answer names, such as `run-7/rounds[1]/ask`. */
            node: string;
            run: string;
            since: components["schemas"]["Instant"];
            until?: components["schemas"]["Instant"] | null;
            /** @description Who may answer; anyone when empty. */
            who: string[];
            workflow: string;
        };
        /** @description `event.data.order` has to be `"o-7"`. */
        AwaitKey: {
            is: unknown;
            of: string;
        };
        /** @enum {string} */
        BacklogFull: "refuse" | "drop_oldest";
        /** @description What was put. */
        BlobPut: {
            /**
             * Format: int64
             * @description It stays so long, counted from now, until something mentions it; longer if something does. Left out: for good.
             */
            grace_ms?: number | null;
            ref: components["schemas"]["BlobRef"];
            /** Format: int64 */
            size: number;
        };
        /**
         * @description The name of a blob. Wherever a value says it, the value mentions that blob.
         * @example blob:sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad
         */
        BlobRef: string;
        /** @description What came of a look at some of the blobs. */
        BlobsSwept: {
            next?: components["schemas"]["BlobRef"] | null;
            /**
             * Format: int64
             * @description Nothing mentions these and their grace period is over: they are gone, or would be.
             */
            removed: number;
            /** Format: int64 */
            removed_bytes: number;
            /** Format: int64 */
            seen: number;
            /** Format: int64 */
            seen_bytes: number;
            /** @description Why some of them could not be removed. */
            trouble?: string | null;
            /**
             * Format: int64
             * @description Nothing mentions these, but their grace period goes on.
             */
            young: number;
        };
        /** @description Where blobs are kept, and how that goes. */
        BlobsView: {
            place: string;
            /**
             * Format: int64
             * @description Removed by the last look at all of them, as far as it has gone.
             */
            removed: number;
            /** @description Why it cannot be reached, or what nothing mentions cannot be removed. */
            trouble?: string | null;
        };
        BlockedOn: {
            /** @description Stable: `paused`, `rate`, `no_worker` … */
            code: string;
            eta?: components["schemas"]["Instant"] | null;
            sentence: string;
            since?: components["schemas"]["Instant"] | null;
        };
        /** @description A head start for the whole queue, or for the tasks that carry one key's value. */
        BoostView: {
            key?: components["schemas"]["KeyPair"] | null;
            /** Format: int32 */
            seconds: number;
        };
        /** @description A bulk was started, or would be, or the tasks were changed at once, or a boost was set and there is nothing to say. */
        BulkAnswer: {
            /** @description Not all that wait were looked at: there may be more. */
            at_least?: boolean;
            /** @description The bulk that does it. */
            bulk?: string;
            /** @description Tasks that were changed at once. */
            changed?: number;
            /** @description Tasks that were not in a state to be changed. */
            skipped?: number;
            /** @description Of a dry run: tasks that wait now and would be changed. */
            would_change?: number;
        };
        BulkList: {
            bulks: components["schemas"]["BulkView"][];
        };
        /**
         * @description Where a bulk stands.
         * @enum {string}
         */
        BulkStatus: "open" | "done" | "cancelled";
        /** @description Work over many tasks or runs, done a chunk at a time. */
        BulkView: {
            bulk: string;
            by: string;
            /** @description Of a shed: which families. */
            families?: string[];
            filter?: components["schemas"]["TaskFilter"] | null;
            finished_at?: components["schemas"]["Instant"] | null;
            /**
             * Format: int64
             * @description Tasks changed so far, or runs.
             */
            items: number;
            /** @description Of a patch: what it changes in each text, its `operations`, `set` and `unset`. */
            patch?: unknown;
            /**
             * Format: int32
             * @description At most so many a second.
             */
            per_s?: number | null;
            queue?: string | null;
            reason: string;
            /** @description The first runs that were left as they were, and why. */
            refused?: components["schemas"]["RunRefused"][];
            resume_at?: components["schemas"]["Instant"] | null;
            /** Format: int64 */
            skipped: number;
            started_at: components["schemas"]["Instant"];
            status: components["schemas"]["BulkStatus"];
            /**
             * Format: int32
             * @description Of a shed: the highest priority that is shed.
             */
            upto?: number | null;
            /** @description Which runs, if it is over runs. */
            where?: string | null;
            /**
             * @description `clear`, `drain`, `shed`, `reprioritize`, `redrive` or `unblock`; over runs `cancel_runs`, `retry_runs`, `pause_runs`,
             *     `resume_runs`, `restart_runs` or `patch_runs`.
             */
            work: string;
        };
        /** @description What a bulk was told to do; `work` says which. */
        BulkWorkView: {
            filter?: components["schemas"]["TaskFilter"] | null;
            queue: string;
            reason: string;
            /** @enum {string} */
            work: "clear";
        } | {
            filter?: components["schemas"]["TaskFilter"] | null;
            queue: string;
            /** @enum {string} */
            work: "drain";
        } | {
            families: string[];
            reason: string;
            /** Format: int32 */
            upto: number;
            /** @enum {string} */
            work: "shed";
        } | {
            filter: components["schemas"]["TaskFilter"];
            /** Format: int32 */
            priority: number;
            queue: string;
            /** @enum {string} */
            work: "reprioritize";
        } | {
            filter: components["schemas"]["TaskFilter"];
            /** Format: int32 */
            per_s?: number | null;
            queue: string;
            /** @enum {string} */
            work: "redrive";
        } | {
            blocker: string;
            /** @enum {string} */
            work: "unblock";
        } | {
            /** Format: int32 */
            per_s?: number | null;
            verb: string;
            where: string;
            /** @enum {string} */
            work: "runs";
        };
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
        Counts: {
            /**
             * Format: int64
             * @description Wait for other tasks.
             * @default 0
             */
            blocked: number;
            /**
             * Format: int64
             * @description Dead letters.
             * @default 0
             */
            dead: number;
            /**
             * Format: int64
             * @description Their runs are paused.
             * @default 0
             */
            held: number;
            /**
             * Format: int64
             * @description Their runs hold them until these end: tasks of handlers that start a workflow. They are not among `running`.
             * @default 0
             */
            in_runs: number;
            /**
             * Format: int64
             * @description Hold an override slot, waiting or running.
             * @default 0
             */
            overrides: number;
            /**
             * Format: int64
             * @description All that wait: ready, scheduled, blocked or held.
             * @default 0
             */
            queued: number;
            /**
             * Format: int64
             * @description Could be picked now, as far as the task itself goes.
             * @default 0
             */
            ready: number;
            /**
             * Format: int64
             * @description Workers hold them.
             * @default 0
             */
            running: number;
            /**
             * Format: int64
             * @description Wait for their instant.
             * @default 0
             */
            scheduled: number;
        };
        /** @description A cron, and when it fires next. */
        CronDue: {
            cron: string;
            event: string;
            next?: components["schemas"]["Instant"] | null;
            schedule: string;
            zone: string;
        };
        CronFired: {
            at: components["schemas"]["Instant"];
            event: string;
            handled: components["schemas"]["HandledView"][];
        };
        CronList: {
            crons: components["schemas"]["CronView"][];
        };
        /** @description When a cron fires next. */
        CronNext: {
            at: components["schemas"]["Instant"][];
            cron: string;
            zone: string;
        };
        /** @description What emits an event by itself, by the clock. */
        CronView: components["schemas"]["CronDue"] & {
            /** @description Its tasks pass pauses. */
            critical: boolean;
            last?: components["schemas"]["CronFired"] | null;
        };
        /**
         * @description A place in the stream of records: opaque to clients, handed back as `Last-Event-ID`.
         * @example r1042
         */
        Cursor: string;
        Dispatches: {
            /** Format: int64 */
            completed: number;
            /**
             * Format: int64
             * @description Attempts that failed, whether another followed or not.
             */
            failed: number;
            /**
             * Format: int64
             * @description Handed back unburnt.
             */
            released: number;
            /** Format: int64 */
            started: number;
            /**
             * Format: double
             * @description Completed of those that completed or failed, from 0 to 1; null when there is none.
             */
            success_rate?: number | null;
        };
        Durations: {
            /** Format: int64 */
            max?: number | null;
            /** Format: int64 */
            p50?: number | null;
            /** Format: int64 */
            p95?: number | null;
        };
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
        EventList: {
            events: components["schemas"]["EventView"][];
            /** @description The cursor of the next page, if there is one. */
            next?: string | null;
        };
        /** @description How events belong together, as their senders say it. */
        EventTrace: {
            causation_id?: string | null;
            correlation_id?: string | null;
        };
        /** @description An event as it came. In lists `data` is left out. */
        EventView: {
            data?: unknown;
            dedup_key?: string | null;
            event: string;
            family: string;
            /** @description Empty, and nobody heard it: nobody took it. */
            handled: components["schemas"]["HandledView"][];
            /** @description Runs that waited for it and went on with it, the first ones. */
            heard?: string[];
            id?: string | null;
            name: string;
            priority?: components["schemas"]["Priority"] | null;
            received_at: components["schemas"]["Instant"];
            /**
             * Format: int32
             * @description How often it was handled again.
             */
            replays?: number;
            source?: string | null;
            trace?: components["schemas"]["EventTrace"] | null;
            ts?: components["schemas"]["Instant"] | null;
        };
        /** @description Several events. Each is taken for itself. */
        EventsEmit: {
            events: components["schemas"]["EventEmit"][];
        };
        /** @description In the order they were sent. */
        EventsEmitted: {
            events: components["schemas"]["EventEmitted"][];
        };
        Explanation: {
            /** @description Everything that stands in the way, what weighs most first. */
            blocked_on: components["schemas"]["BlockedOn"][];
            eta?: components["schemas"]["Instant"] | null;
            /** @description Why there is no `eta`. */
            eta_reason?: string | null;
            next_actions: string[];
            /** @description The whole answer in one sentence. */
            sentence: string;
            since?: components["schemas"]["Instant"] | null;
            status: components["schemas"]["Status"];
            task: string;
        };
        /** @description An attempt that failed. */
        FailureView: {
            at: components["schemas"]["Instant"];
            code: string;
            family: string;
            /** @description No other attempt follows by itself. */
            final: boolean;
            message: string;
            queue: string;
            task: string;
        };
        /** @description Who runs already waits a little: each running task of a key's value sets its others back by `step_ms ÷ weight`. */
        Fairness: {
            key: string;
            /** Format: int64 */
            step_ms?: number;
            weights?: {
                [key: string]: number;
            };
        };
        FamiliesBoost: {
            /** @description 0 takes it away. */
            boost: components["schemas"]["Priority"];
            by?: string | null;
            families: string;
        };
        FamiliesList: {
            /** @description Families of which events have made something that waits or runs now, those with the most first; at most 1000. */
            families?: components["schemas"]["FamilyView"][];
            /**
             * Format: int64
             * @description Families that are not among them.
             */
            families_left?: number;
            /** @description What may be a mistake: what was said is of a family that nothing knows, and holds all the same; or there was no pause to take back. */
            note?: string | null;
            /** @description What was said, of families or patterns. */
            said: components["schemas"]["FamiliesView"][];
        };
        /** @description Hand out no task that an event of these families made, in whatever queue; events go on coming in. */
        FamiliesPause: {
            by?: string | null;
            families: string;
            /**
             * Format: int64
             * @description Instead of `until`.
             */
            for_ms?: number | null;
            reason?: string | null;
            until?: components["schemas"]["Instant"] | null;
        };
        FamiliesResume: {
            by?: string | null;
            families: string;
        };
        /** @description Cancel what waits of some families, in whatever queue. What runs goes on, and what is critical stays. */
        FamiliesShed: {
            by?: string | null;
            /** @description Cancel nothing: say how many would be. */
            dry_run?: boolean;
            /** @description Families, or patterns such as `github/*`; 1 to 64. */
            families: string[];
            /** @description Why, for everyone who asks. */
            reason?: string | null;
            /** @description The highest priority that is shed, below critical: a task's own, without boosts. */
            upto: components["schemas"]["Priority"];
        };
        /** @description What was said about the families that a pattern covers. */
        FamiliesView: {
            /**
             * Format: int32
             * @description A head start for their tasks, in seconds.
             */
            boost: number;
            /** @description What there is of them now. Dead letters are not counted here. */
            counts?: components["schemas"]["Counts"];
            /** @description A family, or a pattern such as `github/*`. */
            families: string;
            pause?: components["schemas"]["PauseView"] | null;
        };
        FamilyStats: components["schemas"]["Figures"] & {
            family: string;
        };
        /** @description A family of which something waits or runs now. */
        FamilyView: {
            /** @description In all queues together. Dead letters are not counted here. */
            counts: components["schemas"]["Counts"];
            family: string;
            /** @description By itself or by a pattern that covers it. */
            paused: boolean;
            queues: string[];
        };
        /** @description Figures of a while. A dispatch is one attempt. */
        Figures: {
            /** @description From handed to a worker to its outcome. */
            dispatch_duration_ms: components["schemas"]["Durations"];
            dispatches: components["schemas"]["Dispatches"];
            /**
             * @description Events that did not become work, by what became of them at a handler: `debounced` (another took its place), `duplicate`,
             *     `skipped`, `rate_dropped`, `backlog_dropped`, `failed`, `shadow`; and, of no queue, `unhandled`, and `heard`: no handler
             *     took it, and a run that waited for it did.
             */
            events?: {
                [key: string]: number;
            };
            promotions: components["schemas"]["Promotions"];
            /** @description From ready to handed to a worker. */
            queue_latency_ms: components["schemas"]["Latency"];
            tasks: components["schemas"]["TaskFigures"];
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
        /** @description The answer of `/health` and `/ready`. */
        Health: {
            /** @description What works without something outside, and that waits for it. */
            degraded?: string[];
            ok: boolean;
            /** @description What is wrong when it is not. */
            reason?: string | null;
        };
        /** @description A task's records, oldest first. */
        History: {
            records: components["schemas"]["RecordView"][];
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
        /** @description Limits of each value of one key. */
        KeyLimit: {
            /** Format: int32 */
            concurrency?: number | null;
            rate?: components["schemas"]["Rate"] | null;
        };
        /** @description The value of one limit key, `{"name": "tenant", "value": "acme"}`; in a query, `tenant=acme`. */
        KeyPair: {
            name: string;
            value: string;
        };
        Latency: {
            /** Format: int64 */
            max?: number | null;
            /** Format: int64 */
            p50?: number | null;
            /** Format: int64 */
            p95?: number | null;
            /** Format: int64 */
            target_p95_ms: number;
            /** @description Null when nothing was handed out. */
            within_target?: boolean | null;
        };
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
        LogLineView: {
            at: components["schemas"]["Instant"];
            /**
             * Format: int32
             * @description The attempt that said it, while its history is kept.
             */
            attempt?: number | null;
            fence: string;
            /**
             * Format: int64
             * @description From 1, over all attempts.
             */
            n: number;
            text: string;
        };
        /** @description The newest lines of a task: at most 1,000 and 256 KiB are kept. */
        LogView: {
            /**
             * Format: int64
             * @description How many lines before those that are kept were dropped.
             */
            dropped: number;
            /** @description The task has ended: nobody says anything more. */
            ended: boolean;
            lines: components["schemas"]["LogLineView"][];
            progress?: components["schemas"]["ProgressView"] | null;
        };
        /** @description A part of the history that is not whole. */
        LostHistory: {
            /** @description Whose, as records say it; empty where that cannot be read either. */
            owner: string;
            sentence: string;
        };
        /** @enum {string} */
        MomentKind: "patched" | "restarted" | "retried";
        /** @description A command and what it is for. */
        NextAction: {
            command: string;
            description: string;
        };
        NodeAdded: {
            after: string[];
            /** @description The loop or each in whose body it stands. */
            in?: string | null;
            node: string;
            type: string;
        };
        NodeChanged: {
            changes: components["schemas"]["PartChanged"][];
            node: string;
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
        /** @description Nodes that something has happened to. A page may hold fewer than asked for although there is a next one. */
        NodeList: {
            /** @description The cursor of the next page; null on the last. */
            next?: string | null;
            nodes: components["schemas"]["NodeView"][];
        };
        /** @description One node once more: one that failed its run is tried again, another begins anew with all that follows from it. */
        NodeReplay: {
            by?: string | null;
            /** @description Another input for its worker, in its definition. */
            config?: unknown;
            /** @description Also if it did not fail: what follows from it is undone. */
            force_replay?: boolean;
            /** @description Why, for the history. */
            reason?: string | null;
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
        /** @description What a node that was started is at; `work` says which. */
        NodeWork: {
            task: string;
            /** @enum {string} */
            work: "working";
        } | {
            run: string;
            /** @enum {string} */
            work: "calling";
        } | {
            until?: components["schemas"]["Instant"] | null;
            /** @enum {string} */
            work: "asking";
        } | {
            until: components["schemas"]["Instant"];
            /** @enum {string} */
            work: "sleeping";
        } | {
            event: string;
            key?: components["schemas"]["AwaitKey"] | null;
            until?: components["schemas"]["Instant"] | null;
            /** @enum {string} */
            work: "awaiting";
        } | {
            /** @enum {string} */
            work: "turning";
        } | {
            /** Format: int32 */
            items: number;
            /** @enum {string} */
            work: "spreading";
        };
        /** @description Something outside that the server uses where it was told to. While it cannot, what goes there waits, and all else goes on. */
        OutsideView: {
            address: string;
            /** @description Since this start; `out`: now. */
            counts: {
                [key: string]: number;
            };
            /** @description Why it cannot be used now. */
            trouble?: string | null;
        };
        /** @description A part of a definition, such as `with.url`; without `old` it is new, without `new` it is gone. */
        PartChanged: {
            new?: unknown;
            old?: unknown;
            what: string;
        };
        PauseView: {
            by: string;
            reason: string;
            since: components["schemas"]["Instant"];
            until?: components["schemas"]["Instant"] | null;
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
        ProgressView: {
            at: components["schemas"]["Instant"];
            /**
             * Format: int32
             * @description The attempt that said it, while its history is kept.
             */
            attempt?: number | null;
            fence: string;
            message?: string | null;
            /**
             * Format: double
             * @description From 0 to 1.
             */
            progress: number;
        };
        /** @description What ran ahead of its turn, by why. */
        Promotions: {
            /**
             * Format: int64
             * @description Boosts of a queue or a key.
             */
            boosts: number;
            /**
             * Format: int64
             * @description Its queue was drained.
             */
            expedited: number;
            /**
             * Format: int64
             * @description Its priority was raised.
             */
            raised: number;
            /** Format: int64 */
            run_now: number;
            /** Format: int64 */
            total: number;
        };
        QueueClear: {
            by?: string | null;
            /** @description Cancel nothing: say how many would be. */
            dry_run?: boolean;
            filter?: components["schemas"]["TaskFilter"] | null;
            reason?: string | null;
        };
        /** @description The whole configuration of a queue; what is left out has its default. */
        QueueConfig: {
            /** @description What becomes of one more then: it is refused, or the one that has waited longest makes room. */
            backlog_full?: components["schemas"]["BacklogFull"];
            /**
             * Format: int32
             * @description As many tasks may wait.
             */
            backlog_max?: number | null;
            /**
             * Format: int64
             * @description How long one attempt may run.
             */
            budget_ms?: number;
            /**
             * Format: int32
             * @description Tasks running at once, over all types and keys.
             */
            concurrency?: number | null;
            fairness?: components["schemas"]["Fairness"] | null;
            /**
             * Format: int32
             * @description A worker silent for longer has lost its lease.
             */
            heartbeat_ms?: number;
            /**
             * Format: int64
             * @description How long an idempotency key is remembered.
             */
            idempotency_window_ms?: number;
            keys?: {
                [key: string]: components["schemas"]["KeyLimit"];
            };
            /**
             * Format: int32
             * @description Tasks that may be run now past the limits, waiting or running.
             */
            override_slots?: number;
            rate?: components["schemas"]["Rate"] | null;
            /** @description Only tasks with this tag are picked; the others wait and `explain` says so. */
            require_tag?: string | null;
            retry?: components["schemas"]["Retry"];
        };
        QueueDrain: {
            by?: string | null;
            filter?: components["schemas"]["TaskFilter"] | null;
        };
        QueueList: {
            /** @description What may be a mistake: there is nothing of that family, but of some below it. */
            note?: string | null;
            queues: components["schemas"]["QueueView"][];
        };
        /** @description Stops handing out tasks until it is resumed, until an instant, or for a while. */
        QueuePause: {
            by?: string | null;
            /**
             * Format: int64
             * @description Instead of `until`.
             */
            for_ms?: number | null;
            reason?: string | null;
            until?: components["schemas"]["Instant"] | null;
        };
        /** @description Replaces the configuration whole. */
        QueuePut: {
            by?: string | null;
            config: components["schemas"]["QueueConfig"];
        };
        /** @description Exactly one of `tasks` and `filter`; an empty filter is every dead letter of the queue. */
        QueueRedrive: {
            by?: string | null;
            filter?: components["schemas"]["TaskFilter"] | null;
            /**
             * Format: int32
             * @description At most so many a second; only with `filter`.
             */
            per_s?: number | null;
            /** @description These tasks, at once. */
            tasks?: string[] | null;
        };
        /** @description Exactly one of `tasks`, `boost` (with or without `key`) and `filter`. */
        QueueReprioritize: {
            /** @description A head start for all that is or comes in the queue; 0 removes it. */
            boost?: boolean;
            by?: string | null;
            filter?: components["schemas"]["TaskFilter"] | null;
            key?: components["schemas"]["KeyPair"] | null;
            priority: components["schemas"]["Priority"];
            /** @description These tasks, at once. */
            tasks?: string[] | null;
        };
        QueueView: {
            boosts?: components["schemas"]["BoostView"][];
            /** @description Bulks under way on this queue. */
            bulks?: components["schemas"]["BulkView"][];
            config: components["schemas"]["QueueConfig"];
            counts: components["schemas"]["Counts"];
            oldest_at?: components["schemas"]["Instant"] | null;
            pause?: components["schemas"]["PauseView"] | null;
            queue: string;
        };
        /** @description `count` starts per `per_ms`, at most `burst` at once. */
        Rate: {
            /** Format: int32 */
            burst?: number;
            /** Format: int32 */
            count: number;
            /** Format: int64 */
            per_ms: number;
        };
        /** @description The body of a record; `record` says which. */
        RecordBody: {
            /** Format: int64 */
            ids: number;
            /** @enum {string} */
            record: "ids_reserved";
            /** Format: int64 */
            records: number;
        } | {
            /** @enum {string} */
            record: "runs_expired";
            runs: string[];
        } | {
            events: string[];
            /** @enum {string} */
            record: "events_expired";
        } | {
            reason: string;
            /** @enum {string} */
            record: "requests_refused";
            /** Format: int32 */
            requests: number;
            webhook: string;
        } | {
            reason: string;
            /** @enum {string} */
            record: "signals_refused";
            /** Format: int32 */
            signals: number;
        } | {
            reason: string;
            /** @enum {string} */
            record: "watchdog_tripped";
        } | {
            /** Format: int64 */
            lasted_ms: number;
            reason: string;
            /** @enum {string} */
            record: "watchdog_recovered";
        } | {
            after: string;
            /** @enum {string} */
            record: "waits_behind";
        } | {
            /** @enum {string} */
            record: "waits_caught_up";
        } | {
            /** @enum {string} */
            record: "task_added";
            spec: components["schemas"]["TaskSpecView"];
        } | {
            bulk?: string | null;
            by: string;
            ready_at: components["schemas"]["Instant"];
            /** @enum {string} */
            record: "task_queued";
            run_now: boolean;
        } | {
            by: string;
            /** @enum {string} */
            record: "task_run_now";
        } | {
            blocker: string;
            /** @enum {string} */
            record: "task_unblocked";
        } | {
            blocked_by: string[];
            deleted: string;
            /** @enum {string} */
            record: "task_blockers_changed";
        } | {
            by: string;
            /** Format: int32 */
            priority: number;
            /** @enum {string} */
            record: "task_reprioritized";
        } | {
            bulk: string;
            /** @enum {string} */
            record: "task_expedited";
        } | {
            /** Format: int32 */
            attempt: number;
            budget_until: components["schemas"]["Instant"];
            /** Format: int32 */
            heartbeat_ms: number;
            /** @enum {string} */
            record: "task_leased";
            run_now: boolean;
            worker: string;
        } | {
            cause: components["schemas"]["ReleasedCause"];
            /** @enum {string} */
            record: "task_released";
        } | {
            by: string;
            reason: string;
            /** @enum {string} */
            record: "task_cancel_requested";
        } | {
            /** @enum {string} */
            record: "task_timed_out";
        } | {
            /** Format: int32 */
            pause: number;
            /** @enum {string} */
            record: "task_held";
        } | {
            /** Format: int32 */
            pause: number;
            /** @enum {string} */
            record: "task_let_go";
        } | {
            error: components["schemas"]["TaskError"];
            /** @enum {string} */
            record: "task_retried";
            retry_at: components["schemas"]["Instant"];
        } | {
            /** @enum {string} */
            record: "task_done";
        } | {
            error: components["schemas"]["TaskError"];
            /** @enum {string} */
            record: "task_failed";
        } | {
            by: string;
            cause: components["schemas"]["CancelCause"];
            reason: string;
            /** @enum {string} */
            record: "task_cancelled";
        } | {
            event: string;
            newer: boolean;
            ready_at: components["schemas"]["Instant"];
            /** @enum {string} */
            record: "task_debounced";
            start_by?: components["schemas"]["Instant"] | null;
        } | {
            event: string;
            full: boolean;
            ready_at?: components["schemas"]["Instant"] | null;
            /** @enum {string} */
            record: "task_batched";
        } | {
            /** @enum {string} */
            record: "task_handed_over";
            run: string;
        } | {
            by: string;
            /** @enum {string} */
            record: "task_reset";
        } | {
            by: string;
            queue: string;
            /** @enum {string} */
            record: "task_deleted";
        } | {
            by: string;
            config: components["schemas"]["QueueConfig"];
            /** @enum {string} */
            record: "queue_configured";
        } | {
            by: string;
            reason: string;
            /** @enum {string} */
            record: "queue_paused";
            until?: components["schemas"]["Instant"] | null;
        } | {
            by: string;
            expired: boolean;
            /** @enum {string} */
            record: "queue_resumed";
        } | {
            by: string;
            key?: components["schemas"]["KeyPair"] | null;
            /** @enum {string} */
            record: "queue_boosted";
            /** Format: int32 */
            seconds: number;
        } | {
            by: string;
            reason: string;
            /** @enum {string} */
            record: "family_paused";
            until?: components["schemas"]["Instant"] | null;
        } | {
            by: string;
            expired: boolean;
            /** @enum {string} */
            record: "family_resumed";
        } | {
            by: string;
            /** @enum {string} */
            record: "family_boosted";
            /** Format: int32 */
            seconds: number;
        } | {
            handled?: components["schemas"]["HandledView"][];
            /** @description The one its sender gave it. */
            id?: string | null;
            name: string;
            /** @enum {string} */
            record: "event_received";
        } | {
            by: string;
            handled?: components["schemas"]["HandledView"][];
            /** @enum {string} */
            record: "event_replayed";
        } | {
            /** @enum {string} */
            record: "event_heard";
            run: string;
        } | {
            by: string;
            queues: string[];
            /** @enum {string} */
            record: "registry_put";
            /** Format: int32 */
            revision: number;
        } | {
            arrival: components["schemas"]["Instant"];
            /** @enum {string} */
            record: "permit_taken";
        } | {
            /** @enum {string} */
            record: "permits_forgotten";
        } | {
            by: string;
            reason: string;
            /** @enum {string} */
            record: "bulk_started";
            work: components["schemas"]["BulkWorkView"];
        } | {
            after: string;
            /** Format: int32 */
            items: number;
            /** @enum {string} */
            record: "bulk_advanced";
            resume_at?: components["schemas"]["Instant"] | null;
            /** Format: int32 */
            skipped: number;
        } | {
            /** Format: int32 */
            items: number;
            /** @enum {string} */
            record: "bulk_finished";
            /** Format: int32 */
            skipped: number;
        } | {
            by: string;
            /** @enum {string} */
            record: "bulk_cancelled";
        } | {
            after: string;
            /** Format: int32 */
            items: number;
            /** @enum {string} */
            record: "bulk_runs_advanced";
            refused?: components["schemas"]["RunRefused"][];
            resume_at?: components["schemas"]["Instant"] | null;
            /** Format: int32 */
            skipped: number;
        } | {
            by: string;
            /** @enum {string} */
            record: "workflow_put";
        } | {
            by: string;
            reason: string;
            /** @enum {string} */
            record: "workflow_disabled";
        } | {
            by: string;
            /** @enum {string} */
            record: "workflow_enabled";
        } | {
            by: string;
            /** @enum {string} */
            record: "run_started";
            spec: components["schemas"]["RunSpecView"];
        } | {
            by: string;
            reason: string;
            /** @enum {string} */
            record: "run_paused";
            told: boolean;
        } | {
            by: string;
            /** @enum {string} */
            record: "run_resumed";
            told: boolean;
        } | {
            /** Format: int32 */
            pause: number;
            /** @enum {string} */
            record: "run_held";
            told: boolean;
        } | {
            /** Format: int32 */
            pause: number;
            /** @enum {string} */
            record: "run_let_go";
            told: boolean;
        } | {
            /** @enum {string} */
            record: "run_told";
        } | {
            closed: boolean;
            /** @enum {string} */
            record: "run_done";
        } | {
            closed: boolean;
            error: components["schemas"]["TaskError"];
            node?: string | null;
            /** @enum {string} */
            record: "run_failed";
        } | {
            by: string;
            closed: boolean;
            reason: string;
            /** @enum {string} */
            record: "run_cancelled";
        } | {
            /** @enum {string} */
            record: "run_closed";
        } | {
            /**
             * Format: int32
             * @description How often it was, with this.
             */
            again: number;
            by: string;
            deadline?: components["schemas"]["Instant"] | null;
            reason?: string;
            /** @enum {string} */
            record: "run_reopened";
        } | {
            by: string;
            deadline?: components["schemas"]["Instant"] | null;
            /** Format: int32 */
            generation: number;
            node: string;
            reason: string;
            /** @enum {string} */
            record: "run_restarted";
        } | {
            by: string;
            changes?: string[];
            deadline?: components["schemas"]["Instant"] | null;
            description: string;
            more?: boolean;
            node?: string | null;
            /** @description The turn or item that follows it, and nothing else does. */
            only?: string | null;
            /** @enum {string} */
            record: "run_patched";
            /** Format: int32 */
            revision: number;
        } | {
            /** @enum {string} */
            record: "run_followed";
        } | {
            by: string;
            expired: boolean;
            /** @enum {string} */
            record: "run_deleting";
        } | {
            by: string;
            /** @enum {string} */
            record: "run_deleted";
            workflow: string;
        } | {
            /** @enum {string} */
            record: "frame_opened";
            /** Format: int32 */
            revision?: number;
        } | {
            /** @enum {string} */
            record: "frame_done";
        } | {
            error: components["schemas"]["TaskError"];
            /** @enum {string} */
            record: "frame_failed";
        } | {
            /** @enum {string} */
            record: "frame_dropped";
        } | {
            /** @enum {string} */
            record: "frame_reopened";
            /** Format: int32 */
            revision?: number;
        } | {
            /** @enum {string} */
            record: "frame_patched";
            /** Format: int32 */
            revision: number;
        } | {
            /** @enum {string} */
            record: "frame_reset";
        } | (components["schemas"]["NodeWork"] & {
            /** @enum {string} */
            record: "node_started";
        }) | {
            answer?: components["schemas"]["AnswerView"] | null;
            heard?: string | null;
            /** @enum {string} */
            record: "node_done";
            way?: string | null;
        } | {
            error: components["schemas"]["TaskError"];
            /** @enum {string} */
            record: "node_failed";
            then: string;
        } | {
            cause: string;
            /** @enum {string} */
            record: "node_skipped";
            why?: string | null;
        } | {
            /** @enum {string} */
            record: "node_cancelled";
        } | {
            by: string;
            /** @enum {string} */
            record: "node_reopened";
        } | {
            /** @enum {string} */
            record: "node_reset";
        } | {
            /** Format: int32 */
            generation: number;
            /** @enum {string} */
            record: "node_rewound";
            /** Format: int32 */
            turns: number;
        } | {
            /** @enum {string} */
            record: "node_looked";
        } | {
            by: string;
            reason: string;
            /** @enum {string} */
            record: "node_set";
        };
        /** @description A record by its number and when it was written. */
        RecordStamp: {
            at: components["schemas"]["Instant"];
            seq: components["schemas"]["Cursor"];
        };
        RecordView: {
            at: components["schemas"]["Instant"];
            /**
             * @description Whose history it belongs to: `task-9m2`, `queue:ci`, `bulk-3`, `key:ci|tenant=acme`, `rate:ci`, `shard`,
             *     `event-7`, `registry`, `family:github/*`, `workflow:3:refund`, `run-7`, a turn or item `run-7/rounds[1]`, a node `run-7/rounds[1]/lint`.
             */
            owner: string;
            record: components["schemas"]["RecordBody"];
            seq: components["schemas"]["Cursor"];
        };
        /** @description A text that may be put. */
        RegistryChecked: {
            /** @description With when each fires next. */
            crons?: components["schemas"]["CronDue"][];
            handlers: string[];
            queues: string[];
            /** @description What is right and yet may not work. */
            warnings?: string[];
            webhooks: string[];
        };
        /** @description What another registry would change. */
        RegistryDiff: {
            /** @description By handlers, queues, crons and webhooks, field by field. */
            changes: unknown;
            /** @description In words. */
            lines: string[];
            /**
             * Format: int32
             * @description Of the one in force.
             */
            revision: number;
            /** @description It would change nothing. */
            same: boolean;
        };
        RegistryPut: {
            /** Format: int64 */
            handlers: number;
            /** Format: int32 */
            revision: number;
            /** @description This very text was in force. */
            unchanged: boolean;
            /** @description What is right and yet may not work, or may not last. */
            warnings?: string[];
        };
        /** @description Which registry is in force. */
        RegistryStatus: {
            /** @description The file that this server takes it from. */
            file?: string | null;
            /** @description Why a newer one is not, if there is one. */
            refused?: string | null;
            /** Format: int64 */
            revision: number;
            /** @description What is right in it and yet may not work. */
            warnings?: string[];
        };
        /** @description The registry in force. */
        RegistryView: {
            by?: string | null;
            /** @description With when each fires next. */
            crons?: components["schemas"]["CronDue"][];
            /** @description The file that this server takes it from: its next change replaces the one in force. */
            file?: string | null;
            handlers: string[];
            put_at?: components["schemas"]["Instant"] | null;
            /** @description Queues that take their rules from it. */
            queues: string[];
            /** @description Why the newest text that was tried is not the one in force. */
            refused?: string | null;
            /**
             * Format: int32
             * @description 0: none was ever put.
             */
            revision: number;
            text: string;
            /** @description What is right and yet may not work. */
            warnings?: string[];
            webhooks: string[];
        };
        /**
         * @description Why a lease was handed back without burning its attempt.
         * @enum {string}
         */
        ReleasedCause: "worker" | "undelivered";
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
        /** @description Statistics are counted behind the records, a moment later; whoever asks waits for them, two seconds at most. */
        RollupsView: {
            /**
             * Format: int64
             * @description How long something that had come has waited to be in them; 0 when all is.
             */
            lag_ms: number;
            /**
             * Format: int64
             * @description Records of tasks that were deleted before they were counted.
             */
            lost: number;
            /**
             * Format: int64
             * @description The last record that is in them.
             */
            record: number;
            /** @description Why they do not get further, if they do not. */
            trouble?: string | null;
        };
        RunCancelledView: {
            by: string;
            reason: string;
        };
        /** @description Why it is cancelled or paused. */
        RunChange: {
            by?: string | null;
            reason?: string | null;
        };
        /** @description The text that a run follows. */
        RunDefinition: {
            at?: components["schemas"]["Instant"] | null;
            by?: string | null;
            changes?: string[];
            description?: string | null;
            /**
             * Format: int32
             * @description The one that it is at.
             */
            newest: number;
            /** @description The node whose worker asked for it. */
            node?: string | null;
            /** @description The operations that made it of the one before. */
            operations?: unknown;
            /** Format: int32 */
            revision: number;
            run: string;
            /**
             * Format: int32
             * @description The revision that `changes` are since.
             */
            since?: number | null;
            text: string;
            /** Format: int32 */
            version: number;
            workflow: string;
        };
        /** @description What a run waits for, or how it ended. */
        RunExplanation: {
            /**
             * Format: int64
             * @description Waits beyond those.
             */
            more?: number;
            next_actions: string[];
            run: string;
            /** @description The whole answer in one sentence. */
            sentence: string;
            status: components["schemas"]["RunStatus"];
            waits: components["schemas"]["WaitView"][];
        };
        /** @description From where a new run is to go on, and what is to be another in it. */
        RunFork: {
            /**
             * @description From how it was after this record or at this instant: `r1042`, `2026-11-15T08:57:00Z`, `start`, or `end`, which it is when
             *     left out. What was under way then begins anew.
             */
            at?: string | null;
            by?: string | null;
            deadline?: components["schemas"]["Instant"] | null;
            /**
             * Format: int64
             * @description Instead of `deadline`: so long after its start.
             */
            deadline_ms?: number | null;
            /** @description Why the text is another, for the history. */
            description?: string | null;
            /** @description Only tell what it would do. */
            dry_run?: boolean;
            /** @description Forking again with the same key answers the run it made the first time. Keys are of one workflow. */
            idempotency_key?: string | null;
            /** @description Another input than it had. What is taken along keeps what it gave. */
            input?: unknown;
            /** @description And from before this node, which had begun by then: it and all that follows from it begin anew. */
            node?: string | null;
            /** @description RFC 6902 over the text that it followed then: the new run goes on by what comes of it. */
            operations?: unknown[] | null;
            priority?: components["schemas"]["Priority"] | null;
            /** @description The other's when left out. */
            tags?: string[] | null;
            /** @description With `node`: another input for that. */
            with?: unknown;
        };
        /** @description What a fork made, or would make. */
        RunForked: {
            /** @description Nodes that had begun by then, and begin anew. */
            anew: string[];
            /**
             * Format: int32
             * @description The revision of the text that it was forked from.
             */
            base: number;
            /** @description What is another in its text, a line for each. */
            changes: string[];
            dry_run: boolean;
            /** @description The idempotency key was used before: this is the run it made then, and nothing of this request was used. */
            duplicate: boolean;
            /** @description Nodes of the run's own that it takes along with what they gave. */
            kept: string[];
            origin: components["schemas"]["RunOrigin"];
            /**
             * Format: int32
             * @description The one that it goes on by.
             */
            revision: number;
            /** @description The new run; null of a dry run. */
            run?: string | null;
            /** @description What can run and yet may not be what was meant. */
            warnings?: components["schemas"]["ProblemAt"][];
        };
        /** @description Every record of a run, its turns and items, its nodes and their tasks, oldest first. */
        RunHistory: {
            next?: components["schemas"]["Cursor"] | null;
            records: components["schemas"]["RecordView"][];
        };
        RunList: {
            /** @description The cursor of the next page; null on the last. */
            next?: string | null;
            runs: components["schemas"]["RunView"][];
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
        /** @description A change of the definition that a run follows. */
        RunPatch: {
            by?: string | null;
            /** @description Why, for the history. */
            description?: string | null;
            /**
             * @description Only tell what it would do. Whatever stands against it is `refused` in the answer, which is 200: also what could not be
             *     compiled or applied. Only what cannot be read, or is not there, or is not the worker's, is an error.
             */
            dry_run?: boolean;
            /**
             * Format: int32
             * @description The revision they were made for: if it is at another by now, nothing is changed. Without it they are made on whatever it is
             *     at.
             */
            expected_revision?: number | null;
            /** @description With `task`: the fence that it was given with it. */
            fence?: string | null;
            /** @description The node that asks for it, such as `plan` or `rounds[1]/plan`. Of a worker it is known by its task. */
            node_id?: string | null;
            /** @description RFC 6902 over the text that it follows, as JSON: `[{"op": "add", "path": "/nodes/audit", "value": {…}}]`. */
            operations: unknown[];
            /** @description From a worker, for the run it works in: the task that it holds. It signs by its own name. */
            task?: string | null;
        };
        /** @description What a patch did, or would do. */
        RunPatched: {
            /** @description Nodes that appear. */
            added: components["schemas"]["NodeAdded"][];
            /** @description Nodes that are another now, and in what. */
            changed: components["schemas"]["NodeChanged"][];
            /** @description The same, a line for each. */
            changes: string[];
            deadline?: components["schemas"]["Instant"] | null;
            dry_run: boolean;
            /** @description Turns and items under way that keep the text they have; the first of them. */
            keeps: components["schemas"]["TextKept"][];
            /**
             * Format: int64
             * @description How many do, of the first 20,000 under way.
             */
            keeps_total: number;
            /** @description Nodes that have all they wait for, by this. */
            next: string[];
            refused?: components["schemas"]["Problem"] | null;
            /** @description Nodes that disappear. */
            removed: string[];
            /**
             * Format: int32
             * @description The one that it is at with this.
             */
            revision: number;
            run: string;
            /** @description The text is as it was before: nothing was written. */
            unchanged: boolean;
            /** @description What can run and yet may not be what was meant. */
            warnings?: components["schemas"]["ProblemAt"][];
            /** @description What is not about a node: input, limits, output. */
            workflow: components["schemas"]["PartChanged"][];
        };
        RunPauseView: {
            by: string;
            reason: string;
            since: components["schemas"]["Instant"];
        };
        /** @description A run that was left as it was. */
        RunRefused: {
            run: string;
            why: string;
        };
        /** @description A run as it was after one of its records. Nothing can be changed there. */
        RunReplay: {
            after?: components["schemas"]["Cursor"] | null;
            before?: components["schemas"]["Cursor"] | null;
            /**
             * Format: int64
             * @description Those of ways that were not taken, or failed.
             */
            dead_tokens: number;
            /** @description What it waited for, as far as its own history tells. */
            explanation: components["schemas"]["RunExplanation"];
            first: components["schemas"]["RecordStamp"];
            /** @description The turns and items that were open, such as `rounds[1]`. */
            frames: string[];
            last: components["schemas"]["RecordStamp"];
            /** @description Where the history ends short. */
            lost?: components["schemas"]["LostHistory"][];
            /**
             * Format: int64
             * @description Turns and items beyond those.
             */
            more_frames?: number;
            /**
             * Format: int64
             * @description Tokens beyond those.
             */
            more_tokens?: number;
            /** @description How what was asked for is to be understood, where it is not that record itself. */
            note?: string | null;
            /**
             * Format: int64
             * @description Which of its records it is, from 1.
             */
            place: number;
            /** @description The last of its records by then. */
            record: components["schemas"]["RecordView"];
            /**
             * Format: int64
             * @description How many it has, those of its turns, items, nodes and tasks included.
             */
            records: number;
            /** @description The run as it was shown then. */
            run: components["schemas"]["RunView"];
            /** @description The instant it is seen from: the record's, or the one that was asked for. */
            time: components["schemas"]["Instant"];
            /** @description Tokens that had been given and that the node they lead to had not taken in. */
            tokens: components["schemas"]["TokenView"][];
            /** @description Values that are not there any more, or cannot be read. */
            unread?: components["schemas"]["Unread"][];
        };
        /** @description From where a run begins anew. */
        RunRestart: {
            by?: string | null;
            /** Format: int32 */
            expected_revision?: number | null;
            /** @description Such as `pay` or `rounds[1]/pay`: it and all that follows from it. */
            node: string;
            /** @description Changes of its definition that come with it, as in a patch: also of what begins anew. */
            operations?: unknown[] | null;
            /** @description Why, for the history. */
            reason?: string | null;
            /** @description Of a node that a worker does: another input for it, in its definition. */
            with?: unknown;
        };
        RunRetry: {
            by?: string | null;
            /** Format: int32 */
            expected_revision?: number | null;
            /** @description Only this one, such as `rounds[1]/pay`; without it, all that failed the run. */
            node?: string | null;
            /** @description Changes of its definition that come with it, as in a patch: also of what is tried again. */
            operations?: unknown[] | null;
            /** @description Why, for the history. */
            reason?: string | null;
            /** @description Of a node that a worker does: another input for it, in the definition that the run follows. */
            with?: unknown;
        };
        /** @description What a node gives, said by somebody instead of its worker. */
        RunSkip: {
            by?: string | null;
            /** @description Such as `pay` or `rounds[1]/pay`: one that waits, is under way or failed its run. */
            node: string;
            /** @description What it gives; null when left out. */
            output?: unknown;
            /** @description Why, for the history. */
            reason?: string | null;
        };
        /** @description What a run was told to be when it was started. */
        RunSpecView: {
            deadline?: components["schemas"]["Instant"] | null;
            /** @description The event it was started for. */
            event?: string | null;
            idempotency_key?: string | null;
            origin?: components["schemas"]["RunOrigin"] | null;
            /** @description The node that called it. */
            parent?: string | null;
            /** Format: int32 */
            priority?: number | null;
            tags?: string[];
            /** Format: int32 */
            version: number;
            workflow: string;
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
        /** @description One verb for all runs that an expression means. */
        RunsBulk: {
            by?: string | null;
            /** @description Of a patch, instead of `reason`. */
            description?: string | null;
            /** @description Change nothing: say how many are meant. */
            dry_run?: boolean;
            /** @description Of a restart: the node to begin anew from, such as `pay`. */
            node?: string | null;
            /** @description Of a patch: RFC 6902 over the text that each follows, as JSON. */
            operations?: unknown[] | null;
            /**
             * Format: int32
             * @description At most so many a second.
             */
            per_s?: number | null;
            /** @description Why, for the history of each. */
            reason?: string | null;
            /** @description Of a patch, after its operations: values at paths, such as `nodes.pay.timeout=1m`, wherever that is in the text of each. */
            set?: string[];
            /** @description Of a patch, after that: paths to take away. */
            unset?: string[];
            verb: components["schemas"]["RunsVerb"];
            /**
             * @description CEL over one run: `workflow == "refund" && status == "failed"`. It sees `id`, `workflow`, `version`, `status`, `paused`,
             *     `tags`, `started_at`, `ended_at`, `age` (seconds since the start), `error.code`, `error.message`, `called`, `parent` and
             *     `idempotency_key`; what is not there is an empty text. Runs that others called are left out, unless it reads `called` or
             *     `parent`.
             */
            where: string;
        };
        /** @description The bulk that does it; of a dry run, how many runs are meant. */
        RunsBulkAnswer: {
            /** @description Not all runs were looked at: there may be more. */
            at_least?: boolean;
            bulk?: string | null;
            /**
             * Format: int64
             * @description Runs that are meant.
             */
            count?: number | null;
            /**
             * Format: int64
             * @description Of a restart: so many of those that were asked are done already.
             */
            done?: number | null;
            dry_run?: boolean;
            /**
             * Format: int64
             * @description So many of those would be left as they are.
             */
            refused?: number | null;
            /** @description Of the first of those, why. */
            refused_first?: components["schemas"]["RunRefused"][];
            /** @description Some of them, the oldest first. */
            sample?: string[];
            /**
             * Format: int64
             * @description So many of them, the oldest, were asked whether they would take it, as far as that is known beforehand.
             */
            tried?: number | null;
            /**
             * Format: int64
             * @description For so many runs the expression gives no answer; they would be left as they are.
             */
            unclear?: number | null;
            unclear_first?: components["schemas"]["RunRefused"] | null;
        };
        /**
         * @description What is to be done to each run that is meant.
         * @enum {string}
         */
        RunsVerb: "cancel" | "retry" | "pause" | "resume" | "restart" | "patch";
        ServerStatus: {
            address?: string | null;
            /** @description Where values lie that are too large for a record, and what workers put. */
            blobs?: components["schemas"]["BlobsView"];
            /**
             * Format: int64
             * @description Bulks under way.
             */
            bulks?: number;
            /**
             * Format: int64
             * @description Since this server started.
             */
            commits: number;
            /** Format: int64 */
            commits_failed?: number;
            /** @description Over all queues. */
            counts: components["schemas"]["Counts"];
            /** @description Of the last hour: events that did not become work, by what became of them, as in `/v1/stats`. */
            events?: {
                [key: string]: number;
            };
            /** @description What it leans on outside, by name: `redis`. */
            outside?: {
                [key: string]: components["schemas"]["OutsideView"];
            };
            /**
             * Format: int64
             * @description Queues that hold something or that something was said about.
             */
            queues?: number;
            /**
             * Format: int64
             * @description The number of the newest record; numbers rise, with gaps.
             */
            records: number;
            registry?: components["schemas"]["RegistryStatus"] | null;
            /** @description How far the statistics are. */
            rollups?: components["schemas"]["RollupsView"];
            /**
             * Format: int64
             * @description Runs that have not ended, or not come to rest.
             */
            runs?: number;
            /**
             * Format: int32
             * @description Which part of the whole this server is.
             */
            shard?: number;
            /** @description No new work is handed out any more. */
            stopping: boolean;
            /** @description Which store this server keeps everything in, in a sentence. */
            store: string;
            /** Format: int64 */
            uptime_ms: number;
            version: string;
            watchdog?: components["schemas"]["WatchdogView"];
            workers: components["schemas"]["WorkerView"][];
        };
        /** @description The body of a request that says nothing but who sends it. */
        Signed: {
            by?: string | null;
        };
        /**
         * @description What a node was at.
         * @enum {string}
         */
        SpanKind: "inside" | "queued" | "held" | "backoff" | "sleeping" | "asking" | "awaiting" | "calling" | "running";
        Stats: components["schemas"]["Figures"] & {
            /** @description How it is now. */
            current_depth: components["schemas"]["Counts"];
            /** @description The same of each family, those with the most dispatches first. */
            families: components["schemas"]["FamilyStats"][];
            /**
             * Format: int64
             * @description Families that are not among them.
             */
            families_left?: number;
            /** @description What may be a mistake: there is nothing of that family, but of some below it. */
            note?: string | null;
            /** @description Newest first. */
            recent_failures: components["schemas"]["FailureView"][];
            window: components["schemas"]["StatsWindow"];
        };
        /** @description What was looked at: minutes, of each queue and family one roll-up. */
        StatsWindow: {
            /**
             * Format: int64
             * @description Roll-ups in this window.
             */
            found: number;
            from: components["schemas"]["Instant"];
            /**
             * Format: int64
             * @description Those that were read; the newest, if not all.
             */
            sampled: number;
            to: components["schemas"]["Instant"];
            /** @description Something in this window is not counted. */
            truncated: boolean;
            /** @description What is not, and why. */
            truncated_why?: string | null;
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
            /** @description And that was for another input, which was used; nothing of this request was. */
            input_differs?: boolean;
            task: string;
        };
        TaskCancel: {
            by?: string | null;
            reason?: string | null;
        };
        /** @description Why an attempt did not succeed. */
        TaskError: {
            code: string;
            message?: string;
        };
        TaskFigures: {
            /** Format: int64 */
            added: number;
            /** @description By cause. */
            cancelled: {
                [key: string]: number;
            };
            /**
             * Format: int64
             * @description Failed for good.
             */
            failed: number;
            /**
             * Format: int64
             * @description Put into their queue after they were added: again, or for the first time.
             */
            queued: number;
            /**
             * Format: int64
             * @description Attempts that were followed by another.
             */
            retried: number;
        };
        /** @description Which tasks of the queue: every given condition holds. */
        TaskFilter: {
            /** @description Code of the last failure. */
            error_code?: string | null;
            /** @description Made by events of this family, or of those that a pattern such as `github/*` covers. What no event made has none. */
            family?: string | null;
            key?: components["schemas"]["KeyPair"] | null;
            tag?: string | null;
            type?: string | null;
        };
        TaskList: {
            /** @description The cursor of the next page; null on the last. */
            next?: string | null;
            tasks: components["schemas"]["TaskView"][];
        };
        /** @description What a task was told to be when it was added. */
        TaskSpecView: {
            blocked_by?: string[];
            /** Format: int64 */
            budget_ms?: number | null;
            idempotency_key?: string | null;
            idle?: boolean;
            keys?: {
                [key: string]: string;
            };
            /** @description The node of a run that it is the work of, such as `run-7/pay`. */
            node?: string | null;
            /** Format: int32 */
            priority: number;
            queue: string;
            retry?: components["schemas"]["Retry"] | null;
            scheduled_for?: components["schemas"]["Instant"] | null;
            start_by?: components["schemas"]["Instant"] | null;
            tags?: string[];
            trigger?: components["schemas"]["TriggerView"] | null;
            type: string;
        };
        TaskStart: {
            by?: string | null;
            /** @description Even when it is blocked by other tasks. */
            force?: boolean;
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
        /** @description Several tasks: all of them are added, or none. */
        TasksAdd: {
            tasks: components["schemas"]["TaskAdd"][];
        };
        /** @description In the order they were sent. */
        TasksAdded: {
            tasks: components["schemas"]["TaskAdded"][];
        };
        TextKept: {
            /** @description The turn or item, such as `rounds[1]`. */
            frame: string;
            /** @description The node that is why: it has begun, and is another in the new text. */
            node: string;
        };
        /** @description A run over time: what each of its nodes was at, from when to when. */
        Timeline: {
            ended_at?: components["schemas"]["Instant"] | null;
            /**
             * Format: int32
             * @description How often it was restarted from a node.
             */
            generation?: number;
            /**
             * Format: int64
             * @description Rows beyond the limit.
             */
            left_out?: number;
            /** @description When the run was changed under way, in that order. */
            moments?: components["schemas"]["TimelineMoment"][];
            /** @description The run has more records than are looked at: what came later is not here. */
            more?: boolean;
            /**
             * Format: int32
             * @description How often its definition was changed.
             */
            revision?: number;
            /** @description In the order of the definition. */
            rows: components["schemas"]["TimelineRow"][];
            run: string;
            started_at: components["schemas"]["Instant"];
            status: components["schemas"]["RunStatus"];
            /** @description Where the time line ends: when the run did, or now. */
            until: components["schemas"]["Instant"];
            /** Format: int32 */
            version: number;
            workflow: string;
        };
        /** @description A moment at which somebody changed a run under way. */
        TimelineMoment: {
            at: components["schemas"]["Instant"];
            by: string;
            /**
             * Format: int32
             * @description Of a restart: the generation that began with it.
             */
            generation?: number | null;
            /** @description The node it was restarted from, or whose worker asked for the patch; such as `rounds[1]/pay`. */
            node?: string | null;
            /** @description Why; of a patch, what it does. */
            reason?: string;
            /** @description The record of it. */
            record: components["schemas"]["Cursor"];
            /**
             * Format: int32
             * @description Of a patch: the revision it made.
             */
            revision?: number | null;
            what: components["schemas"]["MomentKind"];
        };
        /** @description One node in one turn or item, or many of it together. */
        TimelineRow: {
            /**
             * Format: int64
             * @description Of those, how many failed.
             */
            failed?: number;
            id: string;
            /**
             * Format: int64
             * @description How many it stands for.
             */
            instances: number;
            /**
             * @description `pay`, `rounds[1]/pay`, or `rounds[*]/pay` for many together. One that was opened after a restart says in which generation:
             *     `rounds[1@2]/pay`.
             */
            node: string;
            /**
             * Format: int32
             * @description A patch has taken it out: the first revision of the run's definition without it.
             */
            removed?: number | null;
            /**
             * @description By when they began; none of one that waits or was skipped. Of many: when any of them was at it, those that failed apart, with
             *     the first error.
             */
            spans: components["schemas"]["TimelineSpan"][];
            /** @description Of many: of the one that most is to be said of: what goes on, then what failed. */
            status: components["schemas"]["NodeStatus"];
            /** @description Of many: the sum over all of them, so it may be more than the run took. */
            totals: components["schemas"]["TimelineTotals"];
            type?: string | null;
            /** @description A restart has undone the turn or item, or all of them. */
            undone?: boolean;
        };
        TimelineSpan: {
            /** Format: int32 */
            attempt?: number | null;
            error?: components["schemas"]["TaskError"] | null;
            from: components["schemas"]["Instant"];
            to?: components["schemas"]["Instant"] | null;
            /** @description A restart has undone it. */
            undone?: boolean;
            what: components["schemas"]["SpanKind"];
            worker?: string | null;
        };
        /** @description How long in all; what goes on counts up to `until`. */
        TimelineTotals: {
            /**
             * Format: int64
             * @default 0
             */
            asking_ms: number;
            /**
             * Format: int64
             * @description Attempts that were begun.
             * @default 0
             */
            attempts: number;
            /**
             * Format: int64
             * @default 0
             */
            awaiting_ms: number;
            /**
             * Format: int64
             * @default 0
             */
            backoff_ms: number;
            /**
             * Format: int64
             * @default 0
             */
            calling_ms: number;
            /**
             * Format: int64
             * @default 0
             */
            held_ms: number;
            /**
             * Format: int64
             * @default 0
             */
            inside_ms: number;
            /**
             * Format: int64
             * @default 0
             */
            queued_ms: number;
            /**
             * Format: int64
             * @default 0
             */
            running_ms: number;
            /**
             * Format: int64
             * @default 0
             */
            sleeping_ms: number;
        };
        /** @description What lies on the way from one node to another. */
        TokenView: {
            /** @description The node that gave it, such as `rounds[1]/pay`. */
            from: string;
            /** @description The one that has yet to take it in. */
            to: string;
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
        /** @description A value that cannot be shown. */
        Unread: {
            /** @description `input`, `output`, or the node it is of. */
            of: string;
            sentence: string;
        };
        /** @description A node that something is awaited of. */
        WaitView: {
            /**
             * Format: int64
             * @description Others that wait for the same: of the same node in other turns or items, and tasks of other nodes that stand in their
             *     queue alike.
             */
            alike?: number;
            called?: components["schemas"]["RunExplanation"] | null;
            /** @description Stable: `task`, `approval`, `sleep`, `event`, `run`, `loading`. */
            code: string;
            eta?: components["schemas"]["Instant"] | null;
            /** @description What it asks. */
            message?: unknown;
            /** @description Such as `rounds[1]/pay`. */
            node: string;
            sentence: string;
            since?: components["schemas"]["Instant"] | null;
            /** @description The run it called. */
            sub_run?: string | null;
            task?: components["schemas"]["Explanation"] | null;
            /** @description Who may answer; anyone when empty. */
            who?: string[];
        };
        /** @description Whether anything stands still that should move. */
        WatchdogView: {
            /**
             * Format: int64
             * @description For how long.
             */
            lasted_ms?: number | null;
            /** @description `tick_hung`, `dispatch_hung` or `backlog_idle`, while it does. */
            reason?: string | null;
            /**
             * Format: int64
             * @description How often something did, since this start.
             */
            trips: number;
        };
        WebhookList: {
            webhooks: components["schemas"]["WebhookView"][];
        };
        WebhookRefusal: {
            at: components["schemas"]["Instant"];
            /** @description A sentence. */
            why: string;
        };
        /** @description The answer to a webhook's sender. */
        WebhookTaken: {
            /** @description With another name or other data, which stay. */
            differs?: boolean;
            /** @description It had come before. */
            duplicate: boolean;
            event: string;
            /**
             * Format: int64
             * @description Tasks that it made or joined.
             */
            queued: number;
        };
        /** @description A webhook of the registry in force, and what came to it since this server started. Its secret is never shown. */
        WebhookView: {
            /** Format: int64 */
            accepted: number;
            last_refusal?: components["schemas"]["WebhookRefusal"] | null;
            /** @description Where its sender posts to. */
            path: string;
            /** @description `github`, `stripe`, `hmac` or `secret`. */
            provider: string;
            /** Format: int64 */
            refused: number;
            /** @description Without one, every request is refused. */
            secret_set: boolean;
            /** @description Variables of the environment that it names as secrets and that are not set. */
            unset?: string[];
            webhook: string;
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
            /** @description What it was at then, in a few words; told with `progress`. */
            message?: string | null;
            /** @description Of a task that is done; any JSON, null when left out. */
            output?: unknown;
            output_ref?: components["schemas"]["BlobRef"] | null;
            /**
             * Format: double
             * @description How far it came, from 0 to 1, for people.
             */
            progress?: number | null;
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
        /** @description A worker that asked for work not long ago. */
        WorkerView: {
            /** Format: int64 */
            asked_ms_ago: number;
            /**
             * Format: int64
             * @description Leases it holds.
             */
            holding: number;
            types: string[];
            worker: string;
        };
        WorkflowChecked: {
            /** @description Those of loops and eaches included. */
            nodes: number;
            /**
             * Format: int32
             * @description As the text says; without one it gets the next when it is put.
             */
            version?: number | null;
            workflow: string;
        };
        WorkflowDisabled: {
            by: string;
            reason: string;
            since: components["schemas"]["Instant"];
        };
        WorkflowList: {
            /** @description The newest version of each, by name. */
            workflows: components["schemas"]["WorkflowView"][];
        };
        /** @description A node of a definition, in a line. */
        WorkflowNode: {
            after?: string[];
            node: string;
            type: string;
            /** @description It is skipped if this is false. */
            when?: string | null;
            /** @description The loop or each whose body it stands in. */
            within?: string | null;
        };
        /** @description Whether new runs of a workflow start. */
        WorkflowNow: {
            disabled: boolean;
            /** @description It was so before. */
            unchanged: boolean;
            workflow: string;
        };
        WorkflowPut: {
            /** @description This very text was there already. */
            unchanged: boolean;
            /** Format: int32 */
            version: number;
            workflow: string;
        };
        WorkflowVersion: {
            put_at: components["schemas"]["Instant"];
            put_by: string;
            /** Format: int32 */
            version: number;
        };
        /** @description One version of a workflow. In lists `text` and `nodes` are left out. */
        WorkflowView: {
            disabled?: components["schemas"]["WorkflowDisabled"] | null;
            /** @description The JSON Schema of its input. */
            input?: unknown;
            nodes?: components["schemas"]["WorkflowNode"][];
            put_at: components["schemas"]["Instant"];
            put_by: string;
            text?: string | null;
            /** Format: int32 */
            version: number;
            /** @description All that there are, the newest first. */
            versions?: components["schemas"]["WorkflowVersion"][];
            workflow: string;
        };
        /** @description What a text that is right holds. */
        WorkflowsChecked: {
            /** @description What is right and yet may not be what was meant. */
            warnings?: components["schemas"]["ProblemAt"][];
            workflows: components["schemas"]["WorkflowChecked"][];
        };
        /** @description In the order of the text. */
        WorkflowsPut: {
            /** @description What was put and yet may not be what was meant. */
            warnings?: components["schemas"]["ProblemAt"][];
            workflows: components["schemas"]["WorkflowPut"][];
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
