// Two connections, one scenario: each iteration draws the router that it calls.
//
//   examples/cars/start &
//   brunt k6 run examples/cars/random_connection.js
import datagen from "k6/x/datagen";
import tarantool from "k6/x/tarantool";

const routers = (__ENV.ROUTERS || "127.0.0.1:3301,127.0.0.1:3302").split(",");
const conns = routers.map((router) => tarantool.connect(router));

const getRandomConn = () => conns[Math.floor(Math.random() * conns.length)];

export let options = {
  scenarios: {
    conntest: {
      executor: "constant-arrival-rate",
      rate: Number(__ENV.RATE || 10000),
      timeUnit: "1s",
      duration: __ENV.DURATION || "1m",
      preAllocatedVUs: 100,
      maxVUs: 100,
    },
  },
};

export const setup = () => {
  console.log("Run data generation in the background");
  datagen.generateData();
};

export default () => {
  tarantool.call(getRandomConn(), "api_car_add", [datagen.getData()]);
};

export const teardown = () => {
  console.log("Testing complete");
};
