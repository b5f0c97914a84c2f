// A plan on brunt's own engine inside a run of k6: no JavaScript is in its way, while k6's setup,
// thresholds and options work as for any scenario.
//
//   brunt k6 run examples/k6/native.js
import 'k6/x/brunt'; // for the metrics brunt_…

export const options = {
  scenarios: {
    cars: {
      executor: 'brunt-native',
      plan: open('../cars.yml'),
      rate: 300,
      duration: '2s',
      sessions: 4,
    },
  },
  thresholds: {
    brunt_failed: ['rate<0.01'],
    'brunt_response{operation:look up}': ['p(99)<5000'],
  },
};

export default function () {}
