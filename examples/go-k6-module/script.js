import cars from "k6/x/cars";

const connection = cars.connect(__ENV.ADDRESS, __ENV.USERNAME, __ENV.PASSWORD);

export const options = { iterations: 50, vus: 2 };

export default function () {
  cars.call(connection, "car_add", ["cadillac"]);
}
