// A plan of brunt's within a script: brunt's own engine sends it, no JavaScript for each request.
//
//   brunt k6 run -e PLAN=examples/cars.yml examples/k6/plan.js
import brunt from "k6/x/brunt";

export const options = { vus: 1, iterations: 1 };

export default function () {
  brunt.runPlan(__ENV.PLAN || "examples/cars.yml");
}
