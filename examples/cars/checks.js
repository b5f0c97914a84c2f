// Two connections, two scenarios, with checks and thresholds. The application answers with code 0 even
// where a car could not be added: its text says so, and is checked too.
//
//   examples/cars/start &
//   brunt k6 run examples/cars/checks.js
import { check } from "k6";
import datagen from "k6/x/datagen";
import tarantool from "k6/x/tarantool";

const routers = (__ENV.ROUTERS || "127.0.0.1:3301,127.0.0.1:3302").split(",");
const conn1 = tarantool.connect(routers[0]);
const conn2 = tarantool.connect(routers[1]);

const baseScenario = {
  executor: "constant-arrival-rate",
  rate: Number(__ENV.RATE || 10000),
  timeUnit: "1s",
  duration: __ENV.DURATION || "10s",
  preAllocatedVUs: 100,
  maxVUs: 100,
};

export let options = {
  scenarios: {
    conn1test: Object.assign({ exec: "conn1test" }, baseScenario),
    conn2test: Object.assign({ exec: "conn2test" }, baseScenario),
  },
  thresholds: {
    iteration_duration: ["p(95) < 100", "p(90) < 75"],
    checks: ["rate == 1"],
  },
};

export const setup = () => {
  datagen.generateData();
};

const add = (conn) => {
  const res = tarantool.call(conn, "api_car_add", [datagen.getData()]);
  check(res, {
    "is status OK": (r) => r.code === 0,
    "is car added": (r) => r.data[0][0] === "Ok",
  });
};

export const conn1test = () => add(conn1);
export const conn2test = () => add(conn2);
