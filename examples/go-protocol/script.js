import brunt from "k6/x/brunt";

const cache = brunt.open(`memcached://${__ENV.ADDRESS}`);

export const options = { iterations: 20, vus: 2 };

export default function () {
  cache.exec({ command: ["set", "script", "fast"] });
  const rows = cache.query({ command: ["get", "script"] });
  if (rows[0].value !== "fast") {
    throw new Error(`read ${JSON.stringify(rows)}`);
  }
}
