// The queue of Picostress: every query of the configuration as often as its count says, in an order that
// the seed shuffles, divided among the virtual users.
//
//   brunt k6 run -e proto=pg -e addr=127.0.0.1:5432 -e user=stress -e config=examples/picostress.yml -e vu=2 examples/k6/const_queue.js
//
// The command brunt queue does the same in Go, and keeps no queue in memory.
import picostress from "k6/x/picostress";
import { Trend, Counter } from 'k6/metrics';

// Cli arguments
// Protocol name
const PROTOCOL = __ENV.proto === undefined ? "" : __ENV.proto
if (PROTOCOL.length === 0) {
  throw new Error("Please define protocol (-e proto=protocol_name)")
}
// Configuration file
const CONFIG_FILE_PATH = __ENV.config === undefined ? "" : __ENV.config
if (CONFIG_FILE_PATH.length === 0) {
  throw new Error("Please define the configuration (-e config=file)")
}
// Addresses of instances
const ADDRESSES = __ENV.addr === undefined ? "" : __ENV.addr
if (ADDRESSES.length === 0) {
  throw new Error("Please define addresses (-e addr=host:port,host:port)")
}
// Flags of the command line may have a dash where variables have an underscore
const argument = (name, otherwise) => {
  const value = __ENV[name] === undefined ? __ENV[name.replace("_", "-")] : __ENV[name]
  return value === undefined ? otherwise : value
}
const SCHEMA_FILE_PATH = argument("schema", "")
const USER = argument("user", "")
const PASSWORD = argument("password", undefined)
const DATABASE = argument("database", "")
const SEED = argument("seed", 0)
const PREALLOC_VU_COUNT = Number(argument("vu", 1))
const ERROR_PERCENTAGE_TRESHOLD = Number(argument("error_threshold", 100))
const no_setup = argument("no_setup", "false") === "true"
const no_teardown = argument("no_teardown", "false") === "true"
const summaryDirPath = argument("summary_dir", ".")

const test = picostress.new();

const setupTimeCounter = new Counter("setup_time")
const teardownTimeCounter = new Counter("teardown_time")
const stopTestCounter = new Counter('stop_test_counter');
const respTimeTrend = new Trend("resp_time");
const requestCounter = new Counter("total_requests");
const errorCounter = new Counter("total_errors");

export const options = {
  setupTimeout: "86400s",
  scenarios: {
    const_queue: {
      // K6 executor used in this mode
      executor: "per-vu-iterations",
      // Number of vus, that will be allocated and used
      vus: PREALLOC_VU_COUNT,
      // Number of iterations per vu
      iterations: 1,
      // How long the test lasts
      maxDuration: "7200s"
    }
  },
  thresholds: {
    total_errors: [
      {
        threshold: `count < ` + String(((ERROR_PERCENTAGE_TRESHOLD *
          test.config.queue_size) / 100)),
        abortOnFail: true
      }
    ]
  }
};

// The part of a queue that one of several virtual users works off
const getPart = (queue, index, parts) => {
  const size = Math.ceil(queue.length / parts)
  return queue.slice(index * size, (index + 1) * size)
}

export const setup = () => {
  const seed = SEED // copied into setup
  const startTime = Date.now()
  let err = test.initConfig(seed, CONFIG_FILE_PATH, SCHEMA_FILE_PATH)
  if (err !== null) {
    throw new Error(err)
  }
  err = test.initConnPool(PROTOCOL, ADDRESSES, USER, PASSWORD, 0, DATABASE)
  if (err !== null) {
    throw new Error(err)
  }
  const PICODATA_VERSION = test.version()
  const skip = (err) => {
    console.error(err)
    console.error("Skipping test...")
    stopTestCounter.add(1);
    return { skipTest: true, summaryDirPath: "", queue: [], seed: seed, version: PICODATA_VERSION }
  }
  if (no_setup === false) {
    let err = test.createTables()
    if (err !== null) {
      return skip(err)
    }
    err = test.createIndexes()
    if (err !== null) {
      return skip(err)
    }
  }
  const queue = test.generateQueue(seed)
  const parts = Array.from({ length: PREALLOC_VU_COUNT }, (_, i) => getPart(queue, i, PREALLOC_VU_COUNT));
  setupTimeCounter.add(Date.now() - startTime)
  return { skipTest: false, summaryDirPath: summaryDirPath, queue: parts, seed: seed, version: PICODATA_VERSION }
};

export default function (data) {
  if (data.skipTest === true) {
    return
  }
  for (let queryIndex = 0; queryIndex < data.queue[__VU - 1].length; ++queryIndex) {
    const startTime = Date.now()
    const err = test.call(data.queue[__VU - 1][queryIndex].Sql, data.queue[__VU - 1][queryIndex].Params)
    const respTime = Date.now() - startTime;
    requestCounter.add(1)
    if (err) {
      errorCounter.add(1)
      console.error(err)
    } else {
      respTimeTrend.add(respTime)
    }
  }
}

export function teardown(data) {
  const st = Date.now()
  if (no_teardown === false) {
    let timeout = 3.0
    let err = test.dropIndexes(timeout)
    if (err !== null) {
      console.error(err)
    }
    err = test.dropTables(timeout)
    if (err !== null) {
      console.error(err)
    }
    test.closeConnPool()
  }
  teardownTimeCounter.add(Date.now() - st)
}

export function handleSummary(summaryData) {
  if (summaryData.setup_data === undefined) {
    return {} // setup has failed
  }
  const count = (name) => summaryData.metrics[name] === undefined ? 0 : summaryData.metrics[name].values.count
  const testDuration = summaryData.state.testRunDurationMs / 1000
  const summary = {
    picodataVersion: summaryData.setup_data.version,
    configName: test["config"]["name"],
    protocol: PROTOCOL,
    vus: PREALLOC_VU_COUNT,
    seed: summaryData.setup_data.seed,
    testDuration: testDuration,
    requests: { total: count("total_requests"), failed: count("total_errors") },
    rps: {
      actual: Number((count("total_requests") / testDuration).toFixed(5)),
    },
    respTime: summaryData.metrics.resp_time === undefined ? {} : summaryData.metrics.resp_time.values,
  }
  return {
    stdout: JSON.stringify(summary, null, 2)
      .replace(/"/g, "")
      .replace(/[{}]/g, "")
      .replace(/,/g, "")
      .replace(/(\n\s*\n)+/g, "\n"),
    [`${summaryData.setup_data.summaryDirPath}/summary_${summaryData.setup_data.seed}.json`]: JSON.stringify(summary, null, 2)
  }
}
