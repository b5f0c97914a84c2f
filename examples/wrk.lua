-- Called as: brunt wrk -t 2 -c 4 -d 10s -s examples/wrk.lua http://127.0.0.1:8080/
-- Each request has a path of its own, and carries what the first answer said.
local token, count = nil, 0

function request()
  count = count + 1
  return wrk.format("GET", "/index.html?n=" .. count, {["X-Token"] = token})
end

function response(status, headers, body)
  token = token or headers["ETag"]
end

function done(summary, latency, requests)
  for _, p in ipairs({50, 90, 99}) do
    io.write(string.format("%g%%,%d\n", p, latency:percentile(p)))
  end
end
