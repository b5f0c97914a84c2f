// Types of brunt's modules for k6 scripts, for editors: put this file beside your scripts and begin them with
//
//   /// <reference path="./modules.d.ts" />
//
// What throws, throws an Error with the properties class and code of Failure, or a TypeError if an argument
// isn't what it must be.

/** What exceptions of the modules have beside name and message. */
interface Failure extends Error {
  class: "connect" | "timeout" | "server" | "retryable" | "unknown-outcome" | "protocol" | "client";
  /** The server's own code: an SQLSTATE, an error number; "" if there is none. */
  code: string;
}

/** A decimal, or what decimal(), double() and uuid() made. Arithmetic sees the nearest number. */
interface Typed {
  toString(): string;
  toJSON(): string;
  valueOf(): number;
}

/** What can be sent. Arrays and objects are sent as JSON where the protocol has none. */
type Sent = null | undefined | boolean | number | bigint | string | Date | ArrayBuffer | Uint8Array | Typed | Sent[] | { [key: string]: Sent };

/** What comes back: whole numbers beyond 2^53 are BigInts, bytes a Uint8Array. */
type Received = null | boolean | number | bigint | string | Date | Uint8Array | Typed | Received[] | { [key: string]: Received };

declare module "k6/x/tarantool" {
  interface Connection {}
  interface Options {
    user?: string;
    pass?: string;
    /** Of a request: "1.5s", or nanoseconds; 30 s. */
    timeout?: string | number;
    connect_timeout?: string | number;
    /** Pause between attempts to connect; growing ones up to a second. */
    reconnect?: string | number;
    /** Attempts after the first; without end. */
    max_reconnects?: number;
    rate_limit?: number;
    /** 0 drops what is beyond rate_limit, 1 waits. */
    r_limit_action?: 0 | 1;
    concurrency?: number;
    skip_schema?: boolean;
    /** Only "plain". */
    transport?: string;
    /** Which address a request goes to; "round-robin", or "weighted" if addresses have weights (host:port*3). */
    balance?: "round-robin" | "weighted" | "random";
    /** To each address; 1. */
    connections?: number;
    /** Tuples and rows of SQL as arrays, or as objects by the names of their fields; "array". */
    rows?: "array" | "object";
  }
  interface Result {
    request_id: number;
    code: number;
    error: string;
    data: any[];
    meta_data?: { field_name: string }[];
    sql_info?: { affected_count: number };
    toString(): string;
  }
  type Iterator_ = "EQ" | "REQ" | "ALL" | "LT" | "LE" | "GE" | "GT" | number;
  interface Module {
    /** All virtual users share the connections of the same addresses and options. Requests are spread over the addresses that answer. */
    connect(addresses?: string | string[], options?: Options): Connection;
    select(connection: Connection, space: string | number, index?: string | number, offset?: number, limit?: number, iterator?: Iterator_, key?: Sent): Result;
    insert(connection: Connection, space: string | number, tuple: Sent[]): Result;
    replace(connection: Connection, space: string | number, tuple: Sent[]): Result;
    delete(connection: Connection, space: string | number, index: string | number, key: Sent): Result;
    update(connection: Connection, space: string | number, index: string | number, key: Sent, operations: Sent[][]): Result;
    upsert(connection: Connection, space: string | number, tuple: Sent[], operations: Sent[][]): Result;
    /** CALL as before Tarantool 1.7: what the function returns is made tuples. Picodata refuses it. */
    call(connection: Connection, name: string, args?: Sent[]): Result;
    call17(connection: Connection, name: string, args?: Sent[]): Result;
    eval(connection: Connection, program: string, args?: Sent[]): Result;
    /** SQL with ?, $1, :a or @a. */
    execute(connection: Connection, statement: string, parameters?: Sent[]): Result;
    /** Doesn't wait for the answer. What it came to is in the record. */
    callAsyncNoReturn(connection: Connection, name: string, args?: Sent[]): void;
    /** Waits for this virtual user's calls without an answer, and throws the first failure. */
    resolveCallFutures(): void;
    decimal(text: string): Typed;
    double(x: number): Typed;
    uuid(text: string): Typed;
  }
  const tarantool: Module;
  export default tarantool;
}

declare module "k6/x/datagen" {
  /** The keys of a column in a plan (docs/plan.md), or a type's name. */
  type Spec = string | {
    type: string;
    distribution?: string;
    distribution_param?: number;
    hot_fraction?: number;
    histogram?: { range?: [number, number]; weight: number }[];
    range?: [number | string, number | string];
    scale?: number;
    alphabet?: string[];
    is_nullable?: boolean;
    null_percentage?: number;
    unique?: boolean;
    value?: string | number | boolean | null;
    values?: string[];
  };
  interface About {
    /** The run's, unless it is given. */
    seed?: number;
    /** Of the table that the values are of: after so many they begin again; 0, without end. */
    rows?: number;
    /** Values of different names don't depend on each other. */
    name?: string;
  }
  interface Source<T> {
    /** The next one; all virtual users count together. */
    next(): T;
    /** Number n, from 0. */
    at(n: number): T;
    /** The next n, at most 1048576. */
    take(n: number): T[];
    /** How many have been taken. */
    taken(): number;
    /** rows */
    readonly count: number;
  }
  interface Module {
    /** Begins getData() anew, of a seed, BRUNT_SEED, or a fresh one. */
    generateData(options?: { seed?: number }): void;
    /** An id and a model of five letters and digits; no id comes twice. */
    getData(): { car_id: string; model: string };
    generator(spec: Spec, options?: About): Source<Received>;
    rows(columns: { [name: string]: Spec }, options?: About): Source<{ [name: string]: Received }>;
    /** The rows of a plan's table, as brunt schema up fills it. */
    table(file: string, table: string, options?: { seed?: number }): Source<{ [name: string]: Received }>;
  }
  const datagen: Module;
  export default datagen;
}

declare module "k6/x/picostress" {
  interface Instance {
    readonly config: { readonly name: string; readonly queue_size: number };
    initConfig(seed: number | string | bigint, configuration: string, schema?: string): Failure | null;
    initConnPool(protocol: string, addresses: string | string[], user?: string, password?: string, connections?: number, database?: string): Failure | null;
    /** Creates the tables and fills them. */
    createTables(): Failure | null;
    createIndexes(): Failure | null;
    generateQueue(seed: number | string | bigint): { Sql: string; Params: (null | boolean | number | string)[] }[];
    call(sql: string, params?: Sent[]): Failure | null;
    /** The timeout is of each, in seconds. */
    dropIndexes(timeout?: number): Failure | null;
    dropTables(timeout?: number): Failure | null;
    closeConnPool(): Failure | null;
    version(): string;
  }
  interface Module {
    "new"(): Instance;
  }
  const picostress: Module;
  export default picostress;
}

declare module "k6/x/brunt" {
  /** The keys of a plan's target (docs/plan.md), and three more. */
  interface Target {
    protocol: string;
    addresses?: string | string[];
    user?: string;
    password?: string;
    database?: string;
    balance?: "round-robin" | "weighted" | "random";
    tls?: boolean | { [key: string]: string | boolean };
    options?: { [key: string]: string | number | boolean };
    /** The most connections; as many as are used at once. */
    sessions?: number;
    /** Of a request: "1.5s", or nanoseconds; 30 s. */
    timeout?: string | number;
  }
  /** A statement (words of a command for redis, a path for http), or a request as plans write it. */
  type Request = string | { [key: string]: any; name?: string };
  interface Change {
    affected: number;
    rows: number;
    /** Nothing was found. */
    missing: boolean;
    /** HTTP's; 0 elsewhere. */
    status: number;
  }
  interface Statement {
    exec(parameters?: Sent[]): Change;
    query(parameters?: Sent[], options?: { rows?: "object" | "array" }): any[];
  }
  interface Database {
    exec(request: Request, parameters?: Sent[]): Change;
    query(request: Request, parameters?: Sent[], options?: { rows?: "object" | "array" }): any[];
    prepare(request: Request): Statement;
    /** What follows goes over one connection until commit or rollback, at the latest until the iteration ends. */
    begin(isolation?: string): void;
    commit(): void;
    rollback(): void;
    /** Connections are everybody's, and are closed after the run. */
    close(): void;
  }
  interface Module {
    /** A target, or "protocol://user:password@host:port/database". */
    open(target: string | Target): Database;
    /** Runs a plan by brunt's own engine as a part of this run, and returns its summary. */
    runPlan(file: string): { [key: string]: any };
    decimal(text: string): Typed;
    double(x: number): Typed;
    uuid(text: string): Typed;
  }
  const brunt: Module;
  export default brunt;
}
