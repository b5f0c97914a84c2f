// Values and rows by a seed. All virtual users share the count of what has been taken; what number n is
// follows from the seed and n alone, so nothing is kept.
//
//   brunt k6 run examples/k6/datagen.js
import { check } from "k6";
import datagen from "k6/x/datagen";

const ids = datagen.generator({ type: "Integer", range: [1, 1000000], unique: true }, { seed: 7, name: "ids" });
const hot = datagen.generator({ type: "Integer", range: [1, 1000], distribution: "Zipf" }, { seed: 7, name: "hot" });
const people = datagen.rows(
  {
    id: { type: "UUID" },
    name: { type: "String", range: [3, 12] },
    born: { type: "Datetime", range: ["1950-01-01", "2005-12-31"] },
    balance: { type: "Decimal", range: [0, 10000], scale: 2 },
    city: { type: "OneOf", values: ["Oslo", "Riga", "Turku"], distribution: "Zipf" },
  },
  { seed: 7, name: "people" },
);
const cars = datagen.table("../cars.yml", "cars"); // as brunt schema up fills it

export const options = { vus: 4, iterations: 200, thresholds: { checks: ["rate == 1"] } };

export function setup() {
  datagen.generateData({ seed: 1 });
}

export default function () {
  const one = ids.next();
  check(one, { "a number in its range": (n) => n >= 1 && n <= 1000000 });
  check(ids, { "the same number again": (g) => g.at(5) === g.at(5) });
  check(hot.take(10), { "ten at once": (list) => list.length === 10 });
  const person = people.next();
  check(person, {
    "a row": (p) => p.id.length === 36 && p.born instanceof Date && Number(p.balance) >= 0,
  });
  check(cars.at(0), { "a row of a plan's table": (row) => Object.keys(row).length > 1 });
  check(datagen.getData(), { "the article's car": (car) => car.car_id.length === 5 && car.model.length === 5 });
}
