// Made by `make sdk-types` from the server's own description. Do not edit.

import { randomUUID } from "node:crypto";
import type { components } from "./api.js";

/** What the API takes and answers. */
export type Schemas = components["schemas"];

/** What is undefined is left out. */
export type Given<T> = { [K in keyof T]: T[K] | undefined };

/** How a call is sent. */
export interface Sent {
  body?: unknown;
  /** What the body is, if it is not to be JSON: then it is bytes. */
  kind?: string;
  query?: object;
  /** It may safely be sent twice, as may any GET or PUT. */
  again?: boolean;
  /** Instead of the client's own, if that is longer. */
  timeoutMs?: number;
}

class Calls {
  constructor(protected readonly api: Api) {}
}

const part = encodeURIComponent;

export class Approvals extends Calls {
  /** List what waits for somebody's answer, the longest waiting first. */
  async list(query: { workflow?: string | undefined; limit?: number | undefined; cursor?: string | undefined } = {}): Promise<Schemas["ApprovalList"]> {
    return this.api.request("GET", `/v1/approvals`, { query });
  }

  /** Answer yes or no. */
  async answer(node: Schemas["ApprovalAnswer"]["node"], approved: Schemas["ApprovalAnswer"]["approved"], options: Given<Omit<Schemas["ApprovalAnswer"], "node" | "approved">> = {}): Promise<Schemas["ApprovalAnswered"]> {
    return this.api.request("POST", `/v1/approvals`, { body: { ...options, node, approved } });
  }
}

export class Blobs extends Calls {
  /** Keep bytes, up to 64 MiB. The same bytes have the same name and are kept once. */
  async put(data: Uint8Array): Promise<Schemas["BlobPut"]> {
    return this.api.request("PUT", `/v1/blobs`, { body: Buffer.concat([data]), kind: "application/octet-stream", again: true });
  }

  /** Look at some of the blobs and remove those that nothing mentions and whose grace period is over. The server does so by itself every hour; go on with `after` until `next` is left out. */
  async sweep(query: { dry_run?: boolean | undefined; after?: string | undefined } = {}): Promise<Schemas["BlobsSwept"]> {
    return this.api.request("POST", `/v1/blobs/sweep`, { query, again: true });
  }

  /** The bytes of a blob. They never change, so whoever has them may keep them; `HEAD` says whether they are there. */
  async get(ref: string): Promise<Uint8Array> {
    return this.api.request("GET", `/v1/blobs/${part(ref)}`);
  }
}

export class Bulks extends Calls {
  /** List bulks, newest first. */
  async list(): Promise<Schemas["BulkList"]> {
    return this.api.request("GET", `/v1/bulks`);
  }

  /** Show a bulk and how far it is. */
  async show(bulk: string): Promise<Schemas["BulkView"]> {
    return this.api.request("GET", `/v1/bulks/${part(bulk)}`);
  }

  /** Stop a bulk; what it did stays done. */
  async cancel(bulk: string, options: Given<Schemas["Signed"]> = {}): Promise<Schemas["BulkView"]> {
    return this.api.request("POST", `/v1/bulks/${part(bulk)}/cancel`, { body: options, again: true });
  }
}

export class Crons extends Calls {
  /** List the crons of the registry in force. */
  async list(): Promise<Schemas["CronList"]> {
    return this.api.request("GET", `/v1/crons`);
  }

  /** Tell when a cron fires next. */
  async next(cron: string, query: { count?: number | undefined } = {}): Promise<Schemas["CronNext"]> {
    return this.api.request("GET", `/v1/crons/${part(cron)}/next`, { query });
  }

  /** Fire a cron now, beside its schedule. */
  async run(cron: string, options: Given<Schemas["Signed"]> = {}): Promise<Schemas["EventEmitted"]> {
    return this.api.request("POST", `/v1/crons/${part(cron)}/run`, { body: options });
  }
}

export class Events extends Calls {
  /** List events, newest first. */
  async list(query: { name?: string | undefined; unhandled?: boolean | undefined; outcome?: string | undefined; handler?: string | undefined; id?: string | undefined; since?: Schemas["Instant"] | undefined; limit?: number | undefined; cursor?: string | undefined } = {}): Promise<Schemas["EventList"]> {
    return this.api.request("GET", `/v1/events`, { query });
  }

  /** Take an event in: durable when it is answered, with what each handler makes of it. */
  async emit(name: Schemas["EventEmit"]["name"], data?: Schemas["EventEmit"]["data"], options: Given<Omit<Schemas["EventEmit"], "name" | "data">> = {}): Promise<Schemas["EventEmitted"]> {
    return this.api.request("POST", `/v1/events`, { body: { ...options, name, data, id: options.id ?? randomUUID() }, again: true });
  }

  /** Take many events in, in order. */
  async emitMany(events: Readonly<Schemas["EventsEmit"]["events"]>): Promise<Schemas["EventsEmitted"]> {
    return this.api.request("POST", `/v1/events/batch`, { body: { events: events.map((each) => ({ ...each, id: each.id ?? randomUUID() })) }, again: true });
  }

  /** Show an event with its data and what became of it. */
  async show(event: string): Promise<Schemas["EventView"]> {
    return this.api.request("GET", `/v1/events/${part(event)}`);
  }

  /** Handle an event once more, by the registry in force; that it came before is no reason not to. */
  async replay(event: string, options: Given<Schemas["Signed"]> = {}): Promise<Schemas["EventEmitted"]> {
    return this.api.request("POST", `/v1/events/${part(event)}/replay`, { body: options });
  }
}

export class Families extends Calls {
  /** List the families that are paused or boosted, and those of which something waits or runs. */
  async list(): Promise<Schemas["FamiliesList"]> {
    return this.api.request("GET", `/v1/families`);
  }

  /** Give tasks of these families a head start, or take it away with 0. */
  async boost(families: Schemas["FamiliesBoost"]["families"], boost: Schemas["FamiliesBoost"]["boost"], options: Given<Omit<Schemas["FamiliesBoost"], "families" | "boost">> = {}): Promise<Schemas["FamiliesList"]> {
    return this.api.request("POST", `/v1/families/boost`, { body: { ...options, families, boost }, again: true });
  }

  /** Hand out no more tasks of these families; what runs goes on, and what is critical. */
  async pause(families: Schemas["FamiliesPause"]["families"], options: Given<Omit<Schemas["FamiliesPause"], "families">> = {}): Promise<Schemas["FamiliesList"]> {
    return this.api.request("POST", `/v1/families/pause`, { body: { ...options, families }, again: true });
  }

  /** Hand out tasks of these families again. It takes back the pause with this very pattern. */
  async resume(families: Schemas["FamiliesResume"]["families"], options: Given<Omit<Schemas["FamiliesResume"], "families">> = {}): Promise<Schemas["FamiliesList"]> {
    return this.api.request("POST", `/v1/families/resume`, { body: { ...options, families }, again: true });
  }

  /** Cancel what waits of these families, in whatever queue, up to a priority. What runs goes on, and what is critical stays. */
  async shed(families: Readonly<Schemas["FamiliesShed"]["families"]>, upto: Schemas["FamiliesShed"]["upto"], options: Given<Omit<Schemas["FamiliesShed"], "families" | "upto">> = {}): Promise<Schemas["BulkAnswer"]> {
    return this.api.request("POST", `/v1/families/shed`, { body: { ...options, families, upto } });
  }
}

export class Queues extends Calls {
  /** List every queue that holds something or that something was said about. */
  async list(query: { family?: string | undefined } = {}): Promise<Schemas["QueueList"]> {
    return this.api.request("GET", `/v1/queues`, { query });
  }

  /** Show a queue: its configuration, what waits and what runs. A queue nobody used yet is shown with its defaults. */
  async show(queue: string): Promise<Schemas["QueueView"]> {
    return this.api.request("GET", `/v1/queues/${part(queue)}`);
  }

  /** Replace a queue's configuration whole; numbers act at once. */
  async put(queue: string, config: Schemas["QueuePut"]["config"], options: Given<Omit<Schemas["QueuePut"], "config">> = {}): Promise<Schemas["QueueView"]> {
    return this.api.request("PUT", `/v1/queues/${part(queue)}`, { body: { ...options, config }, again: true });
  }

  /** Cancel what waits in a queue. */
  async clear(queue: string, options: Given<Schemas["QueueClear"]> = {}): Promise<Schemas["BulkAnswer"]> {
    return this.api.request("POST", `/v1/queues/${part(queue)}/clear`, { body: options });
  }

  /** List a queue's dead letters, newest first. */
  async dead(queue: string, query: { type?: string | undefined; tag?: string | undefined; key?: string | undefined; error_code?: string | undefined; family?: string | undefined; limit?: number | undefined; cursor?: string | undefined } = {}): Promise<Schemas["TaskList"]> {
    return this.api.request("GET", `/v1/queues/${part(queue)}/dead`, { query });
  }

  /** Run what waits in a queue now, past rate and schedule. */
  async drain(queue: string, options: Given<Schemas["QueueDrain"]> = {}): Promise<Schemas["BulkAnswer"]> {
    return this.api.request("POST", `/v1/queues/${part(queue)}/drain`, { body: options });
  }

  /** Stop handing out a queue's tasks; adds and running work go on. */
  async pause(queue: string, options: Given<Schemas["QueuePause"]> = {}): Promise<Schemas["QueueView"]> {
    return this.api.request("POST", `/v1/queues/${part(queue)}/pause`, { body: options, again: true });
  }

  /** Queue dead letters again, oldest first, attempts starting over. */
  async redrive(queue: string, options: Given<Schemas["QueueRedrive"]> = {}): Promise<Schemas["BulkAnswer"]> {
    return this.api.request("POST", `/v1/queues/${part(queue)}/redrive`, { body: options });
  }

  /** Change the order: of some tasks, of all that fit a filter, or by a boost on the queue or one key. */
  async reprioritize(queue: string, priority: Schemas["QueueReprioritize"]["priority"], options: Given<Omit<Schemas["QueueReprioritize"], "priority">> = {}): Promise<Schemas["BulkAnswer"]> {
    return this.api.request("POST", `/v1/queues/${part(queue)}/reprioritize`, { body: { ...options, priority } });
  }

  /** Hand out a queue's tasks again. */
  async resume(queue: string, options: Given<Schemas["Signed"]> = {}): Promise<Schemas["QueueView"]> {
    return this.api.request("POST", `/v1/queues/${part(queue)}/resume`, { body: options, again: true });
  }
}

export class Registry extends Calls {
  /** Show the registry in force. */
  async show(): Promise<Schemas["RegistryView"]> {
    return this.api.request("GET", `/v1/registry`);
  }

  /** Put a registry in force, whole, or say all that is wrong with it and change nothing. */
  async put(text: string, query: { by?: string | undefined } = {}): Promise<Schemas["RegistryPut"]> {
    return this.api.request("PUT", `/v1/registry`, { body: Buffer.from(text, "utf8"), kind: "text/yaml", query, again: true });
  }

  /** The JSON Schema of registries. */
  async schema(): Promise<any> {
    return this.api.request("GET", `/v1/registry.schema.json`);
  }

  /** Check a registry without putting it. */
  async check(text: string): Promise<Schemas["RegistryChecked"]> {
    return this.api.request("POST", `/v1/registry/check`, { body: Buffer.from(text, "utf8"), kind: "text/yaml", again: true });
  }

  /** Say what another registry would change, without putting it. */
  async diff(text: string): Promise<Schemas["RegistryDiff"]> {
    return this.api.request("POST", `/v1/registry/diff`, { body: Buffer.from(text, "utf8"), kind: "text/yaml", again: true });
  }

  /** Say what would become of an event, handler by handler, without taking it in. */
  async simulate(name: Schemas["EventEmit"]["name"], data?: Schemas["EventEmit"]["data"], options: Given<Omit<Schemas["EventEmit"], "name" | "data">> = {}): Promise<any> {
    return this.api.request("POST", `/v1/registry/simulate`, { body: { ...options, name, data }, again: true });
  }
}

export class Runs extends Calls {
  /** List runs, newest first. */
  async list(query: { workflow?: string | undefined; status?: "running" | "done" | "failed" | "cancelled" | undefined; paused?: boolean | undefined; tag?: string | undefined; parent?: string | undefined; called?: boolean | undefined; idempotency_key?: string | undefined; limit?: number | undefined; cursor?: string | undefined } = {}): Promise<Schemas["RunList"]> {
    return this.api.request("GET", `/v1/runs`, { query });
  }

  /** Start a run of a workflow. */
  async start(workflow: Schemas["RunStart"]["workflow"], input?: Schemas["RunStart"]["input"], options: Given<Omit<Schemas["RunStart"], "workflow" | "input">> = {}): Promise<Schemas["RunStarted"]> {
    return this.api.request("POST", `/v1/runs`, { body: { ...options, workflow, input, idempotency_key: options.idempotency_key ?? randomUUID() }, again: true });
  }

  /** Cancel, retry, pause, resume, restart or patch all runs that an expression means, or say how many there are. */
  async bulk(verb: Schemas["RunsBulk"]["verb"], where: Schemas["RunsBulk"]["where"], options: Given<Omit<Schemas["RunsBulk"], "verb" | "where">> = {}): Promise<Schemas["RunsBulkAnswer"]> {
    return this.api.request("POST", `/v1/runs/bulk`, { body: { ...options, verb, where } });
  }

  /** Show a run with its input, its output and its nodes; with `wait_ms`, when it has ended. */
  async show(run: string, query: { nodes?: number | undefined; all_generations?: boolean | undefined; wait_ms?: number | undefined } = {}): Promise<Schemas["RunView"]> {
    return this.api.request("GET", `/v1/runs/${part(run)}`, { query });
  }

  /** Until it is done, failed or cancelled. Throws a `TimeoutError` if it goes on after `timeoutMs`. */
  wait(run: string, options: { timeoutMs?: number } = {}): Promise<Schemas["RunView"]> {
    return this.api.ended(`/v1/runs/${part(run)}`, options);
  }

  /** Delete a run that has ended, with its nodes, their tasks, and its history. */
  async delete(run: string, query: { by?: string | undefined } = {}): Promise<Schemas["RunNow"]> {
    return this.api.request("DELETE", `/v1/runs/${part(run)}`, { query });
  }

  /** Cancel a run: what waits in it is dropped, what runs is asked to stop. The node that called it, if any, fails by that. */
  async cancel(run: string, options: Given<Schemas["RunChange"]> = {}): Promise<Schemas["RunNow"]> {
    return this.api.request("POST", `/v1/runs/${part(run)}/cancel`, { body: options, again: true });
  }

  /** The text that a run follows, or followed in an earlier revision, and what is different since the one before. */
  async definition(run: string, query: { revision?: number | undefined; since?: number | undefined } = {}): Promise<Schemas["RunDefinition"]> {
    return this.api.request("GET", `/v1/runs/${part(run)}/definition`, { query });
  }

  /** What a run waits for, or how it ended and what can be done. */
  async explain(run: string): Promise<Schemas["RunExplanation"]> {
    return this.api.request("GET", `/v1/runs/${part(run)}/explain`);
  }

  /** Start a new run from how another was after any of its records, or from before any of its nodes. */
  async fork(run: string, options: Given<Schemas["RunFork"]> = {}): Promise<Schemas["RunForked"]> {
    return this.api.request("POST", `/v1/runs/${part(run)}/fork`, { body: { ...options, idempotency_key: options.idempotency_key ?? randomUUID() }, again: true });
  }

  /** Everything that happened in a run, to its nodes and to their tasks, oldest first. */
  async history(run: string, query: { limit?: number | undefined; cursor?: string | undefined } = {}): Promise<Schemas["RunHistory"]> {
    return this.api.request("GET", `/v1/runs/${part(run)}/history`, { query });
  }

  /** Show one node of a run: how it stands, what it was given, what it gave. */
  async node(run: string, node: string): Promise<Schemas["NodeView"]> {
    return this.api.request("GET", `/v1/runs/${part(run)}/node`, { query: { node } });
  }

  /** List the nodes of a run that something has happened to. */
  async nodes(run: string, query: { status?: "waiting" | "queued" | "running" | "asking" | "sleeping" | "awaiting" | "done" | "failed" | "skipped" | "cancelled" | undefined; frame?: string | undefined; output?: boolean | undefined; all_generations?: boolean | undefined; limit?: number | undefined; cursor?: string | undefined } = {}): Promise<Schemas["NodeList"]> {
    return this.api.request("GET", `/v1/runs/${part(run)}/nodes`, { query });
  }

  /** Do one node once more: one that failed its run is tried again, another begins anew with all that follows from it. */
  async replayNode(run: string, node: string, options: Given<Schemas["NodeReplay"]> = {}): Promise<Schemas["RunNow"]> {
    return this.api.request("POST", `/v1/runs/${part(run)}/nodes/${part(node)}/replay`, { body: options });
  }

  /** Change the definition that a run follows, now and for what is to come: what has begun in it stays as it is. */
  async patch(run: string, operations: Readonly<Schemas["RunPatch"]["operations"]>, options: Given<Omit<Schemas["RunPatch"], "operations">> = {}): Promise<Schemas["RunPatched"]> {
    return this.api.request("POST", `/v1/runs/${part(run)}/patch`, { body: { ...options, operations } });
  }

  /** Begin nothing new in a run; what runs may finish. */
  async pause(run: string, options: Given<Schemas["RunChange"]> = {}): Promise<Schemas["RunNow"]> {
    return this.api.request("POST", `/v1/runs/${part(run)}/pause`, { body: options, again: true });
  }

  /** Show a run as it was after one of its records, or at an instant. */
  async replay(run: string, query: { at?: string | undefined; nodes?: number | undefined; output?: boolean | undefined } = {}): Promise<Schemas["RunReplay"]> {
    return this.api.request("GET", `/v1/runs/${part(run)}/replay`, { query });
  }

  /** Begin anew from a node: it and all that follows from it are undone, what came before stays. */
  async restart(run: string, node: Schemas["RunRestart"]["node"], options: Given<Omit<Schemas["RunRestart"], "node">> = {}): Promise<Schemas["RunNow"]> {
    return this.api.request("POST", `/v1/runs/${part(run)}/restart`, { body: { ...options, node } });
  }

  /** Go on with a run that was paused. */
  async resume(run: string, options: Given<Schemas["Signed"]> = {}): Promise<Schemas["RunNow"]> {
    return this.api.request("POST", `/v1/runs/${part(run)}/resume`, { body: options, again: true });
  }

  /** Go on with a run that failed or was cancelled: what failed it is tried again, what is done stays done. */
  async retry(run: string, options: Given<Schemas["RunRetry"]> = {}): Promise<Schemas["RunNow"]> {
    return this.api.request("POST", `/v1/runs/${part(run)}/retry`, { body: options });
  }

  /** Say what a node gives, instead of its worker: it is done with that, and the run goes on. */
  async skip(run: string, node: Schemas["RunSkip"]["node"], output?: Schemas["RunSkip"]["output"], options: Given<Omit<Schemas["RunSkip"], "node" | "output">> = {}): Promise<Schemas["RunNow"]> {
    return this.api.request("POST", `/v1/runs/${part(run)}/skip`, { body: { ...options, node, output } });
  }

  /** When each node of a run did what: waited in its queue, ran, was tried again, slept, asked. */
  async timeline(run: string, query: { node?: string | undefined; all?: boolean | undefined; all_generations?: boolean | undefined; limit?: number | undefined } = {}): Promise<Schemas["Timeline"]> {
    return this.api.request("GET", `/v1/runs/${part(run)}/timeline`, { query });
  }
}

export class Server extends Calls {
  /** What became of the work of a while: dispatches, waits, durations, families, failures. */
  async stats(query: { since?: string | undefined; for_ms?: number | undefined; queue?: string | undefined; family?: string | undefined; target_p95_ms?: number | undefined; failures?: number | undefined } = {}): Promise<Schemas["Stats"]> {
    return this.api.request("GET", `/v1/stats`, { query });
  }

  /** What the server is doing, over all queues. */
  async status(): Promise<Schemas["ServerStatus"]> {
    return this.api.request("GET", `/v1/status`);
  }
}

export class Tasks extends Calls {
  /** List tasks, newest first. */
  async list(query: { queue?: string | undefined; type?: string | undefined; status?: Schemas["Status"] | undefined; tag?: string | undefined; key?: string | undefined; error_code?: string | undefined; family?: string | undefined; limit?: number | undefined; cursor?: string | undefined } = {}): Promise<Schemas["TaskList"]> {
    return this.api.request("GET", `/v1/tasks`, { query });
  }

  /** Add a task. */
  async add(type: Schemas["TaskAdd"]["type"], input?: Schemas["TaskAdd"]["input"], options: Given<Omit<Schemas["TaskAdd"], "type" | "input">> = {}): Promise<Schemas["TaskAdded"]> {
    return this.api.request("POST", `/v1/tasks`, { body: { ...options, type, input, idempotency_key: options.idempotency_key ?? randomUUID() }, again: true });
  }

  /** Add many tasks, all of them or none. */
  async addMany(tasks: Readonly<Schemas["TasksAdd"]["tasks"]>): Promise<Schemas["TasksAdded"]> {
    return this.api.request("POST", `/v1/tasks/batch`, { body: { tasks: tasks.map((each) => ({ ...each, idempotency_key: each.idempotency_key ?? randomUUID() })) }, again: true });
  }

  /** Show a task with its input and output; with `wait_ms`, when it has ended. */
  async show(task: string, query: { wait_ms?: number | undefined } = {}): Promise<Schemas["TaskView"]> {
    return this.api.request("GET", `/v1/tasks/${part(task)}`, { query });
  }

  /** Until it is done, failed or cancelled. Throws a `TimeoutError` if it goes on after `timeoutMs`. */
  wait(task: string, options: { timeoutMs?: number } = {}): Promise<Schemas["TaskView"]> {
    return this.api.ended(`/v1/tasks/${part(task)}`, options);
  }

  /** Delete a task that does not run; those it blocked inherit its blockers. */
  async delete(task: string, query: { by?: string | undefined } = {}): Promise<Schemas["TaskStatus"]> {
    return this.api.request("DELETE", `/v1/tasks/${part(task)}`, { query });
  }

  /** Cancel a task that waits or runs. */
  async cancel(task: string, options: Given<Schemas["TaskCancel"]> = {}): Promise<Schemas["TaskStatus"]> {
    return this.api.request("POST", `/v1/tasks/${part(task)}/cancel`, { body: options, again: true });
  }

  /** Why a task is not running, or what it waits for. */
  async explain(task: string): Promise<Schemas["Explanation"]> {
    return this.api.request("GET", `/v1/tasks/${part(task)}/explain`);
  }

  /** What happened to a task, oldest first: at most its newest 1,000 records. */
  async history(task: string): Promise<Schemas["History"]> {
    return this.api.request("GET", `/v1/tasks/${part(task)}/history`);
  }

  /** What workers said while they worked on a task, oldest first; with `wait_ms`, what they say next. */
  async log(task: string, query: { after?: number | undefined; limit?: number | undefined; wait_ms?: number | undefined } = {}): Promise<Schemas["LogView"]> {
    return this.api.request("GET", `/v1/tasks/${part(task)}/log`, { query });
  }

  /** Take a task out of its queue, or make a finished one idle. */
  async reset(task: string, options: Given<Schemas["Signed"]> = {}): Promise<Schemas["TaskStatus"]> {
    return this.api.request("POST", `/v1/tasks/${part(task)}/reset`, { body: options });
  }

  /** Put a task into its queue (again), attempts starting over. */
  async retry(task: string, options: Given<Schemas["Signed"]> = {}): Promise<Schemas["TaskStatus"]> {
    return this.api.request("POST", `/v1/tasks/${part(task)}/retry`, { body: options });
  }

  /** Run a task now, past the limits, through an override slot. */
  async start(task: string, options: Given<Schemas["TaskStart"]> = {}): Promise<Schemas["TaskStatus"]> {
    return this.api.request("POST", `/v1/tasks/${part(task)}/start`, { body: options });
  }
}

export class Webhooks extends Calls {
  /** List the webhooks of the registry in force, with what came to each since this server started. */
  async list(): Promise<Schemas["WebhookList"]> {
    return this.api.request("GET", `/v1/webhooks`);
  }
}

export class Workflows extends Calls {
  /** What a definition may hold, as a JSON Schema for editors. */
  async schema(): Promise<any> {
    return this.api.request("GET", `/v1/workflow.schema.json`);
  }

  /** List workflows, each in its newest version. */
  async list(): Promise<Schemas["WorkflowList"]> {
    return this.api.request("GET", `/v1/workflows`);
  }

  /** Put definitions, all of them or none: each becomes a new version of its workflow, unless this very text is there already. */
  async put(text: string, query: { by?: string | undefined } = {}): Promise<Schemas["WorkflowsPut"]> {
    return this.api.request("POST", `/v1/workflows`, { body: Buffer.from(text, "utf8"), kind: "text/yaml", query, again: true });
  }

  /** Look whether definitions are right, without putting them. */
  async check(text: string): Promise<Schemas["WorkflowsChecked"]> {
    return this.api.request("POST", `/v1/workflows/check`, { body: Buffer.from(text, "utf8"), kind: "text/yaml", again: true });
  }

  /** Show a workflow: its text, its nodes, and which versions there are. */
  async show(workflow: string, query: { version?: number | undefined } = {}): Promise<Schemas["WorkflowView"]> {
    return this.api.request("GET", `/v1/workflows/${part(workflow)}`, { query });
  }

  /** Let no new runs of a workflow start, until it is enabled; those that go on go on, also after a new version is put. */
  async disable(workflow: string, options: Given<Schemas["RunChange"]> = {}): Promise<Schemas["WorkflowNow"]> {
    return this.api.request("POST", `/v1/workflows/${part(workflow)}/disable`, { body: options, again: true });
  }

  /** Let new runs of a workflow start again. */
  async enable(workflow: string, options: Given<Schemas["Signed"]> = {}): Promise<Schemas["WorkflowNow"]> {
    return this.api.request("POST", `/v1/workflows/${part(workflow)}/enable`, { body: options, again: true });
  }
}

/** All calls, by what they are about. */
export abstract class Api {
  abstract request<T>(method: string, path: string, sent?: Sent): Promise<T>;
  abstract ended<T extends { status: string }>(path: string, options: { timeoutMs?: number }): Promise<T>;

  readonly approvals = new Approvals(this);
  readonly blobs = new Blobs(this);
  readonly bulks = new Bulks(this);
  readonly crons = new Crons(this);
  readonly events = new Events(this);
  readonly families = new Families(this);
  readonly queues = new Queues(this);
  readonly registry = new Registry(this);
  readonly runs = new Runs(this);
  readonly server = new Server(this);
  readonly tasks = new Tasks(this);
  readonly webhooks = new Webhooks(this);
  readonly workflows = new Workflows(this);
}
