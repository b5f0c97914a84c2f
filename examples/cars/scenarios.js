// Two connections, two scenarios: each router has a load of its own.
//
//   examples/cars/start &
//   brunt k6 run examples/cars/scenarios.js
import datagen from "k6/x/datagen";
import tarantool from "k6/x/tarantool";

const routers = (__ENV.ROUTERS || "127.0.0.1:3301,127.0.0.1:3302").split(",");
const conn1 = tarantool.connect(routers[0]);
const conn2 = tarantool.connect(routers[1]);

const baseScenario = {
  executor: "constant-arrival-rate",
  rate: Number(__ENV.RATE || 10000),
  timeUnit: "1s",
  duration: __ENV.DURATION || "1m",
  preAllocatedVUs: 100,
  maxVUs: 100,
};

export let options = {
  scenarios: {
    conn1test: Object.assign({ exec: "conn1test" }, baseScenario),
    conn2test: Object.assign({ exec: "conn2test" }, baseScenario),
  },
};

export const setup = () => {
  console.log("Run data generation in the background");
  datagen.generateData();
};

export const conn1test = () => {
  tarantool.call(conn1, "api_car_add", [datagen.getData()]);
};

export const conn2test = () => {
  tarantool.call(conn2, "api_car_add", [datagen.getData()]);
};

export const teardown = () => {
  console.log("Testing complete");
};
