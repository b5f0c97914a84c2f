// Iterations at a fixed rate that wait instead of being dropped, timed from the moment at which each was
// meant to start. k6's constant-arrival-rate would drop a third of these.
//
//   brunt k6 run examples/k6/open.js
import { sleep } from 'k6';

export const options = {
  scenarios: {
    patient: {
      executor: 'brunt-open',
      rate: 90,
      duration: '2s',
      preAllocatedVUs: 2,
      gracefulStop: '10s',
    },
  },
};

export default function () {
  sleep(0.03);
}
